//! The ledger in SQLite and PostgreSQL: the model, durability, tables, and rows of lost instances.

use callgate_adapters::store::Part;

use super::*;
use crate::store::{Kind, both, postgres_url};

/// A store of its own for one test.
pub(crate) struct Place {
    pub(crate) store: Store,
    path: Option<std::path::PathBuf>,
    url: Option<String>,
    _directory: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("store.db");
                Store::make_sqlite(&path).unwrap();
                let store = Store::sqlite(&path, options()).unwrap();
                Self { store, path: Some(path), url: None, _directory: Some(directory) }
            }
            Kind::Postgres => {
                let url = schema();
                let store = Store::postgres(&url, options()).unwrap();
                Self { store, path: None, url: Some(url), _directory: None }
            }
        }
    }

    pub(crate) fn migrated(kind: Kind) -> Self {
        let place = Self::new(kind);
        assert_eq!(migrate(&place.store).unwrap(), ["ledger", "handles", "artifacts", "approvals"]);
        place
    }

    /// The same store as another process has it.
    pub(crate) fn again(&self) -> Store {
        match (&self.path, &self.url) {
            (Some(path), _) => Store::sqlite(path, options()).unwrap(),
            (None, Some(url)) => Store::postgres(url, options()).unwrap(),
            (None, None) => unreachable!("a place is a file or a URL"),
        }
    }

    pub(crate) fn execute(&self, sql: &'static str) {
        self.store.run_blocking(vec![Statement::new(sql)]).unwrap();
    }
}

fn options() -> Options {
    let mut options = Options::default();
    options.lock_wait = Duration::from_secs(10);
    options.answer = Duration::from_secs(20);
    options
}

/// A schema of its own for one test, as a URL.
pub(crate) fn schema() -> String {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let schema = format!("store_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    Runtime::new().unwrap().block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&postgres_url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("create schema {schema}")).await.unwrap();
    });
    let url = postgres_url();
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}options=-csearch_path%3D{schema}")
}

/// Limits under which no time passes by itself.
pub(crate) fn limits() -> LedgerLimits {
    let mut limits = LedgerLimits::default();
    limits.lost_after = Duration::from_secs(3600);
    limits.count_after = Duration::ZERO;
    limits.look_again = Duration::from_millis(10);
    limits
}

struct InStore {
    place: Arc<Place>,
    ledgers: Vec<Option<StoreLedger>>,
    dead: Vec<String>,
}

impl InStore {
    fn new(place: Arc<Place>) -> Self {
        place.execute("delete from callgate_effect");
        place.execute("delete from callgate_instance");
        let ledgers = (0..2).map(|_| Some(Self::start(&place))).collect();
        Self { place, ledgers, dead: Vec::new() }
    }

    fn start(place: &Place) -> StoreLedger {
        let mut limits = limits();
        limits.rows = u64::try_from(ROWS).unwrap();
        StoreLedger::start(place.store.clone(), limits, "test").unwrap()
    }
}

impl World for InStore {
    fn ledger(&self, instance: usize) -> &dyn Ledger {
        self.ledgers[instance].as_ref().unwrap()
    }

    fn crash(&mut self, instance: usize, _: Vec<Row>) {
        self.dead.push(self.ledgers[instance].take().unwrap().forget());
        self.ledgers[instance] = Some(Self::start(&self.place));
    }

    fn silence(&mut self) {
        for dead in self.dead.drain(..) {
            let statement =
                Statement::new("update callgate_instance set beat_us = 0 where id = $1").bind(dead);
            self.place.store.run_blocking(vec![statement]).unwrap();
        }
    }

    fn retention(&mut self) {
        self.place.execute("update callgate_effect set claimed_us = claimed_us - expires_us, expires_us = 0");
    }

    fn rest(&self, row: Row) {
        // The connections of PostgreSQL are not in order with each other.
        let begun = std::time::Instant::now();
        let executing = || {
            let sql = "select 1 from callgate_effect where key = $1 and call = $2 and state = 'executing'";
            Statement::new(sql).bind(row.key.0).bind(row.call.to_string())
        };
        while self.place.store.run_blocking(vec![executing()]).unwrap() != [vec![]] {
            assert!(begun.elapsed() < Duration::from_secs(20), "the row stays in flight");
        }
    }
}

pub(crate) fn row_of(of: u8, number: u64) -> Row {
    Row::new(key(of), call(number))
}

pub(crate) async fn reserve(ledger: &StoreLedger, of: u8, number: u64) -> Told {
    ask(ledger, &contract(), of, 0, call(number), false).await
}

