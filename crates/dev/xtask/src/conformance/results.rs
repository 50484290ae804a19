//! What the suite wrote about each scenario: one directory each, with the checks in `checks.json`.
//!
//! The files are read rather than the text on the terminal, because only they tell warnings and skipped checks
//! apart. Only `conformance` calls it.

use std::fmt;
use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, Place};

/// One scenario of a run.
#[derive(Debug, Default)]
pub(super) struct Scenario {
    /// Its name in the suite.
    pub(super) name: String,
    /// How many checks passed.
    pub(super) passed: u64,
    /// Checks that failed, each with its message.
    pub(super) failures: Vec<String>,
    /// Checks of recommendations that failed, each with its message.
    pub(super) warnings: Vec<String>,
    /// How many checks did not apply.
    pub(super) skipped: u64,
}

impl Scenario {
    /// The messages of everything that did not hold, one a line.
    pub(super) fn complaints(&self) -> String {
        self.failures.iter().chain(&self.warnings).map(|message| format!("\n    {message}")).collect()
    }

    fn of(name: String, checks: &Value) -> Self {
        let mut scenario = Self { name, ..Self::default() };
        for check in checks.as_array().into_iter().flatten() {
            let text = |key: &str| check.get(key).and_then(Value::as_str).unwrap_or_default();
            let message = || format!("{}: {}", text("id"), text("errorMessage"));
            match text("status") {
                "SUCCESS" => scenario.passed = scenario.passed.saturating_add(1),
                "WARNING" => scenario.warnings.push(message()),
                "SKIPPED" => scenario.skipped = scenario.skipped.saturating_add(1),
                "INFO" => {}
                // A status this program does not know is not a pass.
                _ => scenario.failures.push(message()),
            }
        }
        scenario
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.failures.is_empty() { "✓" } else { "✗" };
        write!(formatter, "{mark} {}: {} passed, {} failed", self.name, self.passed, self.failures.len())?;
        if !self.warnings.is_empty() {
            write!(formatter, ", {} warnings", self.warnings.len())?;
        }
        if self.skipped > 0 {
            write!(formatter, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Reads all scenarios below the suite's output directory, in the order of their names.
pub(super) fn read(output: &Path) -> Result<Vec<Scenario>, Failure> {
    let mut scenarios = Vec::new();
    for entry in std::fs::read_dir(output).at(output.display())? {
        let entry = entry.at(output.display())?;
        let directory = entry.file_name().to_string_lossy().into_owned();
        let file = entry.path().join("checks.json");
        let name = scenario_name(&directory).to_owned();
        // A scenario that broke off leaves a directory without checks.
        if !file.is_file() {
            let failures = vec!["it broke off before its checks were written".to_owned()];
            scenarios.push(Scenario { name, failures, ..Scenario::default() });
            continue;
        }
        let text = std::fs::read_to_string(&file).at(file.display())?;
        scenarios.push(Scenario::of(name, &serde_json::from_str(&text).at(file.display())?));
    }
    scenarios.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scenarios)
}

/// `server-tools-list-2026-11-30T18-16-25-186Z` is a run of `tools-list`.
fn scenario_name(directory: &str) -> &str {
    let name = directory.strip_prefix("server-").unwrap_or(directory);
    let time = "-2026-11-30T18-16-25-186Z".len();
    name.len().checked_sub(time).and_then(|end| name.get(..end)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Scenario, scenario_name};

    #[test]
    fn the_time_is_cut_from_the_directory() {
        assert_eq!(scenario_name("server-tools-list-2026-11-30T18-16-25-186Z"), "tools-list");
        assert_eq!(scenario_name("server-server-stateless-2026-11-30T18-16-25-186Z"), "server-stateless");
    }

    #[test]
    fn every_status_is_counted_as_what_it_is_and_an_unknown_one_as_a_failure() {
        let statuses = ["SUCCESS", "SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO", "NEW"];
        let checks: Vec<_> = statuses.iter().map(|status| json!({"id": "c", "status": status})).collect();
        let scenario = Scenario::of("s".to_owned(), &checks.into());
        assert_eq!((scenario.passed, scenario.failures.len()), (2, 2));
        assert_eq!((scenario.warnings.len(), scenario.skipped), (1, 1));
    }
}
