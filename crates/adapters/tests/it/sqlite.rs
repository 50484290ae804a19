//! What is particular to SQLite.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_adapters::sqlite::{Options, Sqlite};
use callgate_core::port::{Class, Form, QueryError, QuerySource, SourceError, Statement};

use crate::store::{Kind, column, query, store, text};

#[tokio::test]
async fn statistics_of_tables_do_not_get_in_the_way() {
    let store =
        store(Kind::Sqlite, "create table t (a primary key); insert into t values (1); analyze").await;
    assert_eq!(store.json("select a from t where a > 0", &[]).await, r#"[{"a":1}]"#);
}

#[tokio::test]
async fn nothing_that_reaches_outside_the_file_compiles() {
    let store = store(Kind::Sqlite, "create table t (a)").await;
    for (sql, code) in [
        ("select load_extension('x') as a", "sql_function"),
        ("select writefile('x', 'y') as a", "sql_syntax"),
        ("attach database ':memory:' as other", "sql_writes"),
        ("pragma query_only = 0", "sql_writes"),
        ("select * from pragma_database_list", "sql_table"),
        ("select sql from sqlite_master", "sql_table"),
        ("select count(*) as n from sqlite_schema", "sql_table"),
        ("select name from main.\"SQLITE_MASTER\"", "sql_table"),
        ("select t.a from t where exists (select 1 from sqlite_temp_master)", "sql_table"),
        ("begin immediate", "sql_writes"),
        ("vacuum into 'copy.db'", "sql_writes"),
        ("explain select 1 as a", "sql_writes"),
        ("with x as (select 1) insert into t select * from x", "sql_writes"),
        ("select \"no_such_column\" as a from t", "sql_syntax"),
        ("select sqlite_version() as v", "sql_function"),
    ] {
        let fault = store.fault(sql).await;
        assert_eq!(fault.code, code, "{sql}: {}", fault.message);
    }
}

#[tokio::test]
async fn a_view_whose_trigger_would_write_stays_unwritten_by_reading() {
    let tables = "create table log (a); create table t (a); insert into t values (1);
                  create view v as select a from t;
                  create trigger tr instead of insert on v begin insert into log values (1); end;";
    let store = store(Kind::Sqlite, tables).await;
    assert_eq!(store.json("select a from v", &[]).await, r#"[{"a":1}]"#);
    assert_eq!(store.fault("insert into v values (2)").await.code, "sql_writes");
}

#[tokio::test]
async fn storage_classes_take_their_declared_forms() {
    let store = store(Kind::Sqlite, "create table t (a)").await;
    let sql =
        "select 12.5 as real, '0.10' as decimal, x'00ff' as bytes, 1 as flag, '2026-11-30 18:20:21' as at,
               '2026-11-30' as day, '[1,2]' as list, 3 as whole";
    store.prepared(sql).await;
    let form = |name, form| column(name, Class::Unknown, form);
    let columns = vec![
        form("real", Form::Number),
        form("decimal", Form::Number),
        form("bytes", Form::Base64),
        form("flag", Form::Boolean),
        form("at", Form::DateTime),
        form("day", Form::Date),
        form("list", Form::Json),
        form("whole", Form::String),
    ];
    let rows = store.source.query(query(Statement { sql: sql.to_owned(), columns, key: vec![] }, &[])).await;
    assert_eq!(
        rows.unwrap().json,
        r#"[{"real":12.5,"decimal":0.10,"bytes":"AP8=","flag":true,"at":"2026-11-30T18:20:21Z","day":"2026-11-30","list":[1,2],"whole":"3"}]"#
    );
}

#[tokio::test]
async fn a_text_with_a_nul_character_is_a_value_like_any_other() {
    let store = store(Kind::Sqlite, "create table t (a); insert into t values ('a' || char(0) || 'b')").await;
    let found = store.json("select a from t where a = :q", &[("q", text("a\0b"))]).await;
    assert_eq!(found, "[{\"a\":\"a\\u0000b\"}]");
}

#[tokio::test]
async fn a_value_beyond_the_bound_is_refused_by_the_store() {
    let store = store(Kind::Sqlite, "create table t (a)").await;
    let error = store.rows("select zeroblob(100000000) as a", &[]).await.unwrap_err();
    assert_eq!(error, QueryError::RowTooLarge);
}

#[tokio::test]
async fn a_file_that_is_missing_or_no_database_is_named_unreachable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("not-there.db");
    let missing = Sqlite::new(Options::new(&path));
    assert!(matches!(missing.probe().await, Err(SourceError::Unreachable { .. })));
    assert!(!path.exists(), "a missing file is not made");
    std::fs::write(&path, "this is no database, but it is long enough to be looked at as one".repeat(20))
        .unwrap();
    let Err(SourceError::Unreachable { message, .. }) = missing.probe().await else {
        panic!("it was opened")
    };
    assert!(message.contains("not a database"), "{message}");
}

#[tokio::test]
async fn a_file_that_was_replaced_is_read_anew() {
    let store = store(Kind::Sqlite, "create table t (a); insert into t values ('old')").await;
    assert_eq!(store.json("select a from t", &[]).await, r#"[{"a":"old"}]"#);
    let beside = format!("{}.new", store.place);
    let other = rusqlite::Connection::open(&beside).unwrap();
    other.execute_batch("create table t (a); insert into t values ('new')").unwrap();
    drop(other);
    std::fs::rename(beside, &store.place).unwrap();
    assert_eq!(store.json("select a from t", &[]).await, r#"[{"a":"new"}]"#);
}

#[tokio::test]
async fn a_call_waits_for_a_connection_no_longer_than_the_source_says() {
    let store = store(Kind::Sqlite, "create table t (a)").await;
    let mut options = Options::new(&store.place);
    options.connections = 1;
    options.connection_wait = Duration::from_millis(50);
    let source = Arc::new(Sqlite::new(options));
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as c from n";
    let slow = query(store.statement(endless, &[]).await, &[]);
    let quick = store.statement("select a from t", &[]).await;
    let running = Arc::clone(&source);
    let _slow = tokio::spawn(async move { running.query(slow).await });
    let begun = Instant::now();
    // Until the slow call has begun, the quick one succeeds.
    while source.query(query(quick.clone(), &[])).await.is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the slow call never began");
        tokio::task::yield_now().await;
    }
    assert_eq!(source.query(query(quick, &[])).await.unwrap_err(), QueryError::Busy);
    assert!(begun.elapsed() < Duration::from_secs(15), "the deadline is later");
}

#[tokio::test]
async fn full_text_search_is_reading() {
    let tables = "create virtual table notes using fts5(reference, body);
                  insert into notes values ('A-1', 'late delivery of chairs'), ('A-2', 'paid in full')";
    let store = store(Kind::Sqlite, tables).await;
    let sql = "select reference, snippet(notes, 1, '[', ']', '...', 4) as found from notes where notes match :q order by rank";
    for _ in 0..2 {
        let found = store.json(sql, &[("q", text("chairs"))]).await;
        assert_eq!(found, r#"[{"reference":"A-1","found":"late delivery of [chairs]"}]"#);
    }
    assert_eq!(store.fault("insert into notes values ('x', 'y')").await.code, "sql_writes");
    for pragma in ["pragma data_version = 1", "pragma data_version", "pragma main.data_version"] {
        assert_eq!(store.fault(pragma).await.code, "sql_writes", "{pragma}");
    }
}

#[tokio::test]
async fn a_file_in_wal_mode_is_read_while_it_is_written() {
    let tables = "pragma journal_mode = wal; create table t (a); insert into t values (1)";
    let store = store(Kind::Sqlite, tables).await;
    let writer = rusqlite::Connection::open(&store.place).unwrap();
    writer.execute_batch("begin immediate; insert into t values (2)").unwrap();
    assert_eq!(store.json("select count(*) as n from t", &[]).await, r#"[{"n":1}]"#);
    writer.execute_batch("commit").unwrap();
    assert_eq!(store.json("select count(*) as n from t", &[]).await, r#"[{"n":2}]"#);
}

#[tokio::test]
async fn the_inside_of_a_json_value_can_be_queried() {
    let store = store(Kind::Sqlite, "create table t (a); insert into t values ('{\"x\": [1, 2]}')").await;
    let sql = "select e.value as v, t.a ->> '$.x[0]' as first from t, json_each(t.a, '$.x') as e order by 1";
    assert_eq!(store.json(sql, &[]).await, r#"[{"v":1,"first":1},{"v":2,"first":1}]"#);
}

/// Counts how often the one thread of the runtime came by while something else went on.
fn counter() -> Arc<std::sync::atomic::AtomicU64> {
    let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    count
}

#[tokio::test]
async fn a_query_that_is_not_brief_leaves_the_thread_of_its_call_to_others() {
    let store = store(Kind::Sqlite, "create table t (a)").await;
    let long = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000) select max(i) as c from n";
    let (long, brief) =
        (store.statement(long, &[]).await, store.statement("select count(*) as c from t", &[]).await);
    // A connection is open, so both may be tried where they are called.
    assert_eq!(store.source.query(query(brief, &[])).await.unwrap().json, r#"[{"c":0}]"#);
    let count = counter();
    let rows = store.source.query(query(long, &[])).await.unwrap();
    assert_eq!(rows.json, r#"[{"c":300000}]"#);
    let passed = count.load(std::sync::atomic::Ordering::Relaxed);
    assert!(passed >= 3, "the thread came by {passed} times");
}

#[tokio::test]
async fn a_file_that_another_process_locks_is_waited_for_beside_the_thread_of_the_call() {
    let store = store(Kind::Sqlite, "create table t (a)").await;
    let brief = store.statement("select count(*) as c from t", &[]).await;
    store.source.query(query(brief.clone(), &[])).await.unwrap();
    let writer = rusqlite::Connection::open(&store.place).unwrap();
    writer.execute_batch("begin exclusive; insert into t values (1)").unwrap();
    let count = counter();
    let (rows, ()) = tokio::join!(store.source.query(query(brief, &[])), async {
        while count.load(std::sync::atomic::Ordering::Relaxed) < 20 {
            tokio::task::yield_now().await;
        }
        writer.execute_batch("commit").unwrap();
    });
    assert_eq!(rows.unwrap().json, r#"[{"c":1}]"#);
}
