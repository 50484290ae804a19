//! `[source.*]`: the stores that tools read from.
//!
//! A connection string with a password must never stand in the file; it comes from the environment or
//! from a file of its own. The loader reads these tables, the build step opens the stores.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::finding::Finding;
use super::located::Located;
use super::reader::Table;
use super::secret::has_password;

mod http;
mod repository;

pub(crate) use http::bare;
pub use http::{CredentialKind, CredentialTable, HttpSource, Sent};
pub use repository::RepositorySource;

/// A store that tools read from.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Source {
    /// A SQLite file.
    Sqlite(SqliteSource),
    /// A PostgreSQL database.
    Postgres(PostgresSource),
    /// Directories of source code.
    Repository(RepositorySource),
    /// A service that is reached over HTTP.
    Http(Box<HttpSource>),
}

/// A SQLite file, opened read-only unless it says that tools may change rows.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SqliteSource {
    /// `sqlite`
    #[schemars(with = "SqliteKind")]
    pub kind: Located<Kind>,
    /// The file, relative to the directory of `callgate.toml`.
    #[schemars(required)]
    pub path: Option<Located<String>>,
    /// True when each row belongs to a tenant: a tool on this source must bind `:tenant`. Default: false.
    pub tenant_scoped: Option<Located<bool>>,
    /// True when tools may change rows; `callgate migrate` then adds a table for the keys of effects. Default: false.
    pub writes: Option<Located<bool>>,
    /// How many connections are open at most. Default: 4.
    #[schemars(range(min = 1, max = 64))]
    pub connections: Option<Located<u64>>,
    /// How long a query waits for a writer of another process, in milliseconds. Default: 1,000.
    #[schemars(range(min = 0, max = 60_000))]
    pub busy_timeout_ms: Option<Located<u64>>,
}

/// A PostgreSQL database, used in read-only transactions unless it says that tools may change rows.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PostgresSource {
    /// `postgres`
    #[schemars(with = "PostgresKind")]
    pub kind: Located<Kind>,
    /// Where the database is. A URL with a password comes from the environment or a file.
    #[schemars(required)]
    pub url: Option<Located<ConnectionUrl>>,
    /// True when each row belongs to a tenant: a tool on this source must bind `:tenant`. Default: false.
    pub tenant_scoped: Option<Located<bool>>,
    /// True when tools may change rows; `callgate migrate` then adds a table for the keys of effects. Default: false.
    pub writes: Option<Located<bool>>,
    /// How many connections are open at most. Default: 8.
    #[schemars(range(min = 1, max = 256))]
    pub connections: Option<Located<u64>>,
    /// How long one statement may run, in milliseconds. Default: 30,000.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub statement_timeout_ms: Option<Located<u64>>,
    /// How long connecting may take, in milliseconds. Default: 5,000.
    #[schemars(range(min = 1, max = 60_000))]
    pub connect_timeout_ms: Option<Located<u64>>,
}

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `sqlite`
    Sqlite,
    /// `postgres`
    Postgres,
    /// `repository`
    Repository,
    /// `http`
    Http,
}

/// Where a connection string is found.
#[derive(Clone, PartialEq, Eq)]
pub enum ConnectionUrl {
    /// `env:NAME`: in the environment variable of that name.
    Env(String),
    /// `file:PATH`: in a file, relative to the directory of `callgate.toml`.
    File(String),
    /// In the configuration itself, which is possible only without a password.
    Plain(String),
}

impl fmt::Debug for ConnectionUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Plain(_) => f.write_str("postgres://(not shown)"),
        }
    }
}

const KINDS: &[(&str, Kind)] = &[
    ("sqlite", Kind::Sqlite),
    ("postgres", Kind::Postgres),
    ("repository", Kind::Repository),
    ("http", Kind::Http),
];

impl Source {
    /// Whether a tool on this source must bind the tenant of its caller.
    #[must_use]
    pub fn tenant_scoped(&self) -> bool {
        let flag = match self {
            Self::Sqlite(source) => &source.tenant_scoped,
            Self::Postgres(source) => &source.tenant_scoped,
            Self::Http(source) => &source.tenant_scoped,
            // A project is an argument that policy decides on, not a part of a tenant.
            Self::Repository(_) => return false,
        };
        flag.as_ref().is_some_and(|flag| **flag)
    }

