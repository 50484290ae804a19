//! What is too old leaves at the beginning, and the chain says so.

use callgate_adapters::audit::Pruned;

use super::{
    BreakKind, Column, Filter, Options, Reader as _, SqliteReader, Store as _, filled, head, kinds, options,
    verified,
};

const DAY: i64 = 86_400_000_000;

fn aged(days: u32) -> Options {
    let mut options = options();
    options.retention_days = Some(days);
    options.limits.prune_step = 30;
    options
}

#[test]
fn old_records_are_replaced_by_a_checkpoint_in_bounded_steps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let options = aged(1);
    let mut store = filled(&path, 200, &options);
    let before = head(&path);
    // Record n has the time n - 1 milliseconds, so that the first hundred are older than a day.
    let now = 1_700_000_000_000_000 + DAY + 100 * 1000;
    let mut steps = 0;
    while store.prune(now, &options).unwrap() == Pruned::More {
        steps += 1;
        // At each moment the trail can be verified, and a head exported before still holds.
        assert_eq!(kinds(&verified(&path, std::slice::from_ref(&before))), []);
        assert!(steps < 20);
    }
    assert_eq!(steps, 5, "a checkpoint and four steps of at most 30 records");
    let found = verified(&path, std::slice::from_ref(&before));
    assert_eq!((found.first, found.records, kinds(&found)), (Some(101), 101, vec![]));
    let last = SqliteReader::open(&path).unwrap().after(200, &Filter::default(), 2).unwrap();
    assert_eq!(last[0].body.text(Column::Kind), Some("checkpoint"));
    assert!(last[0].body.text(Column::Detail).unwrap().contains("\"through\":100,"), "{:?}", last[0].body);
    assert_eq!(store.prune(now, &options).unwrap(), Pruned::Done);
    // What the checkpoint does not account for may not be missing.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("delete from callgate_audit where seq = 101").unwrap();
    assert_eq!(kinds(&verified(&path, &[])), [BreakKind::Beginning]);
}

#[test]
fn everything_may_be_too_old_and_the_chain_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let options = aged(1);
    let mut store = filled(&path, 20, &options);
    let early = head(&path);
    for number in 21..=50 {
        store.append(&[&super::body(number)], &options).unwrap();
    }
    let now = 1_700_000_000_000_000 + 3 * DAY;
    while store.prune(now, &options).unwrap() == Pruned::More {}
    // Nothing is left to compare the early head with, and the verification says so.
    let found = verified(&path, &[early]);
    assert_eq!((found.first, found.records, kinds(&found)), (Some(51), 1, vec![]));
    assert_eq!(found.removed.map(|checkpoint| (checkpoint.through.seq, checkpoint.seq)), Some((50, 51)));
    assert_eq!(found.uncompared, 1);
    let later = super::body(99);
    store.append(&[&later], &options).unwrap();
    // The checkpoint itself is kept until a later one replaces it.
    while store.prune(now + DAY / 2, &options).unwrap() == Pruned::More {}
    assert_eq!(kinds(&verified(&path, &[])), []);
}

#[test]
fn a_store_over_its_size_shrinks_below_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut options = options();
    let mut store = filled(&path, 4000, &options);
    let size = |path: &std::path::Path| {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch("pragma wal_checkpoint(truncate)").unwrap();
        std::fs::metadata(path).unwrap().len()
    };
    let before = size(&path);
    options.retention_bytes = Some(before / 2);
    let mut steps = 0;
    while store.prune(1_700_000_000_000_000, &options).unwrap() == Pruned::More {
        steps += 1;
        assert!(steps < 50);
    }
    let after = size(&path);
    assert!(after < before * 6 / 10, "{after} of {before} bytes");
    let found = verified(&path, &[]);
    assert!(found.records > 1000 && kinds(&found).is_empty(), "{found:?}");
}

#[test]
fn a_reader_that_stays_open_does_not_make_the_log_grow() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut options = options();
    options.durability = callgate_adapters::audit::Durability::Normal;
    let mut store = filled(&path, 100, &options);
    let mut reader = SqliteReader::open(&path).unwrap();
    assert_eq!(reader.head().unwrap().end.seq, 100);
    assert_eq!(reader.after(0, &Filter::default(), 10).unwrap().len(), 10);
    for number in 0..2000 {
        store.append(&[&super::body(number)], &options).unwrap();
    }
    let log = std::fs::metadata(directory.path().join("audit.db-wal")).unwrap().len();
    assert!(log < 8 << 20, "{log} bytes");
    assert_eq!(reader.after(10, &Filter::default(), 10).unwrap().len(), 10);
}
