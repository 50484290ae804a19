//! The standard streams of a real process.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic in a test is a failed test")]

pub(crate) mod child;
mod ending;
mod eras;
mod framing;
mod subscriptions;
