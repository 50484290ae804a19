//! The wire types: what messages carry, one file a topic.
//!
//! One type serves every revision: what only some revisions define is optional, and
//! [`Project::project`] removes or rewrites what an older peer does not know. Payloads whose form
//! belongs to the two ends (`arguments`, `structuredContent`, `_meta`, schemas) stay JSON text, and
//! members that a type does not know are kept. Nothing here may round a number or drop a member.
//! The server, the client and the gate read and write messages with them.

#[macro_use]
mod macros;
mod field;
mod raw;
#[cfg(test)]
mod tests;

pub mod base;
pub mod cancellation;
pub mod capability;
pub mod completion;
pub mod content;
pub mod discover;
pub mod elicitation;
pub mod envelope;
pub mod form;
pub mod initialize;
pub mod logging;
pub mod mrtr;
pub mod progress;
pub mod project;
pub mod prompt;
pub mod resource;
pub mod root;
pub mod sampling;
pub mod subscription;
pub mod tool;

pub use field::{Entries, Wire, WireError};
pub use project::Project;
pub use raw::{Number, RawJson};
