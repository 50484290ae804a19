//! The bounds of loading, at the bound and one past it, and cursors under a clock that can be set.

use std::sync::atomic::{AtomicI64, Ordering};

use callgate_core::contract::digest::Digest;
use callgate_core::limits::Limits as GateLimits;
use callgate_core::outcome::Outcome;
use callgate_core::pipeline::Pipeline;
use callgate_core::policy::LocalPolicy;
use callgate_core::port::{
    Clock, Credentials, LocalIdentity, LogAudit, NoLedger, SilentPeer, SystemEntropy, Timestamp, Transport,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::Code;
use callgate_core::seal::KeyRing;
use callgate_core::snapshot::{ApprovalRules, Catalogue, Snapshot};
use callgate_protocol::json::{self, Document};

use super::*;

/// A clock that is set by hand.
#[derive(Default)]
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

fn seals(clock: Arc<dyn Clock>) -> Arc<Seals> {
    let entropy = SystemEntropy::default();
    let keys = Arc::new(KeyRing::generate(&entropy).unwrap());
    Arc::new(Seals { keys, clock, entropy: Arc::new(entropy) })
}

/// A directory with a database of three rows and a configuration.
fn files(toml: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(directory.path().join("t.db")).unwrap();
    database
        .execute_batch("create table t (a, b); insert into t values (1, 'x'), (2, 'y'), (3, 'z')")
        .unwrap();
    std::fs::write(directory.path().join("callgate.toml"), toml).unwrap();
    directory
}

fn codes(directory: &tempfile::TempDir, limits: &Limits) -> Vec<&'static str> {
    let path = directory.path().join("callgate.toml");
    let loaded = load(&path, limits, &seals(Arc::new(Hand::default())));
    let errors = loaded.report.findings().iter();
    errors
        .filter(|finding| finding.severity == crate::config::Severity::Error)
        .map(|finding| finding.code)
        .collect()
}

const TOOL: &str = r#"
[server]
name = "t"
[auth.local]
principal = "dana"
tenant = "one"
[source.s]
kind = "sqlite"
path = "t.db"
[tool.list]
description = "Lists rows. Use it in tests. Do not use it elsewhere."
effect = "read"
source = "s"
sql = "select a, b from t where a > :least and b <> :other order by a"
page = { size = 1, key = ["a"] }
input = "input.json"
[tool.list.output]
a = { type = "integer" }
"#;

const INPUT: &str = r#"{"type":"object","properties":{"least":{"type":"integer","minimum":0,"maximum":9},"other":{"type":"string","maxLength":9}},"required":["least"],"additionalProperties":false}"#;

fn good() -> tempfile::TempDir {
    let directory = files(TOOL);
    std::fs::write(directory.path().join("input.json"), INPUT).unwrap();
    directory
}

#[test]
fn every_bound_of_loading_holds_at_the_bound_and_refuses_one_past_it() {
    let directory = good();
    let sql = "select a, b from t where a > :least and b <> :other order by a".len();
    type Set = fn(&mut Limits, usize);
    let bounds: [(&str, Set, usize, &str); 6] = [
        ("file_bytes", |limits, value| limits.file_bytes = value, TOOL.len(), "unreadable_file"),
        (
            "schema_file_bytes",
            |limits, value| limits.schema_file_bytes = value,
            INPUT.len(),
            "unreadable_file",
        ),
        ("sql_bytes", |limits, value| limits.sql_bytes = value, sql, "too_long"),
        ("columns", |limits, value| limits.columns = value, 2, "too_many"),
        ("parameters", |limits, value| limits.parameters = value, 2, "too_many"),
        ("tools", |limits, value| limits.tools = value, 1, "too_many"),
    ];
    for (name, set, bound, code) in bounds {
        let mut limits = Limits::default();
        set(&mut limits, bound);
        assert_eq!(codes(&directory, &limits), Vec::<&str>::new(), "{name}");
        set(&mut limits, bound - 1);
        assert!(codes(&directory, &limits).contains(&code), "{name}: {:?}", codes(&directory, &limits));
    }
    let sources = Limits { sources: 0, ..Limits::default() };
    assert!(codes(&directory, &sources).contains(&"too_many"));
}

#[test]
fn a_report_says_how_many_findings_it_leaves_out() {
    let directory = files("a = 1\nb = 1\nc = 1\n[server]\nname = \"t\"\n");
    let path = directory.path().join("callgate.toml");
    for (findings, shown, left) in [(3, 3, false), (2, 3, true)] {
        let limits = Limits { findings, ..Limits::default() };
        let report = load(&path, &limits, &seals(Arc::new(Hand::default()))).report;
        assert_eq!(report.findings().len(), shown);
        assert_eq!(report.to_string().contains("1 more findings"), left, "{report}");
    }
}

/// Calls the one tool of a catalogue.
async fn call(snapshot: &Snapshot, arguments: &str) -> Result<String, Code> {
    let pipeline = Pipeline::new(
        Arc::new(NoLedger),
        Arc::new(LogAudit),
        Arc::new(Hand::default()),
        Arc::new(SystemEntropy::default()),
    );
    let arguments = Document::parse(arguments, &json::Limits::default()).unwrap();
    let credentials = Credentials::new(Transport::Stdio, None);
    let call = callgate_core::call::Call::new("list", arguments.root(), credentials, &SilentPeer);
    match pipeline.call(snapshot, &call).await {
        Err(refusal) => Err(refusal.code()),
        Ok(settled) => match settled.outcome() {
            Outcome::Complete(output) => Ok(output.structured.as_ref().unwrap().text().to_owned()),
            Outcome::Failed(refusal) => Err(refusal.code()),
            Outcome::InputRequired(_) => panic!("a query asks nothing"),
        },
    }
}

#[tokio::test]
async fn a_cursor_is_good_until_its_lifetime_is_over() {
    let directory = good();
    let clock = Arc::new(Hand::default());
    let seals = seals(Arc::clone(&clock) as Arc<dyn Clock>);
    let loaded = load(&directory.path().join("callgate.toml"), &Limits::default(), &seals);
    assert!(!loaded.report.has_errors(), "{}", loaded.report);
    let snapshot = Snapshot::new(
        Arc::new(Catalogue::new(loaded.tools).unwrap()),
        Arc::new(LocalIdentity::new(Principal::new("dana").with_tenant("one"))),
        Arc::new(LocalPolicy::new()),
        Digest::of_bytes(b"test"),
        ApprovalRules::default(),
        Arc::clone(&seals.keys),
        Arc::new(GateLimits::default()),
    );
    let first = call(&snapshot, r#"{"least":0,"other":"q"}"#).await.unwrap();
    let cursor = first.split("nextCursor\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let next = format!(r#"{{"other":"q","cursor":"{cursor}","least":0.0}}"#);
    let hour = 3_600_000_000;
    clock.0.store(hour - 1, Ordering::Relaxed);
    assert!(call(&snapshot, &next).await.unwrap().starts_with(r#"{"rows":[{"a":2}]"#));
    clock.0.store(hour, Ordering::Relaxed);
    assert_eq!(call(&snapshot, &next).await.unwrap_err(), Code::InvalidCursor);
}
