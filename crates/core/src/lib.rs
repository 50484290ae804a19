//! The gate: one pipeline that every tool call passes, the evidence types its steps leave behind,
//! the contracts it checks, and the ports through which it reaches the world.
//!
//! This crate opens no socket, speaks no SQL and knows no policy language. Read `pipeline.rs` first.

pub mod contract;
