//! A trail that cannot be written refuses calls, or lets reads go on and says so later.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use callgate_adapters::audit::{Pruned, StoreError};
use rusqlite::Connection;

use super::{
    Arc, Audit as _, Body, Code, Column, Duration, Effect, Filter, OnFailure, Options, Reader as _, Record,
    ResultKind, SqliteReader, SqliteStore, Store, Timestamp, Trail, call_id, contract, filled, kinds,
    options, record, verified,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_file_refuses_calls_and_is_used_again_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
    let read = contract(Effect::Read);
    record(&trail, &read, 1).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("begin immediate").unwrap();
    assert_eq!(record(&trail, &read, 2).await, Err(Code::GateUnavailable));
    assert_eq!(trail.ready(&read).unwrap_err().code(), Code::GateUnavailable);
    other.execute_batch("rollback").unwrap();
    until(|| trail.ready(&read).is_ok()).await;
    record(&trail, &read, 3).await.unwrap();
    drop(trail);
    let found = verified(&path, &[]);
    // Two records and the note that one was lost between them.
    assert_eq!((found.records, kinds(&found)), (3, vec![]));
    let rows = SqliteReader::open(&path).unwrap().after(1, &Filter::default(), 10).unwrap();
    assert_eq!(rows[0].body.text(Column::Kind), Some("gap"));
    assert!(rows[0].body.text(Column::Detail).unwrap().starts_with("{\"lost\":1,"), "{:?}", rows[0].body);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_go_on_without_a_trail_where_that_is_configured_and_effects_do_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut options = options();
    options.on_failure = OnFailure::ServeReads;
    let trail = Trail::start(SqliteStore::new(&path), options).unwrap();
    let (read, write) = (contract(Effect::Read), contract(Effect::Append));
    let other = Connection::open(&path).unwrap();
    other.execute_batch("begin immediate").unwrap();
    record(&trail, &read, 1).await.unwrap();
    assert!(trail.fault().is_some());
    trail.ready(&read).unwrap();
    assert_eq!(trail.ready(&write).unwrap_err().code(), Code::GateUnavailable);
    assert_eq!(record(&trail, &write, 2).await, Err(Code::GateUnavailable));
    other.execute_batch("rollback").unwrap();
    until(|| trail.ready(&write).is_ok()).await;
    record(&trail, &write, 3).await.unwrap();
    let rows = SqliteReader::open(&path).unwrap().after(0, &Filter::default(), 10).unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows[0].body.text(Column::Detail).unwrap().starts_with("{\"lost\":2,"), "{:?}", rows[0].body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_and_the_room_that_is_made_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let full = Full { inner: SqliteStore::new(&path), pages: Arc::default() };
    let pages = Arc::clone(&full.pages);
    let trail = Trail::start(full, options()).unwrap();
    let read = contract(Effect::Read);
    record(&trail, &read, 1).await.unwrap();
    pages.store(true, Ordering::Relaxed);
    assert_eq!(record(&trail, &read, 2).await, Err(Code::GateUnavailable));
    let reason = trail.ready(&read).unwrap_err();
    assert!(reason.detail().unwrap().contains("the disk is full"), "{reason:?}");
    pages.store(false, Ordering::Relaxed);
    until(|| trail.ready(&read).is_ok()).await;
    record(&trail, &read, 3).await.unwrap();
    assert_eq!(kinds(&verified(&path, &[])), []);
}

/// A store whose disk is full at times.
struct Full {
    inner: SqliteStore,
    pages: Arc<AtomicBool>,
}

impl Store for Full {
    fn open(&mut self, options: &Options) -> Result<(), StoreError> {
        self.inner.open(options)
    }

    fn append(&mut self, bodies: &[&Body], options: &Options) -> Result<(), StoreError> {
        match self.pages.load(Ordering::Relaxed) {
            true => Err(StoreError::new("the disk is full", "free space on its disk")),
            false => self.inner.append(bodies, options),
        }
    }

    fn prune(&mut self, now_us: i64, options: &Options) -> Result<Pruned, StoreError> {
        self.inner.prune(now_us, options)
    }
}

/// A store that waits until it is told to go on.
struct Slow {
    go: Arc<AtomicBool>,
    started: Arc<AtomicBool>,
    written: Arc<AtomicUsize>,
}

impl Store for Slow {
    fn open(&mut self, _: &Options) -> Result<(), StoreError> {
        Ok(())
    }

