//! Judging a configuration without serving it.
//!
//! It opens the sources and compiles everything, as loading does, and gives back what it found,
//! warnings included. `callgate check` is the caller.

use std::path::Path;
use std::sync::Arc;

use callgate_core::port::{SystemClock, SystemEntropy};
use callgate_core::seal::KeyRing;
use callgate_core::snapshot::Catalogue;

use crate::config::{Limits, Report};
use crate::cursor::Seals;
use crate::load::load;

/// Everything that is wrong with a configuration, or should be better.
#[must_use]
pub fn check(path: impl AsRef<Path>) -> Report {
    let seals = seals();
    let clock = Arc::clone(&seals.clock);
    let path = path.as_ref();
    let mut loaded = load(path, &Limits::default(), &Arc::new(seals));
    let directory = path.parent().unwrap_or_else(|| Path::new(""));
    if let Some(finding) = crate::store::check(&loaded.config, directory) {
        loaded.report = Report::new(loaded.report.findings().iter().cloned().chain([finding]).collect());
    }
    // Policies are judged only with tools that have no error, so that they are not blamed for theirs.
    let Some(policies) = loaded.policies.filter(|_| !loaded.report.has_errors()) else {
        return loaded.report;
    };
    let Ok(catalogue) = Catalogue::new(loaded.tools) else { return loaded.report };
    let (_, found) = policies.judge(&catalogue, &clock);
    Report::new(loaded.report.findings().iter().cloned().chain(found).collect())
}

/// Seals where nothing is sealed, so the keys need no randomness.
pub(crate) fn seals() -> Seals {
    Seals {
        keys: Arc::new(KeyRing::new([])),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy::default()),
    }
}
