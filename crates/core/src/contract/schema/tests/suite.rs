//! The official JSON-Schema-Test-Suite, every file of both drafts, with exact counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use callgate_protocol::json::{Document, Limits, Value};

use crate::contract::schema::{Dialect, Formats, Schema, SchemaOptions, Verdict};

/// What happened to the tests of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    /// Tests of schemas that were refused, as they must be.
    refused: usize,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/json-schema-test-suite").join(name)
}

fn folder_of(dialect: Dialect) -> PathBuf {
    folder(if dialect == Dialect::Draft07 { "draft7" } else { "draft2020-12" })
}

/// The documents that the suite expects at `http://localhost:1234`, held in memory.
fn remotes(dialect: Dialect) -> Vec<(String, String)> {
    let of_other = |name: &str| name.starts_with("draft7/") != (dialect == Dialect::Draft07);
    files(&folder("remotes"))
        .into_iter()
        .filter(|(name, _)| {
            !(name.starts_with("draft7/") || name.starts_with("draft2020-12/")) || !of_other(name)
        })
        .map(|(name, path)| {
            let text = fs::read_to_string(path).unwrap();
            let document = Document::parse(text, &Limits::DEFAULT).unwrap();
            (format!("http://localhost:1234/{name}.json"), schema_text(document.root(), dialect))
        })
        .collect()
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
    remotes: &[(&str, &str)],
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
        let options = SchemaOptions { formats, documents: remotes, ..SchemaOptions::default() };
        let compiled = Schema::compile_with(&text, &options);
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
    let remotes = remotes(dialect);
    let remotes: Vec<_> = remotes.iter().map(|(uri, text)| (uri.as_str(), text.as_str())).collect();
    for (name, path) in files(&folder_of(dialect)) {
        if !select(&name) {
            continue;
        }
        let refusals: Vec<_> = exclusions
            .iter()
            .filter(|(file, ..)| *file == name)
            .map(|(_, case, reason)| (*case, *reason))
            .collect();
        let tally = run(&path, &remotes, dialect, formats, &refusals, &mut failures);
        total.passed += tally.passed;
        total.refused += tally.refused;
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    total
}

/// Cases whose schema names a dialect that is refused, file by file, with the dialect.
const OTHER_DIALECTS: [(&str, &str, &str); 6] = [
    (
        "vocabulary",
        "schema that uses custom metaschema with with no validation vocabulary",
        "http://localhost:1234/draft2020-12/metaschema-no-validation.json",
    ),
    (
        "vocabulary",
        "ignore unrecognized optional vocabulary",
        "http://localhost:1234/draft2020-12/metaschema-optional-vocabulary.json",
    ),
    (
        "optional/format-assertion",
        "schema that uses custom metaschema with format-assertion: false",
        "http://localhost:1234/draft2020-12/format-assertion-false.json",
    ),
    (
        "optional/format-assertion",
        "schema that uses custom metaschema with format-assertion: true",
        "http://localhost:1234/draft2020-12/format-assertion-true.json",
    ),
    (
        "optional/cross-draft",
        "refs to historic drafts are processed as historic drafts",
        "https://json-schema.org/draft/2019-09/schema",
    ),
    (
        "optional/cross-draft",
        "refs to future drafts are processed as future drafts",
        "https://json-schema.org/draft/2019-09/schema",
    ),
];

/// Optional files of features that are not claimed: `idn-hostname` is an annotation because its rules
/// need the tables of IDNA 2008, and the content keywords only describe.
const NOT_CLAIMED: [&str; 2] = ["optional/format/idn-hostname", "optional/content"];

fn exclusions(dialect: Dialect) -> Vec<(&'static str, &'static str, &'static str)> {
    let historic = OTHER_DIALECTS[4];
    let future = OTHER_DIALECTS[5];
    let not_of = if dialect == Dialect::Draft07 { historic } else { future };
    OTHER_DIALECTS
        .into_iter()
        .filter(|case| *case != not_of)
        .filter(|(file, ..)| dialect == Dialect::Draft202012 || *file == "optional/cross-draft")
        .collect()
}

fn required(dialect: Dialect, formats: Formats) -> Tally {
    let select =
        |name: &str| !name.starts_with("optional") && (formats == Formats::Annotated || name != "format");
    run_all(dialect, formats, &exclusions(dialect), select)
}

fn optional(dialect: Dialect) -> Tally {
    let select = |name: &str| name.starts_with("optional") && !NOT_CLAIMED.contains(&name);
    run_all(dialect, Formats::Asserted, &exclusions(dialect), select)
}

#[test]
fn every_required_test_of_2020_12_passes() {
    let all = required(Dialect::Draft202012, Formats::Annotated);
    // The five refused tests belong to two schemas of `vocabulary.json` with dialects of their own.
    assert_eq!(all, Tally { passed: 1252, refused: 5 });
    // `format.json` asks for annotations; everything else must pass with assertions as well.
    let asserted = required(Dialect::Draft202012, Formats::Asserted);
    assert_eq!(asserted, Tally { passed: 1252 - 133, refused: 5 });
}

#[test]
fn every_required_test_of_draft_07_passes() {
    let all = required(Dialect::Draft07, Formats::Annotated);
    assert_eq!(all, Tally { passed: 913, refused: 0 });
    let asserted = required(Dialect::Draft07, Formats::Asserted);
    assert_eq!(asserted, Tally { passed: 913 - 102, refused: 0 });
}

#[test]
fn every_claimed_optional_test_of_2020_12_passes() {
    assert_eq!(optional(Dialect::Draft202012), Tally { passed: 579, refused: 5 });
}

#[test]
fn every_claimed_optional_test_of_draft_07_passes() {
    assert_eq!(optional(Dialect::Draft07), Tally { passed: 476, refused: 2 });
}

#[test]
fn schemas_that_need_other_documents_are_refused_when_none_are_given() {
    let mut refused = 0;
    for dialect in [Dialect::Draft202012, Dialect::Draft07] {
        let text = fs::read_to_string(folder_of(dialect).join("refRemote.json")).unwrap();
        let document = Document::parse(text, &Limits::DEFAULT).unwrap();
        for case in document.root().items() {
            let text = schema_text(case.get("schema").unwrap(), dialect);
            let error = Schema::compile_with(&text, &SchemaOptions::default()).unwrap_err();
            assert!(error.to_string().contains("http://localhost:1234/"), "{error}");
            refused += 1;
        }
    }
    assert_eq!(refused, 26);
}
