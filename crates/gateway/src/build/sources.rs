//! Opening the sources of a configuration and reaching each of them once.
//!
//! A connection string is read here and nowhere else, and never shown. The build step calls it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::postgres::{self, Postgres};
use callgate_adapters::repository::Repository;
use callgate_adapters::sql::Dialect;
use callgate_adapters::sqlite::{self, Sqlite};
use callgate_core::port::{QuerySource, SourceError, WriteSource};

use super::Built;
use crate::config::{Config, ConnectionUrl, Finding, Located, Place, PostgresSource, Source, SqliteSource};
use crate::files::FileState;

pub(crate) mod http;
mod repository;

/// A source that tools can be judged on.
#[derive(Clone)]
pub(super) enum Ready {
    /// A store that answers queries.
    Database(Database),
    /// Directories that are searched and read.
    Repository(Arc<Repository>),
    /// A service that is sent requests.
    Remote(http::Remote),
}

/// A store that answers queries.
#[derive(Clone)]
pub(super) struct Database {
    pub(super) source: Arc<dyn QuerySource>,
    /// The same store, where rows may be changed.
    pub(super) writes: Option<Arc<dyn WriteSource>>,
    pub(super) dialect: Dialect,
    pub(super) tenant_scoped: bool,
}

/// The sources by name; nothing for one that is in the file and cannot be used.
pub(super) type Opened = BTreeMap<String, Option<Ready>>;

pub(super) async fn open(config: &Config, directory: &Path, built: &mut Built) -> Opened {
    let mut opened = Opened::new();
    for (name, source) in &config.source {
        let scoped = source.tenant_scoped();
        let ready = match source {
            Source::Sqlite(table) => {
                let place = table.path.as_ref().map_or(name.place(), Located::place);
                let made = sqlite(table, directory);
                database(made, name, place, scoped, &mut built.findings).await.map(Ready::Database)
            }
            Source::Postgres(table) => {
                let place = table.url.as_ref().map_or(name.place(), Located::place);
                let made = postgres(table, directory, built);
                database(made, name, place, scoped, &mut built.findings).await.map(Ready::Database)
            }
            Source::Http(table) => http::open(name, table, directory, built).map(Ready::Remote),
            Source::Repository(table) => {
                repository::open(table, directory, &mut built.findings).map(Ready::Repository)
            }
        };
        opened.insert(name.to_string(), ready);
    }
    opened
}

type Made = Option<Result<Database, Finding>>;

async fn database(
    made: Made,
    name: &Located<String>,
    place: &Place,
    tenant_scoped: bool,
    findings: &mut Vec<Finding>,
) -> Option<Database> {
    match made? {
        Ok(database) => {
            let source = probe(database.source, name, place, findings).await?;
            let database = Database { source, tenant_scoped, ..database };
            if let Some(writes) = &database.writes {
                migrated(writes, name, findings).await?;
            }
            Some(database)
        }
        Err(finding) => {
            findings.push(finding.at(place.clone()));
            None
        }
    }
}

/// The table for the keys of effects must be there; nothing makes it but a migration.
async fn migrated(
    writes: &Arc<dyn WriteSource>,
    name: &Located<String>,
    findings: &mut Vec<Finding>,
) -> Option<()> {
    let finding = match writes.is_migrated().await {
        Ok(true) => return Some(()),
        Ok(false) => Finding::error(
            "source_not_migrated",
            format!("the source `{}` has no table for the keys of effects", name.as_str()),
            "make it with `callgate migrate`; `callgate migrate --dry-run` shows the SQL",
        ),
        Err(error) => unreachable(&error),
    };
    findings.push(finding.at(name.place().clone()));
    None
}

async fn probe(
    source: Arc<dyn QuerySource>,
    name: &Located<String>,
    place: &Place,
    findings: &mut Vec<Finding>,
) -> Option<Arc<dyn QuerySource>> {
    match source.probe().await {
        Ok(advice) => {
            for advice in advice {
                let finding = Finding::warning(advice.code, advice.message, advice.remedy);
                findings.push(finding.at(name.place().clone()));
            }
            Some(source)
        }
        Err(error) => {
            findings.push(unreachable(&error).at(place.clone()));
            None
        }
    }
}

