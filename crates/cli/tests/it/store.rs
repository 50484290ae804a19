//! The store from the command line: its tables, and effects whose outcome nobody knows.

use std::path::Path;
use std::time::Duration;

use callgate_adapters::store::ledger::{LedgerLimits, StoreLedger};
use callgate_adapters::store::{Options, Store};
use callgate_core::contract::digest::{Digest, InputDigest};
use callgate_core::contract::{Contract, Definition, Effect, Idempotency, KeySource, Resolution};
use callgate_core::limits::Limits;
use callgate_core::port::{Claim, EffectKey, Ending, Ledger as _, Reservation, Row};
use callgate_core::principal::Principal;
use callgate_core::receipt::CallId;
use serde_json::Value;

use super::serve::project;
use super::support::{run, stderr, stdout};

/// The example project with a store and a trail.
fn stored() -> tempfile::TempDir {
    let directory = project();
    let path = directory.path().join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let tables = "[store]\nkind = \"sqlite\"\npath = \"store.db\"\n\n[audit]\npath = \"audit.db\"\n";
    std::fs::write(&path, format!("{text}\n{tables}")).unwrap();
    directory
}

fn ok(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// Leaves effects of these calls unknown.
fn leave(directory: &Path, calls: &[CallId]) {
    let mut definition = Definition::new("refund", Effect::Append, r#"{"type":"object"}"#);
    definition.idempotency = Some(Idempotency::new(KeySource::Input));
    definition.resolution = Some(Resolution::Person);
    let contract = Contract::new(&definition, &Limits::default()).unwrap();
    let principal = Principal::new("dana").with_tenant("tenant-a");
    let store = Store::sqlite(directory.join("store.db"), Options::default()).unwrap();
    let ledger = StoreLedger::start(store, LedgerLimits::default(), "test").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for call in calls {
            let row = Row::new(EffectKey(Digest::of_bytes(call.to_string().as_bytes())), *call);
            let input = InputDigest(Digest::of_bytes(b"input"));
            let deadline = tokio::time::Instant::now() + Duration::from_secs(9);
            let claim = Claim::new(row, input, &principal, &contract, Duration::from_secs(3600), deadline);
            assert!(matches!(ledger.reserve(claim).await, Ok(Reservation::Owned)));
            ledger.settle(row, Ending::Unknown).await.unwrap();
        }
    });
}

#[test]
fn tables_are_shown_then_made_then_up_to_date() {
    let directory = stored();
    let directory = directory.path();
    let checked = run(directory, &["check"]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(stdout(&checked).contains("callgate migrate"), "{}", stdout(&checked));
    let served = run(directory, &["serve"]);
    assert_eq!(served.status.code(), Some(1));
    let shown = ok(directory, &["migrate", "--dry-run"]);
    assert!(shown.contains("create table callgate_effect"), "{shown}");
    assert!(!directory.join("store.db").exists());
    assert!(ok(directory, &["migrate"]).contains("ledger"));
    assert!(ok(directory, &["migrate"]).contains("up to date"));
    assert!(ok(directory, &["migrate", "--dry-run"]).contains("up to date"));
    ok(directory, &["check"]);
    let text = std::fs::read_to_string(directory.join("callgate.toml")).unwrap();
    std::fs::write(directory.join("callgate.toml"), text.split("[store]").next().unwrap()).unwrap();
    let without = run(directory, &["migrate"]);
    assert_eq!(without.status.code(), Some(1));
    assert!(stdout(&without).contains("[store]"), "{}", stdout(&without));
}

#[test]
fn an_unknown_effect_is_listed_and_resolved_by_hand_with_a_reason_in_the_trail() {
    let directory = stored();
    let directory = directory.path();
    ok(directory, &["migrate"]);
    assert!(ok(directory, &["audit", "reconcile"]).contains("0 effects"));
    let calls: Vec<CallId> = (0..3).map(|n| CallId::new(1_700_000_000_000 + n, &[1; 10])).collect();
    leave(directory, &calls);
    let table = ok(directory, &["audit", "reconcile"]);
    assert!(table.contains("3 effects") && table.contains("refund") && table.contains("dana"), "{table}");
    let lines = ok(directory, &["audit", "reconcile", "--json"]);
    let listed: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[0]["call"], calls[0].to_string());
    assert_eq!((&listed[0]["state"], &listed[0]["resolution"]), (&"unknown".into(), &"person".into()));

    let id = calls[0].to_string();
    let asked = run(directory, &["audit", "reconcile", &id]);
    assert_eq!(asked.status.code(), Some(9));
    assert!(stderr(&asked).contains("--outcome"), "{}", stderr(&asked));
    let bare = run(directory, &["audit", "reconcile", &id, "--outcome", "committed"]);
    assert_eq!(bare.status.code(), Some(2), "a reason is needed");
    for (call, outcome) in calls.iter().zip(["committed", "failed", "compensated"]) {
        let id = call.to_string();
        let arguments =
            ["audit", "reconcile", &id, "--outcome", outcome, "--reason", "seen in the books", "--by", "kim"];
        assert!(ok(directory, &arguments).contains(outcome));
    }
    assert!(ok(directory, &["audit", "reconcile"]).contains("0 effects"));
    let again = run(directory, &["audit", "reconcile", &id, "--outcome", "failed", "--reason", "no"]);
    assert_eq!(again.status.code(), Some(9), "{}", stderr(&again));
    let found = ok(directory, &["audit", "search", "seen in the books", "--json"]);
    let records: Vec<Value> = found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 3, "{found}");
    assert!(
        records.iter().all(|record| record["kind"] == "reconcile" && record["principal"] == "kim"),
        "{found}"
    );
    assert!(ok(directory, &["audit", "verify"]).contains("0 breaks"));
    let absent = run(directory, &["audit", "reconcile", "0199f2a0-0000-7000-8000-000000000000"]);
    assert_eq!(absent.status.code(), Some(8));
    assert_eq!(run(directory, &["audit", "reconcile", "no-id"]).status.code(), Some(2));
}

/// The blocks of a language in the chapter about effects.
fn blocks(language: &str) -> Vec<String> {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/effects.md");
    let text = std::fs::read_to_string(manual).unwrap();
    let opening = format!("```{language}\n");
    text.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The words of a command, of which some stand in quotes.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.skip(1).collect()
}

#[test]
fn every_command_of_the_chapter_works_as_it_is_written() {
    let directory = stored();
    let directory = directory.path();
    let call = CallId::new(1_700_000_000_000, &[1; 10]);
    let mut count = 0;
    for line in blocks("sh").iter().flat_map(|block| block.lines()) {
        if line.contains("reconcile --json") {
            leave(directory, &[call]);
        }
        let words = words(&line.replace("CALL_ID", &call.to_string()));
        ok(directory, &words.iter().map(String::as_str).collect::<Vec<_>>());
        count += 1;
    }
    assert_eq!(count, 7, "a command was added or lost; say so here");
    // The first table of the chapter is one that the file may have.
    let path = directory.join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once("[store]").unwrap();
    std::fs::write(&path, format!("{before}{}", blocks("toml")[0])).unwrap();
    ok(directory, &["check"]);
}
