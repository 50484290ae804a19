//! One trail in a PostgreSQL database, written by several instances.

use callgate_adapters::audit::{PostgresReader, PostgresStore, Pruned, init_postgres};
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

use super::{
    Arc, Audit as _, BreakKind, Code, Column, Duration, Effect, Filter, Head, Reader as _, Record,
    ResultKind, Store as _, Timestamp, Trail, Verified, body, call_id, contract, kinds, options, record,
    verify,
};
use crate::store::postgres_url;

/// A schema of its own for one test, as a URL, and a runtime.
fn place(runtime: &Runtime, name: &str) -> String {
    let schema = format!("audit_{}_{name}", std::process::id());
    execute(runtime, &postgres_url(), &format!("create schema {schema}"));
    let url = postgres_url();
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}options=-csearch_path%3D{schema}")
}

fn execute(runtime: &Runtime, url: &str, sql: &str) {
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
    });
}

fn verified(url: &str, heads: &[Head]) -> Verified {
    verify(&mut PostgresReader::open(url).unwrap(), heads, 100).unwrap()
}

fn head(url: &str) -> Head {
    let head = PostgresReader::open(url).unwrap().head().unwrap();
    Head { store: head.id, link: head.end, time_us: 0 }
}

fn store(url: &str) -> PostgresStore {
    PostgresStore::new(url).unwrap()
}

#[test]
fn the_tables_are_made_once_and_by_nothing_else() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "init");
    let error = Trail::start(store(&url), options()).unwrap_err();
    assert!(error.remedy.contains("callgate audit init"), "{error:?}");
    assert!(PostgresReader::open(&url).unwrap().head().unwrap_err().to_string().contains("audit init"));
    let id = init_postgres(&url).unwrap();
    assert_eq!(init_postgres(&url).unwrap(), id);
    drop(Trail::start(store(&url), options()).unwrap());
    assert_eq!(PostgresReader::open(&url).unwrap().head().unwrap().id, id);
    execute(&runtime, &url, "update callgate_audit_store set version = 2");
    assert!(Trail::start(store(&url), options()).unwrap_err().message.contains("version 2"));
}

