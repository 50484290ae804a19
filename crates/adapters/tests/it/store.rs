//! A store with tables in it, for one test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_adapters::{postgres, sqlite};
use callgate_core::port::{
    Bind, Class, Column, Fault, Form, KeyValue, NullForm, Prepared, Query, QueryError, QuerySource, Rows,
    SortKey, SourceError, Statement,
};
use tokio::time::Instant;
use tokio_postgres::NoTls;

/// A store with tables in it.
pub(crate) struct Store {
    pub(crate) source: Arc<dyn QuerySource>,
    pub(crate) kind: Kind,
    /// Where the tables are: a file, or a schema of PostgreSQL.
    pub(crate) place: String,
    _directory: Option<tempfile::TempDir>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

pub(crate) async fn store(kind: Kind, tables: &str) -> Store {
    match kind {
        Kind::Sqlite => sqlite_store(tables),
        Kind::Postgres => postgres_store(tables).await,
    }
}

fn sqlite_store(tables: &str) -> Store {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    let mut options = sqlite::Options::new(&path);
    options.connections = 2;
    options.connection_wait = Duration::from_secs(20);
    Store {
        source: Arc::new(sqlite::Sqlite::new(options)),
        kind: Kind::Sqlite,
        place: path.to_string_lossy().into_owned(),
        _directory: Some(directory),
    }
}

async fn postgres_store(tables: &str) -> Store {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let schema = format!("t{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let admin = admin().await;
    let setup = format!("create schema {schema}; set search_path = {schema}; {tables}");
    admin.batch_execute(&setup).await.unwrap();
    let url = postgres_url();
    let mark = if url.contains('?') { '&' } else { '?' };
    let mut options = postgres::Options::new(format!("{url}{mark}options=-csearch_path%3D{schema}"));
    options.connections = 2;
    options.connection_wait = Duration::from_secs(20);
    Store {
        source: Arc::new(postgres::Postgres::new(&options).unwrap()),
        kind: Kind::Postgres,
        place: schema,
        _directory: None,
    }
}

pub(crate) fn postgres_url() -> String {
    std::env::var("CALLGATE_TEST_POSTGRES").expect(
        "this test needs a PostgreSQL server: run it with `cargo xtask test`, or set CALLGATE_TEST_POSTGRES to \
         the URL of a superuser of a server that may be filled with test data",
    )
}

pub(crate) async fn admin() -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&postgres_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Store {
    pub(crate) async fn prepared(&self, sql: &str) -> Prepared {
        self.source.prepare(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    pub(crate) async fn fault(&self, sql: &str) -> Fault {
        match self.source.prepare(sql).await {
            Err(SourceError::Statement(faults)) => faults.into_iter().next().unwrap(),
            other => panic!("{sql}: {other:?}"),
        }
    }

    /// The statement with all its columns in their natural form, and NULL shown.
    pub(crate) async fn statement(&self, sql: &str, key: &[(&str, bool)]) -> Statement {
        let prepared = self.prepared(sql).await;
        let column = |name: String, class| Column { name, class, form: Form::Any, null: NullForm::Null };
        let columns = prepared.columns.into_iter().map(|found| column(found.name, found.class)).collect();
        let key = key
            .iter()
            .map(|(name, descending)| SortKey { column: (*name).to_owned(), descending: *descending })
            .collect();
        let statement = Statement { sql: sql.to_owned(), columns, key };
        self.source.check(&statement).await.unwrap();
        statement
    }

    pub(crate) async fn rows(&self, sql: &str, values: &[(&str, Bind)]) -> Result<Rows, QueryError> {
        let statement = self.statement(sql, &[]).await;
        self.source.query(query(statement, values)).await
    }

    pub(crate) async fn json(&self, sql: &str, values: &[(&str, Bind)]) -> String {
        self.rows(sql, values).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json
    }
}

pub(crate) fn query(statement: Statement, values: &[(&str, Bind)]) -> Query {
    Query {
        statement: Arc::new(statement),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        after: None::<Vec<KeyValue>>,
        max_rows: 100,
        max_bytes: 100_000,
        deadline: Instant::now() + Duration::from_secs(20),
    }
}

pub(crate) fn text(text: &str) -> Bind {
    Bind::Text(text.to_owned())
}

pub(crate) fn number(text: &str) -> Bind {
    Bind::Number(text.to_owned())
}

pub(crate) fn column(name: &str, class: Class, form: Form) -> Column {
    Column { name: name.to_owned(), class, form, null: NullForm::Omitted }
}

/// Writes each test once and runs it on both kinds of store.
macro_rules! both {
    ($($(#[$meta:meta])* fn $name:ident($kind:ident: Kind) $body:block)*) => {$(
        mod $name {
            use super::*;

            fn test($kind: Kind) $body

            #[test]
            fn on_sqlite() {
                test(Kind::Sqlite);
            }

            #[test]
            fn on_postgres() {
                test(Kind::Postgres);
            }
        }
    )*};
}
pub(crate) use both;
