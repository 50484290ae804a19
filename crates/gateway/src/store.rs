//! The store of a configuration: opened once for a gate, judged by the check, migrated by the command line.
//!
//! It outlives every reload: an instance that is heard of must stay the same one. It never makes a table, except
//! when it is told to migrate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::postgres::Postgres;
use callgate_adapters::sqlite::Sqlite;
use callgate_adapters::store::approvals::StoreApprovals;
use callgate_adapters::store::artifacts::StoreArtifacts;
use callgate_adapters::store::handles::StoreHandles;
use callgate_adapters::store::ledger::{Effect, LedgerLimits, StoreLedger};
use callgate_adapters::store::{self, Options, Part, Planned, StoreError};
use callgate_core::keeping::Stores;
use callgate_core::port::{SourceError, Unresolved, Verdict, WriteSource};
use callgate_core::snapshot::Tool;
use tokio::time::Instant;

use crate::build::{postgres_options, read_url, sqlite_options, unreachable};
use crate::check::seals;
use crate::config::{
    Config, Durability, Finding, Limits, Located, Report, Source, StoreKind, StoreTable, parse, read_text,
};
use crate::load::load;

/// A store that is open, and the ledger in it.
#[derive(Clone, Debug)]
pub(crate) struct OpenStore {
    pub(crate) ledger: StoreLedger,
}

impl OpenStore {
    /// Handles, artifacts and approvals in the same store.
    pub(crate) fn stores(&self) -> Stores {
        let store = self.ledger.store();
        let (handles, artifacts) = (StoreHandles::new(store.clone()), StoreArtifacts::new(store.clone()));
        let approvals = StoreApprovals::new(store.clone());
        Stores::new(Arc::new(handles), Arc::new(artifacts)).with_approvals(Arc::new(approvals))
    }
}

/// Opens the store of a configuration, if it has one.
pub(crate) fn open(config: &Config, directory: &Path, about: &str) -> Result<Option<OpenStore>, Finding> {
    let Some(table) = &config.store else { return Ok(None) };
    let store = connect(table, directory)?;
    judge(table, &store)?;
    let ledger = StoreLedger::start(store, limits(table), about).map_err(|error| unusable(table, &error))?;
    Ok(Some(OpenStore { ledger }))
}

/// What is wrong with the store of a configuration, for the check.
pub(crate) fn check(config: &Config, directory: &Path) -> Option<Finding> {
    let table = config.store.as_ref()?;
    connect(table, directory).and_then(|store| judge(table, &store)).err()
}

/// Whether all tables are there.
fn judge(table: &StoreTable, store: &store::Store) -> Result<(), Finding> {
    let parts: Vec<&str> = Part::ALL.iter().map(|part| part.name).collect();
    let missing = store::missing(store, &parts).map_err(|error| unusable(table, &error))?;
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("the store has no tables, or old ones, for: {}", missing.join(", "));
    let remedy = "make them with `callgate migrate`; `callgate migrate --dry-run` shows the SQL";
    Err(Finding::error("store_not_migrated", message, remedy).at(table.place.clone()))
}

fn unusable(table: &StoreTable, error: &StoreError) -> Finding {
    let finding = Finding::error("store_unusable", error.to_string(), error.remedy());
    finding.at(table.place.clone())
}

fn connect(table: &StoreTable, directory: &Path) -> Result<store::Store, Finding> {
    let mut options = Options::default();
    if table.durability.as_deref() == Some(&Durability::Normal) {
        options.durability = store::Durability::Normal;
    }
    if let Some(connections) = &table.connections {
        options.connections = usize::try_from(**connections).unwrap_or(options.connections);
    }
    let opened = match (&table.path, &table.url) {
        (Some(path), _) => store::Store::sqlite(directory.join(path.as_str()), options),
        (None, Some(url)) => {
            let (url, _file) = read_url(url, directory);
            let url = url.map_err(|finding| finding.at(table.place.clone()))?;
            store::Store::postgres(&url, options)
        }
        // A table without a place has an error and never gets here.
        (None, None) => {
            let remedy = "name a file or a database";
            return Err(Finding::error("store_place", "[store] does not say where it is", remedy));
        }
    };
    opened.map_err(|error| unusable(table, &error))
}