pub(crate) fn unreachable(error: &SourceError) -> Finding {
    match error {
        SourceError::Unreachable { message, remedy } => {
            Finding::error("source_unreachable", message.as_str(), remedy.as_str())
        }
        other => Finding::error(
            "source_unreachable",
            format!("the source cannot be used: {other:?}"),
            "check the source with its own tools",
        ),
    }
}

fn sqlite(table: &SqliteSource, directory: &Path) -> Made {
    let source = Arc::new(Sqlite::new(sqlite_options(table, directory)?));
    let writes = table.writes.as_ref().is_some_and(|writes| **writes);
    let writes = writes.then(|| Arc::clone(&source) as Arc<dyn WriteSource>);
    Some(Ok(Database { source, writes, dialect: Dialect::Sqlite, tenant_scoped: false }))
}

/// How the file of a source is used; nothing where the table has an error.
pub(crate) fn sqlite_options(table: &SqliteSource, directory: &Path) -> Option<sqlite::Options> {
    let path = table.path.as_ref()?;
    let mut options = sqlite::Options::new(directory.join(path.as_str()));
    if let Some(connections) = count(table.connections.as_ref()) {
        options.connections = connections;
    }
    if let Some(timeout) = &table.busy_timeout_ms {
        options.busy_timeout = Duration::from_millis(**timeout);
    }
    options.writes = table.writes.as_ref().is_some_and(|writes| **writes);
    Some(options)
}

fn postgres(table: &PostgresSource, directory: &Path, built: &mut Built) -> Made {
    let (url, file) = read_url(table.url.as_ref()?, directory);
    built.files.extend(file);
    let url = match url {
        Ok(url) => url,
        Err(finding) => return Some(Err(finding)),
    };
    Some(match Postgres::new(&postgres_options(table, url)) {
        Ok(source) => {
            let source = Arc::new(source);
            let writes = table.writes.as_ref().is_some_and(|writes| **writes);
            let writes = writes.then(|| Arc::clone(&source) as Arc<dyn WriteSource>);
            Ok(Database { source, writes, dialect: Dialect::Postgres, tenant_scoped: false })
        }
        Err(error) => Err(unreachable(&error)),
    })
}

/// How the database of a source is used.
pub(crate) fn postgres_options(table: &PostgresSource, url: String) -> postgres::Options {
    let mut options = postgres::Options::new(url);
    if let Some(connections) = count(table.connections.as_ref()) {
        options.connections = connections;
    }
    if let Some(timeout) = &table.statement_timeout_ms {
        options.statement_timeout = Duration::from_millis(**timeout);
    }
    if let Some(timeout) = &table.connect_timeout_ms {
        options.connect_timeout = Duration::from_millis(**timeout);
    }
    options.writes = table.writes.as_ref().is_some_and(|writes| **writes);
    options
}

/// The connection string that a reference stands for, and the file that it came from.
pub(crate) fn read_url(
    url: &ConnectionUrl,
    directory: &Path,
) -> (Result<String, Finding>, Option<FileState>) {
    let mut file = None;
    let text = match url {
        ConnectionUrl::Plain(url) => Ok(url.clone()),
        ConnectionUrl::Env(name) => std::env::var(name).map_err(|_| {
            Finding::error(
                "missing_secret",
                format!("the environment variable `{name}` is not set"),
                "set it to the URL of the database before the server starts",
            )
        }),
        ConnectionUrl::File(path) => {
            let full = directory.join(path);
            file = Some(FileState::now(full.as_path()));
            let text = crate::config::read_text(&full, 8192).map_err(|why| {
                Finding::error(
                    "missing_secret",
                    format!("the file {path:?} with the URL of the database cannot be read: {why}"),
                    why.remedy("write the URL into that file and let only the server read it"),
                )
            });
            text.map(|text| text.trim().to_owned())
        }
    };
    (text, file)
}

fn count(value: Option<&Located<u64>>) -> Option<usize> {
    value.and_then(|value| usize::try_from(**value).ok())
}