#[test]
fn two_instances_write_one_chain_in_groups() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "two");
    init_postgres(&url).unwrap();
    let trails: Vec<Trail> = (0..2).map(|_| Trail::start(store(&url), options()).unwrap()).collect();
    let read = Arc::new(contract(Effect::Read));
    runtime.block_on(async {
        let tasks: Vec<_> = (0..32_u64)
            .map(|task| {
                let trail = trails[usize::try_from(task % 2).unwrap()].clone();
                let read = Arc::clone(&read);
                tokio::spawn(async move {
                    for number in 0..25 {
                        record(&trail, &read, task * 25 + number).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let found = verified(&url, &[head(&url)]);
    assert_eq!((found.records, kinds(&found)), (800, vec![]));
    let row = PostgresReader::open(&url)
        .unwrap()
        .call(&call_id(1_700_000_000_007, 7).to_string())
        .unwrap()
        .unwrap();
    assert_eq!(row.body.text(Column::Principal), Some("dana"));
    assert_eq!(row.body.get(Column::Contract).digest(), Some(&read.digest().0));
}

#[test]
fn changes_by_sql_are_found_at_their_record() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "changes");
    init_postgres(&url).unwrap();
    let mut writer = store(&url);
    let bodies: Vec<_> = (0..40).map(body).collect();
    writer.append(&bodies.iter().collect::<Vec<_>>(), &options()).unwrap();
    let exported = head(&url);
    execute(&runtime, &url, "create table kept as select * from callgate_audit");
    for (sql, kind, seq) in [
        ("update callgate_audit set principal = 'eve' where seq = 7", BreakKind::Altered, 7),
        ("update callgate_audit set previous = '\\x00' where seq = 9", BreakKind::Unlinked, 9),
        ("delete from callgate_audit where seq between 11 and 13", BreakKind::Missing, 11),
        ("delete from callgate_audit where seq < 5", BreakKind::Beginning, 1),
        ("delete from callgate_audit where seq > 30", BreakKind::Truncated, 31),
    ] {
        execute(&runtime, &url, sql);
        let first = verified(&url, &[]).breaks.into_iter().next().unwrap_or_else(|| panic!("{sql}"));
        assert_eq!((first.kind, first.seq), (kind, Some(seq)), "{sql}");
        execute(&runtime, &url, "truncate callgate_audit; insert into callgate_audit select * from kept");
        assert_eq!(kinds(&verified(&url, &[])), []);
    }
    let cut = "delete from callgate_audit where seq > 30;
               update callgate_audit_store set (seq, hash) = (select seq, hash from callgate_audit where seq = 30)";
    execute(&runtime, &url, cut);
    assert_eq!(kinds(&verified(&url, &[])), []);
    assert_eq!(kinds(&verified(&url, &[exported])), [BreakKind::Truncated]);
}

#[test]
fn a_held_lock_refuses_calls_and_the_loss_is_noted() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "lock");
    init_postgres(&url).unwrap();
    let trail = Trail::start(store(&url), options()).unwrap();
    let read = contract(Effect::Read);
    runtime.block_on(async {
        record(&trail, &read, 1).await.unwrap();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("begin; select * from callgate_audit_store for update").await.unwrap();
        assert_eq!(record(&trail, &read, 2).await, Err(Code::GateUnavailable));
        assert_eq!(trail.ready(&read).unwrap_err().code(), Code::GateUnavailable);
        client.batch_execute("rollback").await.unwrap();
        let limit = tokio::time::Instant::now() + Duration::from_secs(10);
        while trail.ready(&read).is_err() {
            assert!(tokio::time::Instant::now() < limit);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        record(&trail, &read, 3).await.unwrap();
    });
    drop(trail);
    let found = verified(&url, &[]);
    assert_eq!((found.records, kinds(&found)), (3, vec![]));
    let rows = PostgresReader::open(&url).unwrap().after(1, &Filter::default(), 1).unwrap();
    assert_eq!(rows[0].body.text(Column::Kind), Some("gap"));
}

#[test]
fn an_idle_connection_that_was_closed_costs_no_record() {
    let runtime = Runtime::new().unwrap();
    // A name by which its sessions are told from those of the other tests.
    let url = format!("{}&application_name=callgate-idle", place(&runtime, "closed"));
    init_postgres(&url).unwrap();
    let mut writer = store(&url);
    writer.append(&[&body(1)], &options()).unwrap();
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
               where application_name = 'callgate-idle' and pid <> pg_backend_pid() and state = 'idle'";
    execute(&runtime, &postgres_url(), end);
    writer.append(&[&body(2)], &options()).unwrap();
    assert_eq!(verified(&url, &[]).records, 2);
}

#[test]
fn old_records_leave_and_zero_bytes_in_names_are_kept_as_characters() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "prune");
    init_postgres(&url).unwrap();
    let mut settings = options();
    settings.retention_days = Some(1);
    settings.limits.prune_step = 30;
    let mut writer = store(&url);
    let bodies: Vec<_> = (0..100).map(body).collect();
    writer.append(&bodies.iter().collect::<Vec<_>>(), &settings).unwrap();
    let before = head(&url);
    let now = 1_700_000_000_000_000 + 86_400_000_000 + 50_000;
    while writer.prune(now, &settings).unwrap() == Pruned::More {
        assert_eq!(kinds(&verified(&url, std::slice::from_ref(&before))), []);
    }
    let found = verified(&url, std::slice::from_ref(&before));
    assert_eq!((found.first, found.records, kinds(&found)), (Some(51), 51, vec![]));
    settings.retention_days = None;
    settings.retention_bytes = Some(10_000);
    while writer.prune(now, &settings).unwrap() == Pruned::More {}
    let found = verified(&url, &[before]);
    assert!((10..45).contains(&found.records) && kinds(&found).is_empty(), "{found:?}");

    let trail = Trail::start(writer, options()).unwrap();
    let odd = Record::new(call_id(9, 9), Timestamp(9000), "a\0b\u{1b}[2J", ResultKind::Refused);
    runtime.block_on(trail.record(&odd)).unwrap();
    let row = PostgresReader::open(&url).unwrap().call(&call_id(9, 9).to_string()).unwrap().unwrap();
    assert_eq!(row.body.text(Column::Tool), Some("a\u{FFFD}b\u{1b}[2J"));
    assert_eq!(kinds(&verified(&url, &[])), []);
}

#[test]
fn an_end_that_is_cut_off_is_noticed_by_the_instance_that_wrote_it() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "cut");
    init_postgres(&url).unwrap();
    let mut writer = store(&url);
    let bodies: Vec<_> = (0..5).map(body).collect();
    writer.append(&bodies.iter().collect::<Vec<_>>(), &options()).unwrap();
    let cut = "delete from callgate_audit where seq > 2;
               update callgate_audit_store set (seq, hash) = (select seq, hash from callgate_audit where seq = 2)";
    execute(&runtime, &url, cut);
    let error = writer.append(&[&body(9)], &options()).unwrap_err();
    assert!(error.message.contains("cut off"), "{error}");
    // Another instance makes the numbers right again, but not the hashes.
    store(&url).append(&bodies.iter().collect::<Vec<_>>(), &options()).unwrap();
    let error = writer.append(&[&body(9)], &options()).unwrap_err();
    assert!(error.message.contains("exchanged"), "{error}");
    assert_eq!(verified(&url, &[]).records, 7);
}

