//! Judging a configuration without serving it.
//!
//! It opens the sources and compiles everything, as loading does, and gives back what it found,
//! warnings included. `callgate check` is the caller.

use std::path::Path;
use std::sync::Arc;

use callgate_core::port::{SystemClock, SystemEntropy};
use callgate_core::seal::KeyRing;

use crate::config::{Limits, Report};
use crate::cursor::Seals;
use crate::load::load;

/// Everything that is wrong with a configuration, or should be better.
#[must_use]
pub fn check(path: impl AsRef<Path>) -> Report {
    // Nothing is sealed here, so the keys need no randomness.
    let seals = Seals {
        keys: Arc::new(KeyRing::new([])),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy::default()),
    };
    load(path.as_ref(), &Limits::default(), &Arc::new(seals)).report
}
