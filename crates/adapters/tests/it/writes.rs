//! Writing to real SQLite files and a real PostgreSQL server: the effect and its key commit together, or neither.

use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::{postgres, sqlite};
use callgate_core::contract::digest::{Digest, InputDigest};
use callgate_core::port::{
    Bind, Class, Column, EffectKey, Form, Known, NullForm, Statement, Write, WriteError, WriteSource,
    WriteStep, Written,
};
use callgate_core::receipt::CallId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::store::{Kind, admin, postgres_url, store};

const TABLES: &str =
    "create table ticket (id text primary key, title text not null, version integer not null);
    create table note (ticket text not null references ticket (id), text text not null)";

/// A source that is written to, and where its tables are.
pub(crate) struct Place {
    source: Arc<dyn WriteSource>,
    kind: Kind,
    place: String,
    _store: crate::store::Store,
}

fn postgres_in(url: &str, schema: &str) -> Arc<postgres::Postgres> {
    let mark = if url.contains('?') { '&' } else { '?' };
    let mut options = postgres::Options::new(format!("{url}{mark}options=-csearch_path%3D{schema}"));
    options.writes = true;
    options.connection_wait = Duration::from_secs(20);
    Arc::new(postgres::Postgres::new(&options).unwrap())
}

fn sqlite_at(path: &str) -> Arc<sqlite::Sqlite> {
    let mut options = sqlite::Options::new(path);
    options.writes = true;
    options.connection_wait = Duration::from_secs(20);
    Arc::new(sqlite::Sqlite::new(options))
}

async fn place(kind: Kind) -> Place {
    let store = store(kind, TABLES).await;
    let place = store.place.clone();
    let source: Arc<dyn WriteSource> = match kind {
        Kind::Sqlite => {
            let source = sqlite_at(&place);
            assert!(!source.is_migrated().await.unwrap());
            assert!(source.migrate().await.unwrap());
            assert!(!source.migrate().await.unwrap(), "it is made once");
            source
        }
        Kind::Postgres => {
            let source = postgres_in(&postgres_url(), &place);
            assert!(!source.is_migrated().await.unwrap());
            assert!(source.migrate().await.unwrap());
            assert!(!source.migrate().await.unwrap(), "it is made once");
            source
        }
    };
    assert!(source.is_migrated().await.unwrap());
    Place { source, kind, place, _store: store }
}

impl Place {
    async fn count(&self, table: &str) -> i64 {
        match self.kind {
            Kind::Sqlite => rusqlite::Connection::open(&self.place)
                .unwrap()
                .query_row(&format!("select count(*) from {table}"), [], |row| row.get(0))
                .unwrap(),
            Kind::Postgres => {
                let sql = format!("select count(*) from {}.{table}", self.place);
                admin().await.query_one(&sql, &[]).await.unwrap().get(0)
            }
        }
    }
}

fn step(sql: &str, min_rows: u64, max_rows: u64) -> WriteStep {
    let statement = Statement { sql: sql.to_owned(), columns: Vec::new(), key: Vec::new() };
    WriteStep { statement, min_rows, max_rows }
}

fn column(name: &str, class: Class, form: Form) -> Column {
    Column { name: name.to_owned(), class, form, null: NullForm::Refused }
}

fn create() -> WriteStep {
    step("insert into ticket (id, title, version) values (:id, :title, 1)", 1, 1)
}

fn call(number: u64) -> CallId {
    CallId::new(number, &[7; 10])
}

fn key(name: &str) -> EffectKey {
    EffectKey(Digest::of_bytes(name.as_bytes()))
}

fn write(steps: Vec<WriteStep>, name: &str, number: u64, values: &[(&str, &str)]) -> Write {
    let text = format!("{values:?}");
    Write {
        steps: steps.into(),
        values: values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Bind::Text((*value).to_owned())))
            .collect(),
        key: key(name),
        call: call(number),
        input: InputDigest(Digest::of_bytes(text.as_bytes())),
        max_bytes: 10_000,
        deadline: Instant::now() + Duration::from_secs(20),
    }
}

macro_rules! both {
    ($($name:ident($place:ident) $body:block)*) => {
        $(mod $name {
            use super::*;
            async fn run($place: Place) $body
            #[tokio::test]
            async fn sqlite() { run(place(Kind::Sqlite).await).await; }
            #[tokio::test]
            async fn postgres() { run(place(Kind::Postgres).await).await; }
        })*
    };
}