fn limits(table: &StoreTable) -> LedgerLimits {
    let mut limits = LedgerLimits::default();
    if let Some(rows) = &table.max_effects {
        limits.rows = **rows;
    }
    if let Some(bytes) = &table.max_result_bytes {
        limits.result_bytes = usize::try_from(**bytes).unwrap_or(limits.result_bytes);
    }
    if let Some(lost) = &table.lost_after_ms {
        limits.lost_after = Duration::from_millis(**lost);
    }
    limits
}

/// Asks the backend of a tool of a file about an effect whose outcome is unknown. It blocks, and must not be used
/// inside a runtime.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn ask(path: &Path, effect: &Effect) -> Result<Verdict, Report> {
    let loaded = load(path, &Limits::default(), &Arc::new(seals()));
    if loaded.report.has_errors() {
        return Err(loaded.report);
    }
    let named = |tool: &&Arc<Tool>| tool.contract().name().as_str() == effect.tool;
    let Some(tool) = loaded.tools.iter().find(named) else { return Ok(Verdict::CannotTell) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        let remedy = "free memory or threads of this machine";
        report(Finding::error("not_loaded", format!("no runtime could be made: {error}"), remedy))
    })?;
    runtime.block_on(async {
        let deadline = Instant::now() + ASK;
        let tenant = effect.tenant.as_deref();
        let question = Unresolved::new(effect.key, effect.call, tool.contract(), tenant, deadline);
        Ok(tool.resolve(&question).await)
    })
}

/// How long a backend may take to say what became of an effect.
const ASK: Duration = Duration::from_secs(30);

/// The store that a configuration names, for people. Only the table `[store]` need be right.
#[derive(Debug)]
pub struct Place {
    table: StoreTable,
    /// The sources that rows are changed in.
    sources: Vec<(Located<String>, Source)>,
    directory: PathBuf,
}

impl Place {
    /// Finds the store of a configuration.
    ///
    /// # Errors
    /// The file cannot be read, or does not say where its store is.
    pub fn of(path: &Path) -> Result<Self, Report> {
        let limits = Limits::default();
        let text = read_text(path, limits.file_bytes).map_err(|why| {
            let message = format!("{} cannot be read: {why}", path.display());
            let remedy = why.remedy("name the configuration of the server with `--config`");
            Report::new(vec![Finding::error("unreadable_file", message, remedy)])
        })?;
        let (config, findings) = parse(&path.display().to_string(), &text, &limits);
        let placed = |table: &StoreTable| table.path.is_some() || table.url.is_some();
        match config.store.filter(placed) {
            Some(table) => {
                let directory = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
                let mut sources = config.source;
                sources.retain(|(_, source)| source.writes());
                Ok(Self { table, sources, directory })
            }
            None if findings.is_empty() => Err(Report::new(vec![Finding::error(
                "no_store",
                format!("{} has no table [store], so nothing keeps its effects", path.display()),
                "add `[store]` and under it `kind = \"sqlite\"` and `path = \"store.db\"`",
            )])),
            None => Err(Report::new(findings)),
        }
    }

    /// Opens the store for one command. It blocks, and must not be used inside a runtime.
    ///
    /// # Errors
    /// It cannot be used, or its tables are not there.
    pub fn open(&self) -> Result<store::Store, Report> {
        let store = connect(&self.table, &self.directory).map_err(report)?;
        judge(&self.table, &store).map_err(report)?;
        Ok(store)
    }

