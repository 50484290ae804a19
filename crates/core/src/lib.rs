//! The gate: one pipeline that every tool call passes, the evidence types its steps leave behind,
//! the contracts it checks, and the ports through which it reaches the world.
//!
//! This crate opens no socket, speaks no SQL and knows no policy language. Read [`pipeline`] first,
//! then the files of [`stage`] in the order in which the pipeline calls them.

pub mod artifact;
pub mod call;
pub mod contract;
pub mod entry;
pub mod handle;
pub mod invocation;
pub mod keeping;
pub mod limits;
pub mod memory;
pub mod offer;
pub mod outcome;
pub mod pipeline;
pub mod policy;
pub mod port;
pub mod principal;
pub mod rate;
pub mod receipt;
pub mod refusal;
pub mod seal;
pub mod snapshot;
pub mod stage;
pub mod usage;