#[test]
fn a_reader_does_not_wait_for_a_lock_without_end() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "readerlock");
    init_postgres(&url).unwrap();
    let (client, connection) = runtime.block_on(tokio_postgres::connect(&url, NoTls)).unwrap();
    runtime.spawn(connection);
    runtime
        .block_on(client.batch_execute("begin; lock table callgate_audit_store in access exclusive mode"))
        .unwrap();
    let mut reader = PostgresReader::open(&url).unwrap().with_patience(Duration::from_millis(200));
    assert!(reader.head().unwrap_err().to_string().contains("in time"));
}

#[test]
fn every_refusal_of_a_flood_is_accounted_for_and_a_forged_checkpoint_is_not_obeyed() {
    let runtime = Runtime::new().unwrap();
    let url = place(&runtime, "flood");
    init_postgres(&url).unwrap();
    let trail = Trail::start(store(&url), options()).unwrap();
    runtime.block_on(super::flood::refuse(&trail, None, Code::Unauthenticated, 2000));
    drop(trail);
    let (own, counted) = super::flood::accounted(&mut PostgresReader::open(&url).unwrap());
    assert_eq!(own + counted, 2000);
    assert!((20..200).contains(&own), "{own}");
    assert_eq!(kinds(&verified(&url, &[])), []);
    let mut options = options();
    options.retention_days = Some(7);
    let mut store = store(&url);
    let now_us = 1_700_000_000_000_000 + 86_400_000_000;
    let hash = head(&url).link.hash;
    let mut forged = super::Body::new("checkpoint", now_us);
    let detail = format!(r#"{{"through":5,"hash":"{hash}","removed":5,"until_us":{}}}"#, now_us - 1_000_000);
    forged.set(Column::Detail, super::Value::Text(detail));
    store.append(&[&forged], &options).unwrap();
    assert_eq!(store.prune(now_us, &options).unwrap(), Pruned::Done);
    assert_eq!(PostgresReader::open(&url).unwrap().after(0, &Filter::default(), 1).unwrap()[0].seq, 1);
}