    /// What a migration would run. It changes nothing.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn plan(&self) -> Result<Vec<Planned>, Report> {
        if self.file().is_some_and(|file| !file.exists()) {
            return Ok(store::plan_of_new_file());
        }
        let store = connect(&self.table, &self.directory).map_err(report)?;
        store::plan(&store).map_err(|error| report(unusable(&self.table, &error)))
    }

    /// Makes the tables that are not there, and gives the parts that were changed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn migrate(&self) -> Result<Vec<&'static str>, Report> {
        let failed = |error: StoreError| report(unusable(&self.table, &error));
        if let Some(file) = self.file() {
            store::Store::make_sqlite(file).map_err(failed)?;
        }
        let store = connect(&self.table, &self.directory).map_err(report)?;
        store::migrate(&store).map_err(failed)
    }

    /// What a migration of the sources would run, with the name of each source. It changes nothing.
    ///
    /// # Errors
    /// A source cannot be reached.
    pub fn plan_sources(&self) -> Result<Vec<(String, String)>, Report> {
        let mut planned = Vec::new();
        for (name, source) in &self.sources {
            let Some(source) = writable(source, &self.directory)? else { continue };
            let there = block_on(name, source.as_write().is_migrated())?;
            if !there {
                planned.extend(source.migration().into_iter().map(|sql| (name.to_string(), sql)));
            }
        }
        Ok(planned)
    }

    /// Makes the table for the keys of effects in the sources that say `writes = true`, where it is not there, and
    /// gives the names of those.
    ///
    /// # Errors
    /// A source cannot be written.
    pub fn migrate_sources(&self) -> Result<Vec<String>, Report> {
        let mut changed = Vec::new();
        for (name, source) in &self.sources {
            let Some(source) = writable(source, &self.directory)? else { continue };
            if block_on(name, source.migrate())? {
                changed.push(name.to_string());
            }
        }
        Ok(changed)
    }

    fn file(&self) -> Option<PathBuf> {
        let kind = self.table.kind.as_deref().copied();
        let path = self.table.path.as_ref().filter(|_| kind == Some(StoreKind::Sqlite))?;
        Some(self.directory.join(path.as_str()))
    }
}

/// A source that rows are changed in, opened for one command.
enum Writable {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Writable {
    fn as_write(&self) -> &dyn WriteSource {
        match self {
            Self::Sqlite(source) => source,
            Self::Postgres(source) => source,
        }
    }

    async fn migrate(&self) -> Result<bool, SourceError> {
        match self {
            Self::Sqlite(source) => source.migrate().await,
            Self::Postgres(source) => source.migrate().await,
        }
    }

    fn migration(&self) -> Vec<String> {
        match self {
            Self::Sqlite(_) => Sqlite::migration(),
            Self::Postgres(_) => Postgres::migration(),
        }
    }
}

/// Nothing for a table that has an error, which the check reports.
fn writable(source: &Source, directory: &Path) -> Result<Option<Writable>, Report> {
    Ok(match source {
        Source::Sqlite(table) => {
            sqlite_options(table, directory).map(|options| Writable::Sqlite(Sqlite::new(options)))
        }
        Source::Postgres(table) => {
            let Some(place) = &table.url else { return Ok(None) };
            let (url, _file) = read_url(place, directory);
            let url = url.map_err(|finding| report(finding.at(place.place().clone())))?;
            let made = Postgres::new(&postgres_options(table, url));
            Some(Writable::Postgres(
                made.map_err(|error| report(unreachable(&error).at(place.place().clone())))?,
            ))
        }
        Source::Repository(_) | Source::Http(_) => None,
    })
}

fn block_on<T>(
    name: &Located<String>,
    work: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        let remedy = "free memory or threads of this machine";
        report(Finding::error("not_loaded", format!("no runtime could be made: {error}"), remedy))
    })?;
    runtime.block_on(work).map_err(|error| report(unreachable(&error).at(name.place().clone())))
}

fn report(finding: Finding) -> Report {
    Report::new(vec![finding])
}
