//! The connection over streams in memory, with simulated time.

mod bounds;
mod cancellation;
mod conversation;
mod duplicates;
mod questions;