both! {
    a_statement_that_fails_in_the_middle_leaves_nothing_not_even_the_key(place) {
        let steps = vec![create(), step("insert into note (ticket, text) values (:missing, :title)", 1, 1), create()];
        let values = [("id", "t1"), ("title", "one"), ("missing", "none")];
        let error = place.source.write(write(steps, "a", 1, &values)).await.unwrap_err();
        assert!(matches!(error, WriteError::Constraint { .. }), "{error:?}");
        assert!(error.proves_nothing_done());
        assert_eq!((place.count("ticket").await, place.count("callgate_effects").await), (0, 0));
        // The same key is free.
        let done = place.source.write(write(vec![create()], "a", 2, &[("id", "t1"), ("title", "one")])).await;
        assert_eq!(done.unwrap().changed, 1);
    }

    a_repeated_key_gives_what_was_done_and_another_input_is_a_conflict(place) {
        let mut returning = step("insert into ticket (id, title, version) values (:id, :title, 1) returning id, version", 1, 1);
        returning.statement.columns =
            vec![column("id", Class::Text, Form::String), column("version", Class::Integer, Form::Integer)];
        let values = [("id", "t1"), ("title", "one")];
        let steps = vec![returning];
        let first = place.source.write(write(steps.clone(), "a", 1, &values)).await.unwrap();
        assert_eq!(first, Written { rows: r#"[{"id":"t1","version":1}]"#.to_owned(), changed: 1, before: false });
        let second = place.source.write(write(steps.clone(), "a", 2, &values)).await.unwrap();
        assert_eq!(second, Written { before: true, ..first.clone() });
        let other = place.source.write(write(steps, "a", 3, &[("id", "t2"), ("title", "one")])).await;
        assert_eq!(other.unwrap_err(), WriteError::Conflict);
        assert_eq!(place.count("ticket").await, 1);
        // Whoever asks about the call that did it gets what it did.
        let deadline = Instant::now() + Duration::from_secs(20);
        let known = place.source.settle(key("a"), call(1), deadline).await.unwrap();
        assert_eq!(known, Known::Committed(Written { before: true, ..first }));
    }

    a_call_that_was_given_up_never_comes_through_and_another_one_does(place) {
        let deadline = Instant::now() + Duration::from_secs(20);
        assert_eq!(place.source.settle(key("a"), call(1), deadline).await.unwrap(), Known::Withdrawn);
        assert_eq!(place.source.settle(key("a"), call(1), deadline).await.unwrap(), Known::Withdrawn);
        let values = [("id", "t1"), ("title", "one")];
        let late = place.source.write(write(vec![create()], "a", 1, &values)).await;
        assert_eq!(late.unwrap_err(), WriteError::Withdrawn);
        assert_eq!(place.count("ticket").await, 0);
        assert!(!place.source.write(write(vec![create()], "a", 2, &values)).await.unwrap().before);
        assert_eq!(place.count("ticket").await, 1);
    }

    a_statement_may_change_as_many_rows_as_its_bounds_say_and_no_others(place) {
        for id in ["t1", "t2", "t3"] {
            place.source.write(write(vec![create()], id, 1 + u64::from(id.as_bytes()[1]), &[("id", id), ("title", "x")])).await.unwrap();
        }
        let update = |min, max| step("update ticket set version = version + 1 where title = :title", min, max);
        for (number, (min, max, title, allowed)) in [
            (3, 3, "x", true), (0, 2, "x", false), (4, 9, "x", false), (0, 3, "x", true), (1, 1, "none", false), (0, 0, "none", true),
        ].into_iter().enumerate() {
            let name = format!("u{number}");
            let done = place.source.write(write(vec![update(min, max)], &name, 100 + number as u64, &[("title", title)])).await;
            assert_eq!(done.is_ok(), allowed, "{min} {max} {title}: {done:?}");
            if let Err(error) = done {
                assert!(matches!(error, WriteError::Rows { statement: 0, .. }), "{error:?}");
            }
        }
        assert_eq!(place.count("ticket where version = 3").await, 3, "two updates were allowed");
    }

    two_writers_with_one_key_do_one_thing(place) {
        let values = [("id", "t1"), ("title", "one")];
        let steps = vec![create()];
        let runs = (1..9).map(|number| place.source.write(write(steps.clone(), "a", number, &values)));
        let done = futures_util::future::join_all(runs).await;
        let fresh = done.iter().filter(|done| !done.as_ref().unwrap().before).count();
        assert_eq!((fresh, place.count("ticket").await), (1, 1));
    }

    statements_that_do_more_than_change_rows_are_refused_at_load(place) {
        for (sql, code) in [
            ("drop table ticket", "sql_writes"),
            ("create table x (a integer)", "sql_writes"),
            ("delete from callgate_effects", "sql_table"),
            ("insert into ticket select key, call, 1 from CALLGATE_EFFECTS", "sql_table"),
            ("insert into ticket (id) values (:id); delete from ticket", "sql_statements"),
        ] {
            let error = place.source.prepare_write(sql).await.unwrap_err();
            let callgate_core::port::SourceError::Statement(faults) = error else { panic!("{sql}: {error:?}") };
            assert!(faults.iter().any(|fault| fault.code == code), "{sql}: {faults:?}");
        }
        for sql in ["insert into ticket (id, title, version) values (:id, :title, 1) returning id",
            "update ticket set title = :title where id = :id and version = :version",
            "delete from ticket where id = :id", "select id from ticket where id = :id"] {
            place.source.prepare_write(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        }
    }
}

/// Passes bytes on to the server until it has seen a commit leave; then it passes the commit on or not, and cuts.
async fn cutting_proxy(passes_commit: bool) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config: tokio_postgres::Config = postgres_url().parse().unwrap();
    let tokio_postgres::config::Host::Tcp(host) = config.get_hosts()[0].clone() else { panic!("not TCP") };
    let server = format!("{host}:{}", config.get_ports()[0]);
    tokio::spawn(async move {
        let mut cut = false;
        while let Ok((client, _)) = listener.accept().await {
            let up = TcpStream::connect(&server).await.unwrap();
            if cut {
                let (mut client, mut up) = (client, up);
                tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut up).await });
                continue;
            }
            let (mut client_in, mut client_out) = client.into_split();
            let (mut up_in, mut up_out) = up.into_split();
            let back = tokio::spawn(async move { tokio::io::copy(&mut up_in, &mut client_out).await });
            let mut buffer = vec![0; 65_536];
            while let Ok(length @ 1..) = client_in.read(&mut buffer).await {
                let bytes = &buffer[..length];
                if bytes.windows(7).any(|window| window == b"commit\0") {
                    // The answer must not get back: the way back ends before the commit is passed on.
                    back.abort();
                    let _ = back.await;
                    if passes_commit {
                        up_out.write_all(bytes).await.unwrap();
                        tokio::time::sleep(Duration::from_millis(300)).await;
                    }
                    cut = true;
                    break;
                }
                up_out.write_all(bytes).await.unwrap();
            }
        }
    });
    address
}