both! {
    fn the_ledger_does_what_the_model_does(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Arc::new(Place::migrated(kind));
        check(&runtime, || Box::new(InStore::new(Arc::clone(&place))), 48);
    }

    fn tables_are_made_once_and_by_nothing_else(kind: Kind) {
        let place = Place::new(kind);
        let error = StoreLedger::start(place.store.clone(), limits(), "test").unwrap_err();
        assert!(error.remedy().contains("callgate migrate"), "{error}");
        assert_eq!(missing(&place.store, &["ledger"]).unwrap(), ["ledger"]);
        let planned = plan(&place.store).unwrap();
        assert!(planned.iter().any(|planned| planned.sql.contains("create table callgate_effect")));
        assert!(planned.iter().all(|planned| !planned.sql.contains('{')), "{planned:?}");
        assert_eq!(plan(&place.store).unwrap(), planned, "a plan changes nothing");
        assert_eq!(migrate(&place.store).unwrap(), Part::ALL.iter().map(|part| part.name).collect::<Vec<_>>());
        assert_eq!(migrate(&place.store).unwrap(), [""; 0]);
        assert!(plan(&place.store).unwrap().is_empty());
        assert!(missing(&place.store, &["ledger"]).unwrap().is_empty());
        drop(StoreLedger::start(place.store.clone(), limits(), "test").unwrap());
        place.execute("update callgate_part set version = 9");
        let error = missing(&place.store, &["ledger"]).unwrap_err();
        assert!(error.to_string().contains("version 9"), "{error}");
    }

    fn what_was_answered_is_there_for_the_next_process(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Place::migrated(kind);
        let first = StoreLedger::start(place.store.clone(), limits(), "first").unwrap();
        runtime.block_on(async {
            assert_eq!(reserve(&first, 1, 1).await, Told::Owned);
            settle(&first, 1, call(1), End::Committed).await;
        });
        let next = StoreLedger::start(place.again(), limits(), "next").unwrap();
        runtime.block_on(async {
            assert_eq!(reserve(&next, 1, 2).await, Told::Replayed(call(1), Some(call(1).to_string())));
        });
    }

    fn an_instance_that_ends_leaves_its_rows_unknown_at_once(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Place::migrated(kind);
        let (one, other) = (
            StoreLedger::start(place.again(), limits(), "one").unwrap(),
            StoreLedger::start(place.store.clone(), limits(), "other").unwrap(),
        );
        runtime.block_on(async {
            assert_eq!(reserve(&one, 1, 1).await, Told::Owned);
            assert_eq!(reserve(&other, 1, 2).await, Told::InFlight(call(1)));
        });
        drop(one);
        runtime.block_on(async {
            assert_eq!(reserve(&other, 1, 3).await, Told::Unknown(call(1)));
        });
    }

    fn an_instance_that_is_not_heard_of_loses_its_rows_in_bounded_time(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Place::migrated(kind);
        let mut limits = limits();
        limits.lost_after = Duration::from_millis(400);
        let (one, other) = (
            StoreLedger::start(place.again(), limits.clone(), "one").unwrap(),
            StoreLedger::start(place.store.clone(), limits, "other").unwrap(),
        );
        runtime.block_on(async {
            assert_eq!(reserve(&one, 1, 1).await, Told::Owned);
            let _instance = one.forget();
            let begun = Instant::now();
            let mut number = 2;
            loop {
                match reserve(&other, 1, number).await {
                    Told::InFlight(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                    told => break assert_eq!(told, Told::Unknown(call(1))),
                }
                number += 1;
                assert!(begun.elapsed() < Duration::from_secs(20), "the row was never lost");
            }
            // The other one is alive all the time.
            assert_eq!(reserve(&other, 2, 100).await, Told::Owned);
            tokio::time::sleep(Duration::from_millis(900)).await;
            assert_eq!(reserve(&other, 2, 101).await, Told::InFlight(call(100)));
        });
        let found = unsettled(&place.store, 10).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].state, found[0].call, found[0].tool.as_str()), ("unknown", call(1), "pay"));
    }

    fn the_owner_may_still_say_the_truth_of_a_row_that_was_lost(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Place::migrated(kind);
        let (one, other) = (
            StoreLedger::start(place.again(), limits(), "one").unwrap(),
            StoreLedger::start(place.store.clone(), limits(), "other").unwrap(),
        );
        runtime.block_on(async {
            assert_eq!(reserve(&one, 1, 1).await, Told::Owned);
            place.store.one(Statement::new("update callgate_instance set beat_us = 0 where about = 'one'")).await.unwrap();
            assert_eq!(reserve(&other, 1, 2).await, Told::Unknown(call(1)));
            settle(&one, 1, call(1), End::Committed).await;
            assert_eq!(reserve(&other, 1, 3).await, Told::Replayed(call(1), Some(call(1).to_string())));
        });
    }

    fn a_claim_that_nobody_waits_for_any_more_is_given_back(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Place::migrated(kind);
        let ledger = StoreLedger::start(place.store.clone(), limits(), "test").unwrap();
        let (contract, principal) = (contract(), Principal::new("dana"));
        runtime.block_on(async {
            for number in 0..40 {
                let deadline = Instant::now() + Duration::from_secs(10);
                let row = row_of(1, number);
                let claim = Claim::new(row, InputDigest(Digest::of_bytes(b"i")), &principal, &contract, RETENTION, deadline);
                let answer = ledger.reserve(claim);
                // At another moment each time.
                let _ = tokio::time::timeout(Duration::from_micros(number * 150), answer).await.map(|taken| {
                    if matches!(taken, Ok(Reservation::Owned)) {
                        drop(ledger.settle(row, Ending::Released));
                    }
                });
            }
            let begun = Instant::now();
            while !place.store.one(Statement::new("select 1 from callgate_effect")).await.unwrap().is_empty() {
                assert!(begun.elapsed() < Duration::from_secs(20), "a row was left");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
    }

    fn of_many_calls_at_once_on_two_instances_one_owns_the_row(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Place::migrated(kind);
        let ledgers: Vec<StoreLedger> =
            (0..2).map(|_| StoreLedger::start(place.again(), limits(), "test").unwrap()).collect();
        runtime.block_on(async {
            for of in 0..5_u8 {
                let asked = (0..32_u64).map(|number| {
                    let ledger = ledgers[usize::try_from(number % 2).unwrap()].clone();
                    tokio::spawn(async move { reserve(&ledger, of, u64::from(of) * 100 + number).await })
                });
                let asked: Vec<_> = asked.collect();
                let mut owned = 0;
                for asked in asked {
                    match asked.await.unwrap() {
                        Told::Owned => owned += 1,
                        Told::InFlight(_) => {}
                        told => panic!("{told:?}"),
                    }
                }
                assert_eq!(owned, 1);
            }
        });
    }

    fn an_unknown_effect_is_resolved_once_and_only_while_it_is_unknown(kind: Kind) {
        let runtime = Runtime::new().unwrap();
        let place = Place::migrated(kind);
        let ledger = StoreLedger::start(place.store.clone(), limits(), "test").unwrap();
        runtime.block_on(async {
            for of in 1..=4 {
                assert_eq!(reserve(&ledger, of, of.into()).await, Told::Owned);
            }
            for of in 1..=3 {
                settle(&ledger, of, call(of.into()), End::Unknown).await;
            }
        });
        let found = unsettled(&place.store, 10).unwrap();
        assert_eq!(found.len(), 3, "the one that is in flight is its owner's");
        let outcomes = [Outcome::Committed(None), Outcome::Failed, Outcome::Compensated];
        for (effect, outcome) in found.iter().zip(&outcomes) {
            assert_eq!(resolve(&place.store, effect, outcome, "kim", "seen in the books").unwrap(), Resolved::Done);
            assert_eq!(resolve(&place.store, effect, &Outcome::Failed, "kim", "again").unwrap(), Resolved::Changed);
        }
        assert!(unsettled(&place.store, 10).unwrap().is_empty());
        runtime.block_on(async {
            assert_eq!(reserve(&ledger, 1, 11).await, Told::Replayed(call(1), None));
            assert_eq!(reserve(&ledger, 2, 12).await, Told::Owned);
            assert_eq!(reserve(&ledger, 3, 13).await, Told::Replayed(call(3), None));
        });
        let mut taken_back = found[0].clone();
        taken_back.state = "committed";
        assert_eq!(resolve(&place.store, &taken_back, &Outcome::Compensated, "kim", "credited").unwrap(), Resolved::Done);
    }
}

#[test]
fn a_file_of_something_else_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("billing.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("create table invoice (id int)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let store = Store::sqlite(&path, options()).unwrap();
    let error = migrate(&store).unwrap_err();
    assert!(error.to_string().contains("something else"), "{error}");
    drop(store);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let store = Store::sqlite(directory.path().join("absent.db"), options()).unwrap();
    let error = missing(&store, &["ledger"]).unwrap_err();
    assert!(error.remedy().contains("callgate migrate"), "{error}");
    assert!(!directory.path().join("absent.db").exists());
}

#[cfg(unix)]
#[test]
fn a_file_that_was_removed_is_not_written_into_nothing() {
    let place = Place::migrated(Kind::Sqlite);
    let ledger = StoreLedger::start(place.store.clone(), limits(), "test").unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async { assert_eq!(reserve(&ledger, 1, 1).await, Told::Owned) });
    std::fs::remove_file(place.path.as_ref().unwrap()).unwrap();
    let error = place.store.run_blocking(vec![Statement::new("select 1")]).unwrap_err();
    assert!(error.to_string().contains("removed"), "{error}");
}
