//! The Rust API and the methods behind it, called through the tower service without a socket. Everything
//! that the server sends here is judged by the schema of its revision.

#![expect(clippy::unwrap_used, reason = "a panic in a test is a failed test")]

mod asking;
mod building;
mod caller;
mod calls;
mod keeping;
mod lists;
mod permitted;
mod reading;
mod refusals;
mod subscribers;
mod subscriptions;
