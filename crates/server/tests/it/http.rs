//! Streamable HTTP, proved through real sockets.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic in a test is a failed test")]

mod agreement;
mod bounds;
mod cancellation;
#[cfg(target_os = "linux")]
mod cost;
mod doors;
mod fixture;
mod limits;
mod multiplexed;
mod refusals;
mod shutdown;
mod streams;
mod tower;
mod wire;
