//! The connection over streams in memory, with simulated time.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic in a test is a failed test")]

mod bounds;
mod cancellation;
mod conversation;
mod duplicates;
mod questions;
