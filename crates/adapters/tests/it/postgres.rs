//! What is particular to PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::postgres::{Options, Postgres};
use callgate_core::port::{Bind, Class, Form, NullForm, QueryError, QuerySource, SourceError, Statement};

use crate::store::{Kind, admin, number, postgres_url, query, store, text};

#[tokio::test]
async fn what_writes_locks_waits_or_reaches_outside_is_refused_at_its_place() {
    let tables = "create table t (a int); create function w() returns int language sql as 'select 1';
                  create function s() returns int stable language sql as 'select 1';";
    let store = store(Kind::Postgres, tables).await;
    for (sql, code, at) in [
        ("with x as (delete from t returning a) select a from x", "sql_writes", "delete"),
        ("select a from t for update", "sql_writes", "for"),
        ("select a into x from t", "sql_writes", "into"),
        ("select pg_sleep(10)", "sql_function", "pg_sleep"),
        ("select a, PG_CATALOG.Pg_Sleep(1) from t", "sql_function", "Pg_Sleep"),
        ("select lo_import('/etc/passwd')", "sql_function", "lo_import"),
        ("select set_config('transaction_read_only', 'off', false)", "sql_function", "set_config"),
        ("select nextval('x')", "sql_function", "nextval"),
        ("select pg_advisory_lock(1)", "sql_function", "pg_advisory_lock"),
        ("select * from pg_ls_dir('.')", "sql_function", "pg_ls_dir"),
        ("select 'é', w() as a from t", "sql_function", "w"),
        ("set transaction_read_only = off", "sql_writes", "set"),
        ("copy t to program 'id'", "sql_writes", "copy"),
    ] {
        let fault = store.fault(sql).await;
        assert_eq!((fault.code, fault.at.map(|at| &sql[at])), (code, Some(at)), "{sql}: {}", fault.message);
    }
    store.prepared("select s() as a, now() as b, random() as c, count(*) as d from t").await;
    assert_eq!(store.fault("selct 1").await.code, "sql_unreadable");
}

