//! The tables of the store, by part: `callgate migrate` makes what is not there, and nothing else does.
//!
//! Each part has its own version, so that what is not used needs no tables. A store of a newer version is
//! refused, never changed back.

use super::statement::Dialect;
use super::{Row, Statement, Store, StoreError, first};

/// The tables that one part of the gate needs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Part {
    /// The name.
    pub name: &'static str,
    /// For each version the statements that lead to it from the version before.
    pub steps: &'static [&'static [&'static str]],
}

impl Part {
    /// A part and the steps to its present version.
    #[must_use]
    pub const fn new(name: &'static str, steps: &'static [&'static [&'static str]]) -> Self {
        Self { name, steps }
    }

    fn version(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(i64::MAX)
    }

    /// All parts, in the order in which they are made.
    pub const ALL: &'static [Self] =
        &[super::ledger::PART, super::handles::PART, super::artifacts::PART, super::approvals::PART];
}

/// A statement that has to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Planned {
    /// For which part.
    pub part: &'static str,
    /// The text in the dialect of the store.
    pub sql: String,
}

const PARTS: &str = "create table if not exists callgate_part (name text not null primary key, \
                     version {integer} not null, made_us {integer} not null){strict}";

/// What `callgate migrate` would run.
///
/// # Errors
/// The store cannot be read, or was made by a newer program.
pub fn plan(store: &Store) -> Result<Vec<Planned>, StoreError> {
    planned(versions(store)?, store.dialect)
}

/// What `callgate migrate` would run in a SQLite file that is not there yet.
#[cfg(feature = "sqlite")]
#[must_use]
pub fn plan_of_new_file() -> Vec<Planned> {
    planned(None, Dialect::Sqlite).unwrap_or_default()
}

fn planned(found: Option<Vec<(String, i64)>>, dialect: Dialect) -> Result<Vec<Planned>, StoreError> {
    let mut planned = Vec::new();
    let mut add = |part, sql: &str| planned.push(Planned { part, sql: dialect.render(sql) });
    if found.is_none() {
        add("store", PARTS);
    }
    for part in Part::ALL {
        for sql in steps(part, found.as_deref())? {
            add(part.name, sql);
        }
    }
    Ok(planned)
}

/// Makes the tables that are not there, in one transaction, and gives the names of the parts that were changed.
///
/// # Errors
/// The store cannot be written, or was made by a newer program.
pub fn migrate(store: &Store) -> Result<Vec<&'static str>, StoreError> {
    let found = versions(store)?;
    let mut statements = Vec::new();
    if let Some(lock) = lock(store.dialect) {
        statements.push(Statement::new(lock));
    }
    statements.push(Statement::new(PARTS));
    let mut changed = Vec::new();
    for part in Part::ALL {
        let steps = steps(part, found.as_deref())?;
        if steps.is_empty() {
            continue;
        }
        changed.push(part.name);
        statements.extend(steps.into_iter().map(Statement::new));
        statements.push(
            Statement::new(
                "insert into callgate_part (name, version, made_us) values ($1, $2, {now}) \
                 on conflict (name) do update set version = excluded.version, made_us = excluded.made_us",
            )
            .bind(part.name)
            .bind(part.version()),
        );
    }
    if !changed.is_empty() {
        store.run_blocking(statements)?;
    }
    Ok(changed)
}

/// Which of these parts have no tables, or old ones.
///
/// # Errors
/// The store cannot be read, or was made by a newer program.
pub fn missing(store: &Store, parts: &[&str]) -> Result<Vec<&'static str>, StoreError> {
    let found = versions(store)?;
    let mut missing = Vec::new();
    for part in Part::ALL.iter().filter(|part| parts.contains(&part.name)) {
        if !steps(part, found.as_deref())?.is_empty() {
            missing.push(part.name);
        }
    }
    Ok(missing)
}

/// The statements that lead from what was found to the present version.
fn steps(part: &Part, found: Option<&[(String, i64)]>) -> Result<Vec<&'static str>, StoreError> {
    let found = found.unwrap_or_default();
    let version = found.iter().find(|(name, _)| name == part.name).map_or(0, |(_, version)| *version);
    if version > part.version() {
        let (name, own) = (part.name, part.version());
        return Err(StoreError::refused(
            format!("its tables of the part `{name}` have version {version}, and this program knows {own}"),
            "use the program that made them, or another store",
        ));
    }
    let done = usize::try_from(version).unwrap_or(0);
    Ok(part.steps.iter().skip(done).flat_map(|step| step.iter().copied()).collect())
}

/// The versions of the parts that are there; nothing for a store without any table of ours.
fn versions(store: &Store) -> Result<Option<Vec<(String, i64)>>, StoreError> {
    let there = match store.dialect {
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => "select 1 from sqlite_schema where name = 'callgate_part'",
        #[cfg(feature = "postgres")]
        Dialect::Postgres => "select 1 where to_regclass('callgate_part') is not null",
    };
    if first(store.run_blocking(vec![Statement::new(there)])?).is_empty() {
        return Ok(None);
    }
    let rows = first(store.run_blocking(vec![Statement::new("select name, version from callgate_part")])?);
    let version = |row: &Row| Some((row.text(0)?.to_owned(), row.integer(1)?));
    Ok(Some(rows.iter().filter_map(version).collect()))
}

/// Keeps two of these from running at once.
fn lock(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        // The transaction holds the only write lock of the file.
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => None,
        #[cfg(feature = "postgres")]
        Dialect::Postgres => Some("select pg_advisory_xact_lock(7161089826487235)::text"),
    }
}
