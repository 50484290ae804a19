//! The standard streams of a real process.

pub(crate) mod child;
mod ending;
mod eras;
mod framing;
mod subscriptions;
