//! `cargo xtask features`: every crate that has Cargo features also stands without them, and with each alone.
//!
//! In the workspace all features are on at once, which hides code that only one of them needs. Cargo checks the
//! combinations; this only names them. `ci` calls it.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::failure::Failure;
use crate::process::{self, Echo};
use crate::tree;

const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Checks every crate with features in each combination that matters.
pub(crate) fn check() -> Result<(), Failure> {
    let mut failed = Vec::new();
    for (package, features) in combinations(&tree::metadata()?) {
        let shown = if features.is_empty() { "no features" } else { features.as_str() };
        println!("{package} with {shown}");
        let mut command = Command::new(tree::cargo());
        command.args([
            "clippy",
            "--quiet",
            "--locked",
            "--no-deps",
            "--package",
            &package,
            "--no-default-features",
        ]);
        command.args(["--features", &features, "--", "-D", "warnings"]).current_dir(tree::root());
        if !process::run(&mut command, LIMIT, Echo::Shown)?.succeeded() {
            failed.push(format!("{package} with {shown}"));
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("does not stand: {}", failed.join("; "))))
    }
}

/// Packages that have features besides `default`, with no feature and with each one.
fn combinations(metadata: &Value) -> Vec<(String, String)> {
    let mut combinations = Vec::new();
    for package in metadata.get("packages").and_then(Value::as_array).into_iter().flatten() {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let features = package.get("features").and_then(Value::as_object).into_iter().flatten();
        let mut own: Vec<&String> =
            features.map(|(feature, _)| feature).filter(|f| f.as_str() != "default").collect();
        if own.is_empty() {
            continue;
        }
        // The order of JSON members depends on what else is linked.
        own.sort();
        combinations.push((name.to_owned(), String::new()));
        combinations.extend(own.into_iter().map(|feature| (name.to_owned(), feature.clone())));
    }
    combinations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::combinations;

    #[test]
    fn a_crate_with_features_is_checked_without_any_and_with_each() {
        let metadata = json!({"packages": [
            {"name": "plain", "features": {}},
            {"name": "adapters", "features": {"default": ["sqlite"], "sqlite": [], "postgres": []}},
        ]});
        let found: Vec<String> =
            combinations(&metadata).into_iter().map(|(name, f)| format!("{name}:{f}")).collect();
        assert_eq!(found, ["adapters:", "adapters:postgres", "adapters:sqlite"]);
    }
}
