//! The audit trail of a configuration: opened once for a gate, or read for people.
//!
//! A trail outlives every reload, because the end of its chain must not be known in two places. The gate
//! opens it for writing, the command line for reading.

use std::path::Path;

use callgate_adapters::audit::{
    self, Body, Failure, PostgresReader, PostgresStore, Reader, Retention, SqliteReader, SqliteStore,
    Store as _, StoreError, Trail,
};

use crate::build::read_url;
use crate::config::{
    AuditTable, Config, Durability, Finding, Limits, OnFailure, Report, nearest, parse, read_text,
};

/// Opens the trail of a configuration, if it has one.
pub(crate) fn open(
    config: &Config,
    directory: &Path,
    server: (&str, &str),
) -> Result<Option<Trail>, Finding> {
    let Some(table) = &config.audit else { return Ok(None) };
    let options = options(table, server);
    let refused = |message: String, remedy: String| {
        Finding::error("audit_unwritable", message, remedy).at(table.place.clone())
    };
    let started = if let Some(path) = &table.path {
        Trail::start(SqliteStore::new(directory.join(path.as_str())), options)
    } else if let Some(url) = &table.url {
        let (url, _file) = read_url(url, directory);
        let url = url.map_err(|finding| finding.at(table.place.clone()))?;
        let store = PostgresStore::new(&url).map_err(|error| refused(error.message, error.remedy))?;
        Trail::start(store, options)
    } else {
        // A table without a place has an error and never gets here.
        return Ok(None);
    };
    match started {
        Ok(trail) => Ok(Some(trail)),
        Err(error) => {
            let message = error.to_string();
            Err(refused(message, error.remedy))
        }
    }
}

fn options(table: &AuditTable, (server, version): (&str, &str)) -> audit::Options {
    let mut options = audit::Options::new(server, version);
    options.on_failure = match table.on_failure.as_deref() {
        Some(OnFailure::ServeReads) => audit::OnFailure::ServeReads,
        Some(OnFailure::Refuse) | None => audit::OnFailure::Refuse,
    };
    options.durability = match table.durability.as_deref() {
        Some(Durability::Normal) => audit::Durability::Normal,
        Some(Durability::Full) | None => audit::Durability::Full,
    };
    options.retention_days = table.retention_days.as_ref().and_then(|days| u32::try_from(**days).ok());
    options.retention_bytes = table.retention_bytes.as_ref().map(|bytes| **bytes);
    options
}

/// The trail that a configuration names, for reading. Only the table `[audit]` need be right.
pub struct Reading {
    config: Config,
    directory: std::path::PathBuf,
}

/// Why the trail of a configuration cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadingError {
    /// The configuration cannot be read, or has no usable `[audit]`.
    #[error("{0}")]
    Configuration(Report),
    /// The trail cannot be read.
    #[error(transparent)]
    Trail(#[from] Failure),
}

impl Reading {
    /// Finds the trail of a configuration.
    ///
    /// # Errors
    /// The file cannot be read, or does not say where its trail is.
    pub fn of(path: &Path) -> Result<Self, ReadingError> {
        let limits = Limits::default();
        let text = read_text(path, limits.file_bytes).map_err(|why| {
            let message = format!("{} cannot be read: {why}", path.display());
            let remedy = why.remedy("name the configuration of the server with `--config`");
            ReadingError::Configuration(Report::new(vec![Finding::error("unreadable_file", message, remedy)]))
        })?;
        let (config, findings) = parse(&path.display().to_string(), &text, &limits);
        let placed = config.audit.as_ref().is_some_and(|table| table.path.is_some() || table.url.is_some());
        if !placed {
            let mut findings = findings;
            if findings.is_empty() {
                findings.push(Finding::error(
                    "no_audit",
                    format!(
                        "{} has no table [audit], so its calls are recorded in the log only",
                        path.display()
                    ),
                    "add `[audit]` and under it `path = \"audit.db\"`",
                ));
            }
            return Err(ReadingError::Configuration(Report::new(findings)));
        }
        let directory = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
        Ok(Self { config, directory })
    }

    /// Opens the trail. The answers of a reader are waited for, so it must not be used inside a runtime.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(&self) -> Result<Box<dyn Reader>, ReadingError> {
        let table = self.config.audit.as_ref();
        if let Some(path) = table.and_then(|table| table.path.as_ref()) {
            return Ok(Box::new(SqliteReader::open(self.directory.join(path.as_str()))?));
        }
        Ok(Box::new(PostgresReader::open(&self.url()?)?))
    }

    /// Makes the trail where there is none, and gives the id of its store.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn init(&self) -> Result<String, ReadingError> {
        let unwritable = |message: String| ReadingError::Trail(Failure::Unreachable(message));
        let table = self.config.audit.as_ref();
        if let Some(path) = table.and_then(|table| table.path.as_ref()) {
            let mut store = SqliteStore::new(self.directory.join(path.as_str()));
            let made = store.open(&audit::Options::new("", ""));
            made.map_err(|error| unwritable(format!("{error}; {}", error.remedy)))?;
            return Ok(self.open()?.head()?.id);
        }
        let made = audit::init_postgres(&self.url()?);
        made.map_err(|error| unwritable(format!("{error}; {}", error.remedy)))
    }

    /// Adds one record of something that is no call.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&self, body: &Body) -> Result<(), ReadingError> {
        let unwritable = |error: StoreError| {
            ReadingError::Trail(Failure::Unreachable(format!("{error}; {}", error.remedy)))
        };
        let table = self.config.audit.as_ref();
        let options = table.map_or_else(|| audit::Options::new("", ""), |table| options(table, ("", "")));
        if let Some(path) = table.and_then(|table| table.path.as_ref()) {
            let mut store = SqliteStore::new(self.directory.join(path.as_str()));
            return store.append(&[body], &options).map_err(unwritable);
        }
        let mut store = PostgresStore::new(&self.url()?).map_err(unwritable)?;
        store.append(&[body], &options).map_err(unwritable)
    }

    /// What the file lets be removed, by age and by size.
    #[must_use]
    pub fn retention(&self) -> Retention {
        let Some(table) = self.config.audit.as_ref() else { return Retention::default() };
        let days = table.retention_days.as_ref().and_then(|days| u32::try_from(**days).ok());
        Retention::new(days, table.retention_bytes.as_ref().map(|bytes| **bytes))
    }

    /// The connection string of a trail in PostgreSQL.
    fn url(&self) -> Result<String, ReadingError> {
        let url = self.config.audit.as_ref().and_then(|table| table.url.as_ref());
        let Some(url) = url else { return Err(ReadingError::Configuration(Report::new(Vec::new()))) };
        let (text, _file) = read_url(url, &self.directory);
        text.map_err(|finding| {
            ReadingError::Configuration(Report::new(vec![finding.at(url.place().clone())]))
        })
    }

    /// The configured tool whose name is nearest to one that nobody has.
    #[must_use]
    pub fn nearest_tool(&self, name: &str) -> Option<&str> {
        let known: Vec<&str> = self.config.tool.iter().map(|tool| tool.name.as_str()).collect();
        nearest(name, &known)
    }

    /// Whether the file defines a tool of this name now.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.config.tool.iter().any(|tool| tool.name.as_str() == name)
    }
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("directory", &self.directory).finish_non_exhaustive()
    }
}
