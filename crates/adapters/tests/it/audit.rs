//! Audit trails on real stores: groups, failures, retention, and finding every change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::audit::{
    Body, BreakKind, Column, Filter, Head, OnFailure, Options, Reader, SqliteReader, SqliteStore, Store,
    Trail, Value, Verified, verify,
};
use callgate_core::contract::{Contract, Definition, Effect, Idempotency, KeySource, Resolution};
use callgate_core::limits::Limits;
use callgate_core::port::{Audit, Record, ResultKind, Timestamp};
use callgate_core::principal::Principal;
use callgate_core::receipt::CallId;
use callgate_core::refusal::Code;

mod chain;
mod failure;
mod flood;
mod postgres;
mod retention;
mod search;

pub(crate) fn options() -> Options {
    let mut options = Options::new("billing", "1.2.3");
    options.limits.lock_wait = Duration::from_millis(100);
    options.limits.probe = Duration::from_millis(20);
    options
}

pub(crate) fn contract(effect: Effect) -> Contract {
    let input = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
    let mut definition = Definition::new("invoice_list", effect, input);
    if effect.changes_something() {
        definition.idempotency = Some(Idempotency::new(KeySource::Input));
        definition.resolution = Some(Resolution::Person);
    }
    Contract::new(&definition, &Limits::default()).unwrap()
}

/// The id of a call at a time, in milliseconds since 1970.
pub(crate) fn call_id(milliseconds: u64, number: u64) -> CallId {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.to_be_bytes());
    CallId::new(milliseconds, &random)
}

