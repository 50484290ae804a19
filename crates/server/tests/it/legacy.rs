//! Clients of the four earlier revisions, over both transports.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic in a test is a failed test")]

mod client;
mod forms;
mod matrix;
mod sessions;
mod streams;

#[path = "../../examples/fixture/server.rs"]
mod server;