#[tokio::test]
async fn a_connection_that_is_cut_at_the_commit_is_unknown_until_the_row_tells() {
    for passes in [true, false] {
        let place = place(Kind::Postgres).await;
        let address = cutting_proxy(passes).await;
        let config: tokio_postgres::Config = postgres_url().parse().unwrap();
        let password = String::from_utf8(config.get_password().unwrap_or_default().to_vec()).unwrap();
        let url = format!(
            "postgres://{}:{password}@{address}/{}?sslmode=disable",
            config.get_user().unwrap(),
            config.get_dbname().unwrap()
        );
        let source = postgres_in(&url, &place.place);
        let values = [("id", "t1"), ("title", "one")];
        let error = source.write(write(vec![create()], "a", 1, &values)).await.unwrap_err();
        assert!(matches!(error, WriteError::Unknown { .. }), "{error:?}");
        let deadline = Instant::now() + Duration::from_secs(20);
        let known = source.settle(key("a"), call(1), deadline).await.unwrap();
        assert_eq!(matches!(known, Known::Committed(_)), passes, "{known:?}");
        assert_eq!(place.count("ticket").await, i64::from(passes));
        // A repeat ends with one effect in both cases.
        source.write(write(vec![create()], "a", 2, &values)).await.unwrap();
        assert_eq!(place.count("ticket").await, 1);
    }
}

#[tokio::test]
async fn a_serialization_failure_is_tried_again_because_it_was_rolled_back() {
    let place = place(Kind::Postgres).await;
    let url = postgres_url();
    let mark = if url.contains('?') { '&' } else { '?' };
    let mut options = postgres::Options::new(format!(
        "{url}{mark}options=-csearch_path%3D{}%20-cdefault_transaction_isolation%3Dserializable",
        place.place
    ));
    options.writes = true;
    options.connection_wait = Duration::from_secs(20);
    let source = postgres::Postgres::new(&options).unwrap();
    source.write(write(vec![create()], "t", 1, &[("id", "t1"), ("title", "x")])).await.unwrap();
    let update = || vec![step("update ticket set version = version + 1 where id = :id", 1, 1)];
    let names: Vec<String> = (0..3).map(|number| format!("u{number}")).collect();
    let runs = names
        .iter()
        .zip(10..)
        .map(|(name, number)| source.write(write(update(), name, number, &[("id", "t1")])));
    for done in futures_util::future::join_all(runs).await {
        done.unwrap();
    }
    assert_eq!(place.count("ticket where version = 4").await, 1, "each came through once");
}

#[tokio::test]
async fn a_write_to_a_busy_sqlite_file_ends_in_time_and_changes_nothing() {
    let place = place(Kind::Sqlite).await;
    let other = rusqlite::Connection::open(&place.place).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let mut late = write(vec![create()], "a", 1, &[("id", "t1"), ("title", "one")]);
    late.deadline = Instant::now() + Duration::from_millis(300);
    let error = place.source.write(late).await.unwrap_err();
    assert!(error.proves_nothing_done(), "{error:?}");
    other.execute_batch("rollback").unwrap();
    assert_eq!(place.count("ticket").await, 0);
    // The connection is free again, and the key with it.
    place.source.write(write(vec![create()], "a", 2, &[("id", "t1"), ("title", "one")])).await.unwrap();
    assert_eq!(place.count("ticket").await, 1);
}
