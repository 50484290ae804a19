//! Counts of what passed and what failed, and the one way they are printed.
//!
//! The last line of a run is read by people and by build servers, so its form is fixed: `N passed, N failed`.
//! It must never count a stage that did not run. The subcommands with several stages call it.

use std::fmt;

/// How many things held and how many did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Things that held.
    pub(crate) passed: u64,
    /// Things that did not.
    pub(crate) failed: u64,
}

impl Tally {
    /// Adds the counts of another stage.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
    }

    /// Records one thing.
    pub(crate) fn record(&mut self, held: bool) {
        if held {
            self.passed = self.passed.saturating_add(1);
        } else {
            self.failed = self.failed.saturating_add(1);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)
    }
}