/// One record of a read, handed over and waited for.
pub(crate) async fn record(trail: &Trail, contract: &Contract, number: u64) -> Result<(), Code> {
    let principal = Principal::new("dana").with_tenant("tenant-a").with_client("desk");
    let mut record = Record::new(
        call_id(1_700_000_000_000 + number, number),
        Timestamp(1_700_000_000_000_000 + i64::try_from(number).unwrap() * 1000),
        "invoice_list",
        ResultKind::Complete,
    );
    record.principal = Some(&principal);
    record.contract = Some(contract);
    record.view = Some(r#"{"status":"open"}"#);
    trail.record(&record).await.map_err(|refusal| refusal.code())
}

pub(crate) fn body(number: i64) -> Body {
    let mut body = Body::new("call", 1_700_000_000_000_000 + number * 1000);
    body.set(Column::Tool, Value::Text(format!("tool_{}", number % 7)));
    body.set(Column::Principal, Value::Text(format!("person-{}", number % 11)));
    body.set(Column::Detail, Value::Text("a reason with \u{1F512} in it".to_owned()));
    body
}

/// A file with so many records.
pub(crate) fn filled(path: &Path, count: i64, options: &Options) -> SqliteStore {
    let mut store = SqliteStore::new(path);
    for start in (0..count).step_by(500) {
        let bodies: Vec<Body> = (start..count.min(start + 500)).map(body).collect();
        store.append(&bodies.iter().collect::<Vec<_>>(), options).unwrap();
    }
    store
}

pub(crate) fn verified(path: &Path, heads: &[Head]) -> Verified {
    verify(&mut SqliteReader::open(path).unwrap(), heads, 100).unwrap()
}

pub(crate) fn kinds(found: &Verified) -> Vec<BreakKind> {
    found.breaks.iter().map(|found| found.kind).collect()
}

pub(crate) fn head(path: &Path) -> Head {
    let head = SqliteReader::open(path).unwrap().head().unwrap();
    Head { store: head.id, link: head.end, time_us: 0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_durable_when_answered_and_hold_what_is_known_of_the_call() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
    let contract = contract(Effect::Read);
    trail.ready(&contract).unwrap();
    for number in 0..3 {
        record(&trail, &contract, number).await.unwrap();
        let mut reader = SqliteReader::open(&path).unwrap();
        assert_eq!(reader.head().unwrap().end.seq, i64::try_from(number).unwrap() + 1);
    }
    let mut reader = SqliteReader::open(&path).unwrap();
    let id = call_id(1_700_000_000_001, 1).to_string();
    let row = reader.call(&id).unwrap().unwrap();
    for (column, expected) in [
        (Column::Call, id.as_str()),
        (Column::Server, "billing"),
        (Column::ServerVersion, "1.2.3"),
        (Column::Principal, "dana"),
        (Column::Tenant, "tenant-a"),
        (Column::Client, "desk"),
        (Column::Tool, "invoice_list"),
        (Column::Arguments, r#"{"status":"open"}"#),
        (Column::Result, "complete"),
        (Column::Transport, "stdio"),
        (Column::Idempotency, "not_needed"),
        (Column::Effect, "none"),
    ] {
        assert_eq!(row.body.text(column), Some(expected), "{}", column.name());
    }
    assert_eq!(row.body.get(Column::Contract).digest(), Some(&contract.digest().0));
    assert!(reader.call(&call_id(1_700_000_000_001, 9).to_string()).unwrap().is_none());
    assert!(reader.call("no id").unwrap().is_none());
    assert_eq!(kinds(&verified(&path, &[])), []);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_share_commits_and_none_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let counted = Counted { inner: SqliteStore::new(&path), groups: Arc::default() };
    let groups = Arc::clone(&counted.groups);
    let trail = Trail::start(counted, options()).unwrap();
    let contract = Arc::new(contract(Effect::Read));
    let tasks: Vec<_> = (0..64_u64)
        .map(|task| {
            let (trail, contract) = (trail.clone(), Arc::clone(&contract));
            tokio::spawn(async move {
                for number in 0..20 {
                    record(&trail, &contract, task * 20 + number).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let found = verified(&path, &[]);
    assert_eq!((found.records, kinds(&found)), (1280, vec![]));
    let groups = groups.load(std::sync::atomic::Ordering::Relaxed);
    assert!(groups < 640, "{groups} commits for 1280 records");
}

/// Counts the groups that a store is given.
struct Counted {
    inner: SqliteStore,
    groups: Arc<std::sync::atomic::AtomicUsize>,
}

impl Store for Counted {
    fn open(&mut self, options: &Options) -> Result<(), callgate_adapters::audit::StoreError> {
        self.inner.open(options)
    }

    fn append(
        &mut self,
        bodies: &[&Body],
        options: &Options,
    ) -> Result<(), callgate_adapters::audit::StoreError> {
        self.groups.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.inner.append(bodies, options)
    }

    fn prune(
        &mut self,
        now_us: i64,
        options: &Options,
    ) -> Result<callgate_adapters::audit::Pruned, callgate_adapters::audit::StoreError> {
        self.inner.prune(now_us, options)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_nobody_waits_for_is_written_and_the_end_flushes_the_queue() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
    let principal = Principal::new("dana");
    for number in 0..500 {
        let mut record =
            Record::new(call_id(1, number), Timestamp(1000), "invoice_list", ResultKind::Cancelled);
        record.principal = Some(&principal);
        drop(trail.record(&record));
    }
    drop(trail);
    let found = verified(&path, &[]);
    assert_eq!((found.records, kinds(&found)), (500, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_one_file_write_one_chain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut options = options();
    options.limits.lock_wait = Duration::from_secs(5);
    let trails: Vec<Trail> =
        (0..2).map(|_| Trail::start(SqliteStore::new(&path), options.clone()).unwrap()).collect();
    let contract = Arc::new(contract(Effect::Read));
    let tasks: Vec<_> = (0..8_u64)
        .map(|task| {
            let trail = trails[usize::try_from(task % 2).unwrap()].clone();
            let contract = Arc::clone(&contract);
            tokio::spawn(async move {
                for number in 0..25 {
                    record(&trail, &contract, task * 25 + number).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let found = verified(&path, &[]);
    assert_eq!((found.records, kinds(&found)), (200, vec![]));
}
