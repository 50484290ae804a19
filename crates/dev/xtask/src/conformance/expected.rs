//! The committed number of passed checks of each scenario.
//!
//! A line is `scenario number`; `#` starts a comment. The file is written only on request, so that a change of a
//! number is seen in review. Only `conformance` calls it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::conformance::results::Scenario;
use crate::failure::{Failure, Place};
use crate::tree;

const HEADER: &str =
    "# Scenario and number of its checks that pass; written by `cargo xtask conformance server --record`.\n";

/// Scenarios with the number of checks that must pass.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expected(BTreeMap<String, u64>);

impl Expected {
    /// The numbers of a run.
    pub(super) fn of(judged: &[String], scenarios: &[Scenario]) -> Self {
        let judged = scenarios.iter().filter(|scenario| judged.contains(&scenario.name));
        Self(judged.map(|scenario| (scenario.name.clone(), scenario.passed)).collect())
    }

    /// Reads a committed file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        Self::parse(&tree::read(path)?).at(path.display())
    }

    /// Writes the file anew.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = HEADER.to_owned();
        for (name, passed) in &self.0 {
            // Writing to a string cannot fail.
            let _written = writeln!(text, "{name} {passed}");
        }
        let place = tree::root().join(path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent).at(parent.display())?;
        }
        std::fs::write(&place, text).at(path.display())
    }

    /// How many checks of a scenario must pass.
    pub(super) fn passed(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// The scenarios of the file.
    pub(super) fn names(self) -> impl Iterator<Item = String> {
        self.0.into_keys()
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let mut numbers = BTreeMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let pair =
                line.split_once(' ').and_then(|(name, number)| Some((name, number.trim().parse().ok()?)));
            let Some((name, number)) = pair else {
                return Err(Failure::new(format!("`{line}` is not a scenario and a number")));
            };
            numbers.insert(name.to_owned(), number);
        }
        Ok(Self(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::Expected;

    #[test]
    fn numbers_are_read_and_nonsense_is_refused() {
        let expected = Expected::parse("# comment\ntools-list 4\n").unwrap();
        assert_eq!(expected.passed("tools-list"), Some(4));
        assert_eq!(expected.passed("caching"), None);
        assert!(Expected::parse("tools-list four\n").is_err());
    }
}
