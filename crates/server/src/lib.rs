//! MCP servers in Rust: typed tools, resources, prompts and completions behind one gate, served over
//! Streamable HTTP and stdio in every revision of the protocol.
//!
//! Start at [`Server::builder`]. A handler never sees a call that the gate has not checked, and no
//! result leaves that it has not checked. This crate decides nothing about permissions; it asks the
//! ports of `callgate-core`. Authors of tools and the gateway call it.

mod builder;
mod completion;
mod content;
mod context;
mod endpoint;
mod exchange;
#[doc(hidden)]
pub mod fuzzing;
mod handler;
mod http;
mod kept;
mod legacy;
mod limits;
mod outbox;
mod prompt;
mod protection;
mod resource;
mod respond;
mod schema;
mod server;
mod shutdown;
mod stdio;
mod tool;

pub use builder::{BuildError, BuildFault, ServerBuilder};
pub use callgate_core::artifact::ArtifactLink;
pub use callgate_core::contract::{
    Delivery, Effect, IDEMPOTENCY_KEY, Idempotency, KeyScope, KeySource, Resolution,
};
pub use callgate_core::handle::HandleScope;
pub use callgate_core::invocation::{Capability, CapabilitySet};
pub use callgate_core::keeping::Stores;
pub use callgate_core::port::LogLevel;
pub use callgate_core::principal::Principal;
pub use callgate_core::rate::{Allowance, Rate};
pub use callgate_protocol::json::{Document, Value};
pub use completion::Completing;
pub use content::{Block, Content, WithContent};
pub use context::{Context, Elicited};
pub use handler::{Handler, StatefulHandler, ToolError};
pub use http::{
    Body, HttpLimits, HttpOptions, HttpServer, HttpService, RemoteAddress, ResponseFuture, Tls, TlsError,
    TransportSecurity, Validity,
};
pub use kept::{Artifact, ArtifactWriter, Handles};
pub use legacy::LegacyLimits;
pub use limits::Limits;
pub use prompt::{Messages, Prompt, Role};
pub use protection::ProtectedResource;
pub use resource::{Contents, Reading, Resource, ResourceTemplate};
pub use respond::refusals_manual;
pub use server::{Handle, ServeError, Server};
pub use shutdown::Shutdown;
pub use stdio::{StdioError, StdioLimits};
pub use tool::{NoInput, Output, Tool};