    /// Whether tools may change rows.
    pub(crate) fn writes(&self) -> bool {
        let flag = match self {
            Self::Sqlite(source) => &source.writes,
            Self::Postgres(source) => &source.writes,
            Self::Repository(_) | Self::Http(_) => return false,
        };
        flag.as_ref().is_some_and(|flag| **flag)
    }

    /// Where the data is, as the file says it: two sources with the same answer read the same store.
    pub(crate) fn place_of_data(&self) -> String {
        match self {
            Self::Sqlite(source) => source.path.as_ref().map(|path| format!("sqlite:{}", path.as_str())),
            Self::Postgres(source) => source.url.as_ref().map(|url| match &**url {
                ConnectionUrl::Env(name) => format!("postgres:env:{name}"),
                ConnectionUrl::File(path) => format!("postgres:file:{path}"),
                ConnectionUrl::Plain(url) => format!("postgres:{url}"),
            }),
            Self::Repository(source) => Some(source.place_of_data()),
            Self::Http(source) => Some(source.place_of_data()),
        }
        .unwrap_or_default()
    }

    pub(super) fn read(mut table: Table<'_, '_>) -> Option<Self> {
        if table.value("kind").is_none() {
            table.missing("kind", "\"sqlite\"");
            return None;
        }
        let kind = table.choice("kind", KINDS)?;
        let source = match *kind {
            Kind::Sqlite => Self::Sqlite(SqliteSource {
                kind,
                path: table.required_string("path", "\"billing.db\""),
                tenant_scoped: table.boolean("tenant_scoped"),
                writes: table.boolean("writes"),
                connections: table.integer("connections", 1..=64),
                busy_timeout_ms: table.integer("busy_timeout_ms", 0..=60_000),
            }),
            Kind::Postgres => Self::Postgres(PostgresSource {
                kind,
                url: read_url(&mut table),
                tenant_scoped: table.boolean("tenant_scoped"),
                writes: table.boolean("writes"),
                connections: table.integer("connections", 1..=256),
                statement_timeout_ms: table.integer("statement_timeout_ms", 1..=3_600_000),
                connect_timeout_ms: table.integer("connect_timeout_ms", 1..=60_000),
            }),
            Kind::Repository => Self::Repository(RepositorySource::read(kind, &mut table)),
            Kind::Http => Self::Http(Box::new(HttpSource::read(kind, &mut table))),
        };
        table.finish();
        Some(source)
    }
}

pub(super) fn read_url(table: &mut Table<'_, '_>) -> Option<Located<ConnectionUrl>> {
    let text = table.required_string("url", "\"env:DATABASE_URL\"")?;
    let url = if let Some(name) = text.strip_prefix("env:") {
        Ok(ConnectionUrl::Env(name.to_owned()))
    } else if let Some(path) = text.strip_prefix("file:") {
        Ok(ConnectionUrl::File(path.to_owned()))
    } else if has_password(&text) {
        Err(Finding::error(
            "secret_in_file",
            format!("`url` of {} has a password in it", table.name()),
            "put the URL into an environment variable and write `url = \"env:DATABASE_URL\"`, or into a \
             file of its own and write `url = \"file:PATH\"`; change the password, because it was written down",
        ))
    } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        Ok(ConnectionUrl::Plain(text.to_string()))
    } else {
        Err(Finding::error(
            "invalid_url",
            format!("`url` of {} is not a reference and not a PostgreSQL URL", table.name()),
            "write `env:NAME`, `file:PATH`, or `postgres://user@host/database` without a password",
        ))
    };
    match url {
        Ok(url) => Some(Located::new(url, text.place().clone())),
        Err(finding) => {
            table.reading().report(text.place().span(), finding);
            None
        }
    }
}

/// Stands for the word `sqlite` in the generated schema.
struct SqliteKind;

impl JsonSchema for SqliteKind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SqliteKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": "sqlite" })
    }
}

/// Stands for the word `postgres` in the generated schema.
struct PostgresKind;

impl JsonSchema for PostgresKind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PostgresKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": "postgres" })
    }
}

impl JsonSchema for ConnectionUrl {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ConnectionUrl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(env:|file:|postgres(ql)?://)",
            "description": "`env:NAME`, `file:PATH`, or a URL without a password",
            "examples": ["env:DATABASE_URL", "file:/run/secrets/database-url", "postgres://reader@localhost/billing"]
        })
    }
}
