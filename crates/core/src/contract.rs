//! What a tool promises: its definition, schemas and effect, compiled once and shared by every call.

pub mod digest;
pub mod schema;
