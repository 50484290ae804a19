//! MCP wire types of every revision that Callgate serves, a bounded decoder for JSON-RPC messages,
//! and the codec of mirrored HTTP headers.
//!
//! This crate does no I/O, spawns nothing and knows no runtime. It never rounds a number, never
//! drops a member it does not know, and never looks at a message beyond the bounds it was given.
//! The server, the client and the gate are its callers.

pub mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod header;
pub mod id;
pub mod json;
pub mod logging;
pub mod message;
pub mod meta;
pub mod method;
pub mod revision;
pub mod wire;

pub use error::ErrorCode;
pub use id::Id;
pub use message::{DecodeError, Message, Notification, Request, Response, decode, decode_with};
pub use method::Method;
pub use revision::Revision;