    fn append(&mut self, bodies: &[&Body], _: &Options) -> Result<(), StoreError> {
        self.started.store(true, Ordering::Release);
        while !self.go.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        self.written.fetch_add(bodies.len(), Ordering::AcqRel);
        Ok(())
    }

    fn prune(&mut self, _: i64, _: &Options) -> Result<Pruned, StoreError> {
        Ok(Pruned::Done)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_at_once_and_neither_blocks_nor_drops() {
    let (go, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut options = options();
    options.limits.queue = 4;
    options.limits.batch = 1;
    let started = Arc::new(AtomicBool::new(false));
    let slow = Slow { go: Arc::clone(&go), started: Arc::clone(&started), written: Arc::clone(&written) };
    let trail = Trail::start(slow, options).unwrap();
    let read = contract(Effect::Read);
    // The first is taken by the writer, four wait, one more finds no room.
    hand_over(&trail);
    until(|| started.load(Ordering::Acquire)).await;
    for _ in 1..5 {
        hand_over(&trail);
    }
    let refusal = trail.ready(&read).unwrap_err();
    assert!(refusal.detail().unwrap().contains("too many records"), "{refusal:?}");
    assert_eq!(record(&trail, &read, 5).await, Err(Code::GateUnavailable));
    go.store(true, Ordering::Release);
    assert!(trail.flush(Duration::from_secs(10)));
    trail.ready(&read).unwrap();
    record(&trail, &read, 6).await.unwrap();
    // Those that waited were written although nobody waited for them any more, and the lost one was noted.
    assert_eq!(written.load(Ordering::Acquire), 7);
}

#[test]
fn a_file_that_cannot_be_a_trail_keeps_the_server_from_starting() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("no/such/audit.db");
    let error = Trail::start(SqliteStore::new(missing), options()).unwrap_err();
    assert!(error.message.contains("cannot be made"), "{error}");
    let foreign = directory.path().join("billing.db");
    Connection::open(&foreign).unwrap().execute_batch("create table invoices (id)").unwrap();
    let error = Trail::start(SqliteStore::new(&foreign), options()).unwrap_err();
    assert!(error.message.contains("database of something else"), "{error}");
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "not a database, and long enough to be looked at as one\n".repeat(40)).unwrap();
    let error = Trail::start(SqliteStore::new(&text), options()).unwrap_err();
    assert!(error.message.contains("no database"), "{error}");
    let later = directory.path().join("later.db");
    drop(filled(&later, 1, &options()));
    Connection::open(&later).unwrap().execute_batch("update callgate_audit_store set version = 2").unwrap();
    let error = Trail::start(SqliteStore::new(&later), options()).unwrap_err();
    assert!(error.message.contains("version 2"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_removed_while_it_is_written_is_noticed_and_not_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
    let read = contract(Effect::Read);
    record(&trail, &read, 1).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(record(&trail, &read, 2).await, Err(Code::GateUnavailable));
    assert!(trail.fault().unwrap().contains("was removed"), "{:?}", trail.fault());
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_emptied_or_replaced_while_it_is_written_is_noticed_and_not_written_on() {
    let directory = tempfile::tempdir().unwrap();
    let read = contract(Effect::Read);
    for how in ["emptied", "replaced by nothing", "replaced by another trail"] {
        let path = directory.path().join(format!("{}.db", how.replace(' ', "-")));
        let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
        record(&trail, &read, 1).await.unwrap();
        let aside = path.with_extension("aside");
        match how {
            "emptied" => drop(std::fs::File::create(&path).unwrap()),
            "replaced by nothing" => {
                std::fs::rename(&path, &aside).unwrap();
                drop(std::fs::File::create(&path).unwrap());
            }
            _ => {
                std::fs::rename(&path, &aside).unwrap();
                let other = directory.path().join("other.db");
                drop(filled(&other, 1, &options()));
                std::fs::rename(&other, &path).unwrap();
            }
        }
        assert_eq!(record(&trail, &read, 2).await, Err(Code::GateUnavailable), "{how}");
        assert!(trail.fault().is_some(), "{how}");
        if how != "replaced by another trail" {
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "{how}: nothing new was begun in secret");
        }
    }
}

#[test]
fn a_database_of_something_else_is_refused_before_it_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("billing.db");
    Connection::open(&path).unwrap().execute_batch("create table invoices (id integer)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Trail::start(SqliteStore::new(&path), options()).unwrap_err();
    assert!(error.message.contains("is a database of something else"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before, "not even the mode of its journal changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_emptied_while_it_is_written_refuses_calls_and_its_log_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let log = directory.path().join("audit.db-wal");
    let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
    let read = contract(Effect::Read);
    record(&trail, &read, 1).await.unwrap();
    std::fs::OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
    for number in 2..4 {
        assert_eq!(record(&trail, &read, number).await, Err(Code::GateUnavailable));
    }
    assert!(trail.fault().unwrap().contains("was emptied"), "{:?}", trail.fault());
    drop(trail);
    // What was answered is in the log still; a start on the empty file would delete it.
    assert!(std::fs::metadata(&log).unwrap().len() > 0);
    let error = Trail::start(SqliteStore::new(&path), options()).unwrap_err();
    assert!(error.message.contains("the log beside it holds records"), "{error}");
    assert!(std::fs::metadata(&log).unwrap().len() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_replaced_while_it_is_written_is_refused_and_used_again_when_it_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let (path, old) = (directory.path().join("audit.db"), directory.path().join("audit.old"));
    let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
    let read = contract(Effect::Read);
    for number in 0..3 {
        record(&trail, &read, number).await.unwrap();
    }
    std::fs::rename(&path, &old).unwrap();
    std::fs::write(&path, "").unwrap();
    assert_eq!(record(&trail, &read, 3).await, Err(Code::GateUnavailable));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "a new trail was begun");
    drop(filled(&directory.path().join("other.db"), 5, &options()));
    std::fs::rename(directory.path().join("other.db"), &path).unwrap();
    assert_eq!(record(&trail, &read, 4).await, Err(Code::GateUnavailable));
    assert!(trail.fault().unwrap().contains("replaced"), "{:?}", trail.fault());
    std::fs::rename(&old, &path).unwrap();
    until(|| trail.ready(&read).is_ok()).await;
    drop(trail);
    let found = verified(&path, &[]);
    // Three records, and the note of the two that were lost.
    assert_eq!((found.records, kinds(&found)), (4, vec![]));
}

#[test]
fn an_end_that_is_cut_off_while_it_is_written_is_noticed_and_not_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut store = filled(&path, 5, &options());
    let cut = "delete from callgate_audit where seq > 2;
               update callgate_audit_store set (seq, hash) = (select seq, hash from callgate_audit where seq = 2)";
    Connection::open(&path).unwrap().execute_batch(cut).unwrap();
    let later = super::body(9);
    let error = store.append(&[&later], &options()).unwrap_err();
    assert!(error.message.contains("cut off"), "{error}");
    // Another writer makes the numbers right again, but not the hashes.
    drop(filled(&path, 4, &options()));
    let error = store.append(&[&later], &options()).unwrap_err();
    assert!(error.message.contains("exchanged"), "{error}");
    assert_eq!(verified(&path, &[]).records, 6);
}

/// A record that nobody waits for.
fn hand_over(trail: &Trail) {
    let record = Record::new(call_id(1, 1), Timestamp(1000), "invoice_list", ResultKind::Cancelled);
    drop(trail.record(&record));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_holds_up_one_call_and_then_none() {
    let (go, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let slow = Slow { go: Arc::clone(&go), started, written: Arc::default() };
    let mut options = options();
    options.on_failure = OnFailure::ServeReads;
    options.limits.answer = Duration::from_millis(200);
    let trail = Trail::start(slow, options).unwrap();
    let (read, write) = (contract(Effect::Read), contract(Effect::Append));
    record(&trail, &read, 1).await.unwrap();
    assert!(trail.fault().unwrap().contains("in time"), "{:?}", trail.fault());
    let start = tokio::time::Instant::now();
    for number in 2..50 {
        record(&trail, &read, number).await.unwrap();
    }
    assert!(start.elapsed() < Duration::from_millis(150), "{:?}", start.elapsed());
    assert_eq!(trail.ready(&write).unwrap_err().code(), Code::GateUnavailable);
    go.store(true, Ordering::Release);
    until(|| trail.ready(&write).is_ok()).await;
    record(&trail, &write, 50).await.unwrap();
}

async fn until(condition: impl Fn() -> bool) {
    let limit = tokio::time::Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(tokio::time::Instant::now() < limit, "it never came true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
