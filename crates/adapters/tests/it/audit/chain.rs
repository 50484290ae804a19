//! Every change of a trail is found, and where it is.

use proptest::prelude::*;
use rusqlite::Connection;

use super::{BreakKind, Filter, Path, Reader, SqliteReader, filled, head, kinds, options, verified, verify};

fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn each_kind_of_change_by_sql_is_found_at_its_record() {
    let cases: &[(&str, &str, BreakKind, i64)] = &[
        ("a value", "update callgate_audit set principal = 'eve' where seq = 7", BreakKind::Altered, 7),
        ("a value removed", "update callgate_audit set detail = null where seq = 1", BreakKind::Altered, 1),
        ("a number", "update callgate_audit set time_us = time_us + 1 where seq = 40", BreakKind::Altered, 40),
        ("a hash", "update callgate_audit set hash = zeroblob(32) where seq = 8", BreakKind::Altered, 8),
        ("a link", "update callgate_audit set previous = zeroblob(32) where seq = 9", BreakKind::Unlinked, 9),
        ("deleted", "delete from callgate_audit where seq between 11 and 13", BreakKind::Missing, 11),
        ("the beginning", "delete from callgate_audit where seq < 5", BreakKind::Beginning, 1),
        ("the end", "delete from callgate_audit where seq > 30", BreakKind::Truncated, 31),
        (
            "exchanged",
            "update callgate_audit set seq = -1 where seq = 20; update callgate_audit set seq = 20 where seq = 21;
             update callgate_audit set seq = 21 where seq = -1",
            BreakKind::Unlinked,
            20,
        ),
        ("another store", "update callgate_audit_store set id = 'x'", BreakKind::Unlinked, 1),
        (
            "the end and its note",
            "delete from callgate_audit where seq > 30; update callgate_audit_store set seq = 30",
            BreakKind::Head,
            30,
        ),
    ];
    for (name, sql, kind, seq) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.db");
        drop(filled(&path, 40, &options()));
        assert_eq!(kinds(&verified(&path, &[])), [], "{name}");
        change(&path, sql);
        let found = verified(&path, &[]);
        let first = found.breaks.first().unwrap_or_else(|| panic!("{name} was not found"));
        assert_eq!((first.kind, first.seq), (*kind, Some(*seq)), "{name}: {found:?}");
    }
}

#[test]
fn a_rebuilt_chain_is_found_with_an_exported_head() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("audit.db"), directory.path().join("other.db"));
    let mut store = filled(&path, 20, &options());
    let exported = head(&path);
    // Whoever can write the store can cut the end off and go on as if nothing had been there.
    let cut = "delete from callgate_audit where seq > 15;
               update callgate_audit_store set (seq, hash) = (select seq, hash from callgate_audit where seq = 15)";
    change(&path, cut);
    assert_eq!(kinds(&verified(&path, &[])), []);
    assert_eq!(kinds(&verified(&path, std::slice::from_ref(&exported))), [BreakKind::Truncated]);
    let bodies: Vec<_> = (100..110).map(super::body).collect();
    let bodies: Vec<_> = bodies.iter().collect();
    // The process that wrote what is gone notices it; one that starts afterwards cannot know.
    let refused = super::Store::append(&mut store, &bodies, &options()).unwrap_err();
    assert!(refused.message.contains("was cut off: record 20 was written, and the last is 15"), "{refused}");
    drop(store);
    let mut store = super::SqliteStore::new(&path);
    super::Store::open(&mut store, &options()).unwrap();
    super::Store::append(&mut store, &bodies, &options()).unwrap();
    assert_eq!(kinds(&verified(&path, &[])), []);
    assert_eq!(kinds(&verified(&path, std::slice::from_ref(&exported))), [BreakKind::Head]);
    drop(filled(&other, 20, &options()));
    assert_eq!(kinds(&verified(&other, &[exported])), [BreakKind::Foreign]);
}

/// The rows as they are read, or nothing where they cannot be.
fn content(path: &Path) -> Option<Vec<callgate_adapters::audit::Row>> {
    let mut reader = SqliteReader::open(path).ok()?;
    reader.head().ok()?;
    reader.after(0, &Filter::default(), 1_000_000).ok()
}

#[test]
fn a_flipped_byte_anywhere_in_the_file_is_found_or_carries_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("audit.db"), directory.path().join("copy.db"));
    drop(filled(&path, 60, &options()));
    // A file without a log beside it: everything is in its pages.
    change(&path, "pragma wal_checkpoint(truncate); pragma journal_mode = delete");
    let bytes = std::fs::read(&path).unwrap();
    let before = content(&path).unwrap();
    let (mut found, mut empty) = (0_usize, 0_usize);
    // A prime step meets every page and every part of a record.
    for at in (0..bytes.len()).step_by(37) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(&copy, &changed).unwrap();
        let broken = match SqliteReader::open(&copy) {
            Ok(mut reader) => match verify(&mut reader, &[], 100) {
                Ok(verified) => !verified.breaks.is_empty(),
                Err(_) => true,
            },
            Err(_) => true,
        };
        if broken {
            found += 1;
        } else {
            empty += 1;
            assert_eq!(content(&copy).as_ref(), Some(&before), "byte {at} was changed and not found");
        }
    }
    assert!(found > 200, "{found} found, {empty} without content");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_change_of_any_column_of_any_record_is_found(
        count in 1_i64..30,
        at in 0_usize..1000,
        column in 0_usize..24,
        text in "[a-z]{1,6}",
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.db");
        drop(filled(&path, count, &options()));
        prop_assert_eq!(kinds(&verified(&path, &[])), []);
        let seq = i64::try_from(at).unwrap() % count + 1;
        let column = callgate_adapters::audit::Column::ALL[column];
        let value = match column.shape() {
            callgate_adapters::audit::Shape::Text => format!("coalesce({}, '') || '{text}'", column.name()),
            callgate_adapters::audit::Shape::Integer => format!("coalesce({}, 0) + 1", column.name()),
            _ => "randomblob(32)".to_owned(),
        };
        change(&path, &format!("update callgate_audit set {} = {value} where seq = {seq}", column.name()));
        let found = verified(&path, &[]);
        prop_assert_eq!(kinds(&found), [BreakKind::Altered]);
        prop_assert_eq!(found.breaks[0].seq, Some(seq));
    }
}
