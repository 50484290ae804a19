//! When work must stop: its caller has left, or its time is over.
//!
//! Every loop over names, files, bytes and matches asks it. The jobs make budgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

/// What a piece of work may still use.
#[derive(Debug)]
pub(super) struct Budget {
    left: Arc<AtomicBool>,
    until: Instant,
}

/// Why work must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    /// Nobody waits for the result any more.
    Left,
    /// What was found by now must be given.
    Time,
}

impl Budget {
    /// `left` is set when the caller leaves.
    pub(super) fn new(left: Arc<AtomicBool>, until: Instant) -> Self {
        Self { left, until }
    }

    /// An error as soon as the work must stop.
    pub(super) fn check(&self) -> Result<(), Spent> {
        if self.left.load(Ordering::Relaxed) {
            return Err(Spent::Left);
        }
        if Instant::now() >= self.until { Err(Spent::Time) } else { Ok(()) }
    }
}