#[tokio::test]
async fn the_transaction_is_the_barrier_for_what_no_text_shows() {
    let tables = "create table log (a int);
                  create function write_it() returns int language plpgsql as
                    'begin insert into log values (1); return 1; end';
                  create view harmless as select write_it() as a;";
    let store = store(Kind::Postgres, tables).await;
    let error = store.rows("select a from harmless", &[]).await.unwrap_err();
    let QueryError::Failed { detail } = error else { panic!("{error:?}") };
    assert!(detail.contains("25006"), "{detail}");
    let logged = format!("select count(*) from {}.log", store.place);
    assert_eq!(admin().await.query_one(&logged, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn types_take_their_natural_and_exact_forms() {
    let store = store(Kind::Postgres, "create type mood as enum ('glad', 'sad')").await;
    let sql = "select 1::smallint as i2, 9007199254740993::bigint as i8, 12345678901234567890.1230::numeric as n,
        0.1::float8 as f8, true as b, 'é'::text as t, 'x'::char(3) as c, date '2026-11-30' as d,
        timestamptz '2026-11-30 20:20:21.5+02' as at, time '18:20:21' as clock, timetz '18:20:21+02' as zoned,
        uuid '6d7f3c9e-6a06-4b0f-9d1e-0c7c7f0a1b2c' as u, '{\"a\": 1.0}'::json as j, '{\"a\":[9007199254740993]}'::jsonb as jb,
        '\\x00ff'::bytea as by, array[1, null, 3] as arr, array['a,b','\"'] as texts, interval '1 day 2 hours' as iv,
        'sad'::mood as m, '10.0.0.1'::inet as ip, null::int as nothing";
    assert_eq!(
        store.json(sql, &[]).await,
        concat!(
            r#"[{"i2":1,"i8":9007199254740993,"n":12345678901234567890.1230,"f8":0.1,"b":true,"t":"é","c":"x","#,
            r#""d":"2026-11-30","at":"2026-11-30T18:20:21.5Z","clock":"18:20:21","zoned":"18:20:21+02:00","#,
            r#""u":"6d7f3c9e-6a06-4b0f-9d1e-0c7c7f0a1b2c","j":{"a": 1.0},"jb":{"a": [9007199254740993]},"by":"AP8=","#,
            r#""arr":[1,null,3],"texts":["a,b","\""],"iv":"P1DT2H","m":"sad","ip":"10.0.0.1/32","nothing":null}]"#
        )
    );
    let classes: Vec<Class> = store.prepared(sql).await.columns.iter().map(|column| column.class).collect();
    assert_eq!(classes[2], Class::Decimal);
    assert_eq!(classes[8], Class::ZonedTimestamp);
    assert_eq!(classes[15], Class::Json);
}

#[tokio::test]
async fn what_json_has_no_number_for_is_refused() {
    let store = store(Kind::Postgres, "").await;
    for value in ["'NaN'::numeric", "'Infinity'::float8", "'-Infinity'::float4"] {
        let error = store.rows(&format!("select {value} as v"), &[]).await.unwrap_err();
        assert!(matches!(error, QueryError::Form { .. }), "{value}: {error:?}");
    }
    let error = store.rows("select 'infinity'::timestamptz as v", &[]).await.unwrap_err();
    assert!(matches!(error, QueryError::Form { .. }), "{error:?}");
}

#[tokio::test]
async fn decimals_are_compared_digit_for_digit() {
    let tables =
        "create table t (n numeric); insert into t values (0.1), (0.1000000000000000055511151231257827)";
    let store = store(Kind::Postgres, tables).await;
    let sql = "select n from t where n = :n";
    let exact = "0.1000000000000000055511151231257827";
    assert_eq!(store.json(sql, &[("n", number(exact))]).await, format!("[{{\"n\":{exact}}}]"));
    assert_eq!(store.json(sql, &[("n", number("0.1"))]).await, r#"[{"n":0.1}]"#);
}

#[tokio::test]
async fn a_value_that_the_type_does_not_read_is_the_callers_mistake_and_is_not_repeated() {
    let store = store(Kind::Postgres, "create table t (u uuid, d date)").await;
    for sql in ["select u::text as u from t where u = :v", "select d::text as u from t where d = :v"] {
        let error = store.rows(sql, &[("v", text("hunter2"))]).await.unwrap_err();
        assert!(matches!(error, QueryError::Value { .. }), "{error:?}");
        assert!(!format!("{error:?} {error}").contains("hunter2"));
    }
    let error = store.rows("select :v::text as v", &[("v", text("a\0b"))]).await.unwrap_err();
    assert!(matches!(error, QueryError::Value { parameter: Some(_), .. }), "{error:?}");
    let error = store
        .rows("select v from unnest(:v::text[]) as v", &[("v", Bind::Json("[\"\\u0000\"]".into()))])
        .await;
    assert!(matches!(error.unwrap_err(), QueryError::Value { .. }));
}

#[tokio::test]
async fn a_value_too_large_to_send_is_never_read_whole() {
    let store = store(Kind::Postgres, "").await;
    let error = store.rows("select repeat('x', 50000000) as t", &[]).await.unwrap_err();
    assert_eq!(error, QueryError::RowTooLarge);
    let mut statement = store.statement("select decode(repeat('00', 50000), 'hex') as b", &[]).await;
    statement.columns[0].form = Form::Base64;
    let mut query = query(statement, &[]);
    query.max_bytes = 70_000;
    assert_eq!(store.source.query(query).await.unwrap().count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_leaves_takes_the_statement_along() {
    let store = store(Kind::Postgres, "").await;
    let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i > 0)
               select count(*) as left_behind_marker from n";
    let endless = query(store.statement(sql, &[]).await, &[]);
    let source = Arc::clone(&store.source);
    let call = tokio::spawn(async move { source.query(endless).await });
    let admin = admin().await;
    let running =
        "select count(*) from pg_stat_activity where state = 'active' and application_name = 'callgate'
                   and query like '%left_behind_marker%' and pid <> pg_backend_pid()";
    wait_for(&admin, running, 1).await;
    call.abort();
    wait_for(&admin, running, 0).await;
}

async fn wait_for(admin: &tokio_postgres::Client, question: &str, expected: i64) {
    let limit = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let count: i64 = admin.query_one(question, &[]).await.unwrap().get(0);
        if count == expected {
            return;
        }
        assert!(tokio::time::Instant::now() < limit, "still {count}, not {expected}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_statement_cannot_leave_the_read_only_transaction_behind() {
    let store = store(Kind::Postgres, "create table t (a int)").await;
    let settings = "select current_setting('transaction_read_only') as ro, current_setting('timezone') as tz";
    for _ in 0..3 {
        assert_eq!(store.json(settings, &[]).await, r#"[{"ro":"on","tz":"UTC"}]"#);
    }
}

#[tokio::test]
async fn a_statement_is_compiled_again_after_its_table_changed() {
    let store = store(Kind::Postgres, "create table t (a int); insert into t values (1)").await;
    let mut statement = store.statement("select a from t", &[]).await;
    statement.columns[0].null = NullForm::Null;
    assert_eq!(store.source.query(query(statement.clone(), &[])).await.unwrap().json, r#"[{"a":1}]"#);
    let change = format!("alter table {}.t alter column a type bigint", store.place);
    admin().await.batch_execute(&change).await.unwrap();
    // Text is text whatever the column is, so the cached statement still fits.
    assert_eq!(store.source.query(query(statement, &[])).await.unwrap().json, r#"[{"a":1}]"#);
}

#[tokio::test]
async fn a_role_that_could_write_is_advised_against() {
    let admin = admin().await;
    let store = store(Kind::Postgres, "create table t (a int)").await;
    let advice = store.source.probe().await.unwrap();
    assert_eq!(advice[0].code, "source_superuser");
    let (reader, writer) = (format!("{}_reader", store.place), format!("{}_writer", store.place));
    let roles = format!(
        "create role {reader} login password 'callgate'; create role {writer} login password 'callgate';
         grant usage on schema {0} to {reader}, {writer}; grant select on {0}.t to {reader}; grant insert on {0}.t to {writer}",
        store.place
    );
    admin.batch_execute(&roles).await.unwrap();
    for (role, expected) in [(&reader, None), (&writer, Some("source_can_write"))] {
        let url = postgres_url();
        let (_, place) = url.split_once('@').unwrap();
        let url = format!("postgres://{role}:callgate@{place}");
        let advice = Postgres::new(&Options::new(url)).unwrap().probe().await.unwrap();
        assert_eq!(advice.first().map(|advice| advice.code), expected);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_and_its_password_is_not_shown() {
    let source = Postgres::new(&Options::new("postgres://u:hunter2@127.0.0.1:1/db")).unwrap();
    let Err(SourceError::Unreachable { message, .. }) = source.probe().await else {
        panic!("it was reached")
    };
    assert!(!message.contains("hunter2"), "{message}");
    assert!(!format!("{source:?} {:?}", Options::new("postgres://u:hunter2@h/d")).contains("hunter2"));
    let statement = Statement { sql: "select 1 as a".to_owned(), columns: vec![], key: vec![] };
    let error = source.query(query(statement, &[])).await.unwrap_err();
    assert!(matches!(error, QueryError::Unavailable { .. }), "{error:?}");
    assert!(Postgres::new(&Options::new("postgres://u:hunter2@h/d?sslmode=require")).is_err());
    assert!(Postgres::new(&Options::new("not a url")).is_err());
}
