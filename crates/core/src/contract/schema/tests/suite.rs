//! The official JSON-Schema-Test-Suite, every file of both drafts, with exact counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use callgate_protocol::json::{Document, Limits, Value};

use crate::contract::schema::{Dialect, Formats, Schema, SchemaLimits, Verdict};

/// What happened to the tests of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    /// Tests of schemas that were refused, as they must be.
    refused: usize,
}

fn folder(dialect: Dialect) -> PathBuf {
    let name = if dialect == Dialect::Draft07 { "draft7" } else { "draft2020-12" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/json-schema-test-suite").join(name)
}

/// Every test file below a folder, by its path from there.
fn files(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().with_extension("");
                found.insert(name.to_str().unwrap().to_owned(), path);
            }
        }
    }
    found
}

/// A schema of the draft-07 folder does not say its dialect: the folder does.
fn schema_text(schema: Value<'_>, dialect: Dialect) -> String {
    let raw = schema.raw();
    match raw.strip_prefix('{') {
        Some(rest) if dialect == Dialect::Draft07 && schema.get("$schema").is_none() => {
            let comma = if schema.is_empty() { "" } else { "," };
            format!("{{\"$schema\":\"{}\"{comma}{rest}", dialect.uri())
        }
        _ => raw.to_owned(),
    }
}

/// Runs one file. `refusals` are the descriptions of cases whose schema must be refused.
fn run(
    path: &Path,
    dialect: Dialect,
    formats: Formats,
    refusals: &[(&str, &str)],
    failures: &mut Vec<String>,
) -> Tally {
    let text = fs::read_to_string(path).unwrap();
    let document = Document::parse(text, &Limits::DEFAULT).unwrap();
    let mut tally = Tally::default();
    let mut used = Vec::new();
    for case in document.root().items() {
        let description = case.get("description").unwrap().as_str().unwrap().into_owned();
        let tests = case.get("tests").unwrap();
        let place = format!("{}: {description}", path.display());
        let text = schema_text(case.get("schema").unwrap(), dialect);
        let compiled = Schema::compile_with(&text, &SchemaLimits::DEFAULT, formats);
        let reason = refusals.iter().find(|(name, _)| *name == description).map(|(_, reason)| *reason);
        match (compiled, reason) {
            (Err(error), Some(reason)) => {
                used.push(description);
                if !error.to_string().contains(reason) {
                    failures.push(format!("{place}: refused for another reason: {error}"));
                }
                tally.refused += tests.len();
            }
            (Ok(_), Some(_)) => failures.push(format!("{place}: not refused")),
            (Err(error), None) if error.to_string().contains("http://localhost:1234") => {
                tally.refused += tests.len()
            }
            (Err(error), None) => failures.push(format!("{place}: {error}")),
            (Ok(schema), None) => {
                for test in tests.items() {
                    let data = test.get("data").unwrap();
                    let expected = test.get("valid").unwrap().as_bool().unwrap();
                    let collected = schema.validate(data);
                    let agreed = match &collected {
                        Verdict::Valid => expected,
                        Verdict::Invalid(violations) => !expected && !violations.list.is_empty(),
                        Verdict::OverBudget => false,
                    };
                    if agreed && schema.is_valid(data) == Ok(expected) {
                        tally.passed += 1;
                    } else {
                        let name = test.get("description").unwrap().as_str().unwrap();
                        failures.push(format!("{place}: {name}: expected {expected}, got {collected:?}"));
                    }
                }
            }
        }
    }
    assert_eq!(used.len(), refusals.len(), "{}: every exclusion is of a case that exists", path.display());
    tally
}

fn run_all(
    dialect: Dialect,
    formats: Formats,
    exclusions: &[(&str, &str, &str)],
    select: impl Fn(&str) -> bool,
) -> Tally {
    let mut total = Tally::default();
    let mut failures = Vec::new();
    for (name, path) in files(&folder(dialect)) {
        if !select(&name) {
            continue;
        }
        let refusals: Vec<_> = exclusions
            .iter()
            .filter(|(file, ..)| *file == name)
            .map(|(_, case, reason)| (*case, *reason))
            .collect();
        let tally = run(&path, dialect, formats, &refusals, &mut failures);
        total.passed += tally.passed;
        total.refused += tally.refused;
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    total
}

#[test]
fn every_required_test_of_2020_12_passes() {
    let tally = run_all(Dialect::Draft202012, Formats::Annotated, &[], |name| !name.starts_with("optional"));
    assert_eq!(tally, Tally { passed: 1208, refused: 49 });
}

#[test]
fn every_required_test_of_draft_07_passes() {
    let tally = run_all(Dialect::Draft07, Formats::Annotated, &[], |name| !name.starts_with("optional"));
    assert_eq!(tally, Tally { passed: 890, refused: 23 });
}

#[test]
fn every_optional_test_of_2020_12_passes() {
    let tally = run_all(Dialect::Draft202012, Formats::Asserted, &[], |name| {
        name.starts_with("optional") && !name.ends_with("idn-hostname") && !name.ends_with("content")
    });
    assert_eq!(tally, Tally { passed: 579, refused: 5 });
}

#[test]
fn every_optional_test_of_draft_07_passes() {
    let tally = run_all(Dialect::Draft07, Formats::Asserted, &[], |name| {
        name.starts_with("optional") && !name.ends_with("idn-hostname") && !name.ends_with("content")
    });
    assert_eq!(tally, Tally { passed: 476, refused: 2 });
}
