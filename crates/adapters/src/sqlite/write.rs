//! Writing to a SQLite file: one connection, one transaction at a time, with the key of the effect in it.
//!
//! The write lock is taken first, so that two calls with one key stand in a row. A caller who leaves before the
//! commit has nothing committed; whoever leaves during it learns that nobody knows. The source calls it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::port::{
    Answer, EffectKey, Known, Prepared, QueryError, SourceError, Write, WriteError, WriteSource, WriteStep,
    Written,
};
use callgate_core::receipt::CallId;
use rusqlite::{ErrorCode, params};
use tokio::time::{Instant, sleep, timeout_at};

use super::authorizer::Access;
use super::connection::{Connection, reason};
use super::pool::Pool;
use super::{Options, Sqlite, at_load, prepare, run, unreachable};
use crate::effects::{self, COMMITTED, Kept, LOOK, PAUSE, TRIES, WITHDRAWN};
use crate::rows::{Next, RowWriter};
use crate::sql::{Dialect, Template};

const INSERT: &str = "insert into callgate_effects (key, call, input, state, changed, result, made_us) \
                      values (?1, ?2, ?3, ?4, 0, '', ?5) on conflict do nothing";
const FIND: &str = "select key, call, input, state, changed, result from callgate_effects \
                    where key = ?1 or call = ?2";
const KEEP: &str = "update callgate_effects set changed = ?2, result = ?3 where key = ?1";

/// What writes to a file.
#[derive(Debug)]
pub(super) struct Writer {
    pool: Arc<Pool>,
    waiting: AtomicUsize,
    waiting_max: usize,
    connection_wait: Duration,
}

/// How far a transaction is, for whoever waits for it.
#[derive(Debug, Default)]
struct Phase(AtomicU8);

const RUNNING: u8 = 0;
const COMMITTING: u8 = 1;
const STOPPED: u8 = 2;

impl Phase {
    fn change(&self, to: u8) -> bool {
        self.0.compare_exchange(RUNNING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Begins to commit, unless nobody waits any more.
    fn commit(&self) -> bool {
        self.change(COMMITTING)
    }

    /// Keeps it from committing; false when it has begun to.
    fn stop(&self) -> bool {
        self.change(STOPPED) || self.0.load(Ordering::Acquire) == STOPPED
    }
}

/// Stops a transaction whose caller has left.
struct StopOnDrop(Arc<Phase>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Counts one that waits.
struct Waiting<'w>(&'w AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Writer {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            pool: Arc::new(Pool::new(options.clone(), Access::Write)),
            waiting: AtomicUsize::new(0),
            waiting_max: options.writes_waiting,
            connection_wait: options.connection_wait,
        }
    }

    /// Does work on the connection that writes. An error of the pool proves that it was not begun.
    async fn work<T: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&mut Connection, &Phase) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, WriteError> {
        // One runs; the others wait.
        let count = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.waiting);
        if count > self.waiting_max {
            return Err(QueryError::Busy.into());
        }
        let phase = Arc::new(Phase::default());
        let guard = StopOnDrop(Arc::clone(&phase));
        let until = deadline.min(Instant::now() + self.connection_wait);
        let inner = Arc::clone(&phase);
        let running = Arc::clone(&self.pool).run(until, move |connection| work(connection, &inner));
        let unknown = |detail: &str| WriteError::Unknown { detail: detail.to_owned() };
        let done = match timeout_at(deadline, running).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) if !phase.stop() => Err(unknown("the commit panicked")),
            Ok(Err(error)) => Err(error.into()),
            Err(_) if phase.stop() => Err(QueryError::TimedOut.into()),
            Err(_) => Err(unknown("the commit did not end in time")),
        };
        drop(guard);
        done
    }

    async fn write(&self, write: Write) -> Result<Written, WriteError> {
        let write = Arc::new(write);
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            let run = Arc::clone(&write);
            match self.work(write.deadline, move |connection, phase| all(connection, &run, phase)).await {
                // The lock was not had; nothing began.
                Err(WriteError::Query(QueryError::Unavailable { .. }))
                    if Instant::now() + pause < write.deadline =>
                {
                    sleep(pause).await;
                    pause *= 2;
                }
                other => return other,
            }
        }
        let run = Arc::clone(&write);
        self.work(write.deadline, move |connection, phase| all(connection, &run, phase)).await
    }

    async fn settle(&self, key: EffectKey, call: CallId, deadline: Instant) -> Result<Known, WriteError> {
        self.work(deadline, move |connection, phase| settle(connection, key, call, phase)).await
    }
}

/// Runs the whole transaction.
fn all(connection: &mut Connection, write: &Write, phase: &Phase) -> Result<Written, WriteError> {
    begin(connection)?;
    let written = match inside(connection, write) {
        Ok(written) if !written.before => written,
        other => {
            rollback(connection);
            return other;
        }
    };
    commit(connection, phase)?;
    Ok(written)
}

fn begin(connection: &mut Connection) -> Result<(), WriteError> {
    connection.own(|inner| inner.execute_batch("begin immediate")).map_err(|error| failure(&error))
}

/// A transaction that cannot be rolled back ends with its connection, which the pool then drops.
fn rollback(connection: &mut Connection) {
    let _ = connection.own(|inner| inner.execute_batch("rollback"));
}

fn commit(connection: &mut Connection, phase: &Phase) -> Result<(), WriteError> {
    if !phase.commit() {
        rollback(connection);
        return Err(QueryError::TimedOut.into());
    }
    let Err(error) = connection.own(|inner| inner.execute_batch("commit")) else { return Ok(()) };
    // A commit that was refused leaves the transaction open, and then it can be rolled back. One that ended the
    // transaction may have got far enough to be found after a crash.
    if !connection.is_autocommit() && connection.own(|inner| inner.execute_batch("rollback")).is_ok() {
        return Err(failure(&error));
    }
    Err(WriteError::Unknown { detail: reason(&error) })
}

/// The key first, then the statements, then what they gave.
fn inside(connection: &mut Connection, write: &Write) -> Result<Written, WriteError> {
    let key = write.key.to_string();
    let inserted = insert(connection, &key, write.call, &write.input.to_string(), COMMITTED)?;
    if !inserted {
        let rows = find(connection, &key, write.call)?;
        return effects::taken(&rows, write.key, write.call, write.input);
    }
    let mut written = Written { rows: "[]".to_owned(), changed: 0, before: false };
    for (number, step) in write.steps.iter().enumerate() {
        let rows = statement(connection, write, number, step, &mut written)?;
        if !(step.min_rows..=step.max_rows).contains(&rows) {
            let (min, max) = (step.min_rows, step.max_rows);
            return Err(WriteError::Rows { statement: number, rows, min, max });
        }
    }
    let changed = i64::try_from(written.changed).unwrap_or(i64::MAX);
    let kept = connection.own(|inner| {
        inner.prepare_cached(KEEP).and_then(|mut keep| keep.execute(params![key, changed, written.rows]))
    });
    kept.map_err(|error| failure(&error))?;
    Ok(written)
}

/// Runs one statement and gives how many rows it changed, or gave where it only reads.
fn statement(
    connection: &mut Connection,
    write: &Write,
    number: usize,
    step: &WriteStep,
    written: &mut Written,
) -> Result<u64, WriteError> {
    let mut prepared = connection.prepare_cached(&step.statement.sql).map_err(|error| failure(&error))?;
    for index in 1..=prepared.parameter_count() {
        let name = prepared.parameter_name(index).unwrap_or_default();
        let value = run::value(&write.values, name.strip_prefix(':').unwrap_or(name))?;
        prepared.raw_bind_parameter(index, value).map_err(|error| failure(&error))?;
    }
    let (reads, gives) = (prepared.readonly(), prepared.column_count() > 0);
    let is_last = number + 1 == write.steps.len();
    let columns = run::indexes(&prepared, &step.statement)?;
    let max_rows = usize::try_from(step.max_rows).unwrap_or(usize::MAX);
    let mut writer = RowWriter::new(&step.statement, max_rows, write.max_bytes);
    let mut given: u64 = 0;
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(|error| failure(&error))? {
        given += 1;
        if given > step.max_rows {
            break;
        }
        if is_last && !step.statement.columns.is_empty() {
            let cells = |index: usize| run::cell(row, columns.cell(index));
            if writer.row(cells, Vec::new())? == Next::Enough {
                return Err(QueryError::RowTooLarge.into());
            }
        }
    }
    drop(rows);
    drop(prepared);
    let changed = if gives { given } else { connection.changes() };
    if !reads {
        written.changed += changed;
    }
    if is_last && !step.statement.columns.is_empty() {
        written.rows = writer.finish().json;
    }
    Ok(changed)
}

fn insert(
    connection: &mut Connection,
    key: &str,
    call: CallId,
    input: &str,
    state: &str,
) -> Result<bool, WriteError> {
    let inserted = connection.own(|inner| {
        let mut insert = inner.prepare_cached(INSERT)?;
        insert.execute(params![key, call.to_string(), input, state, effects::now_us()])
    });
    inserted.map(|rows| rows == 1).map_err(|error| own_failure(&error))
}

fn find(connection: &mut Connection, key: &str, call: CallId) -> Result<Vec<Kept>, WriteError> {
    let found = connection.own(|inner| {
        let mut find = inner.prepare_cached(FIND)?;
        let rows = find.query_map(params![key, call.to_string()], |row| {
            Ok(Kept {
                key: row.get(0)?,
                call: row.get(1)?,
                input: row.get(2)?,
                state: row.get(3)?,
                changed: row.get(4)?,
                result: row.get(5)?,
            })
        })?;
        rows.collect::<Result<Vec<_>, _>>()
    });
    found.map_err(|error| own_failure(&error))
}

/// What became of a call. The write lock keeps a run of it from coming in between.
fn settle(
    connection: &mut Connection,
    key: EffectKey,
    call: CallId,
    phase: &Phase,
) -> Result<Known, WriteError> {
    begin(connection)?;
    let found = find(connection, &key.to_string(), call).and_then(|rows| match effects::known(&rows, call) {
        Some(known) => Ok(Some(known)),
        None => insert(connection, &effects::withdrawn_key(call), call, "", WITHDRAWN).map(|_| None),
    });
    match found {
        Ok(None) => {
            commit(connection, phase)?;
            Ok(Known::Withdrawn)
        }
        Ok(Some(known)) => {
            rollback(connection);
            Ok(known)
        }
        Err(error) => {
            rollback(connection);
            Err(error)
        }
    }
}

fn failure(error: &rusqlite::Error) -> WriteError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => WriteError::Constraint { detail: reason(error) },
        _ => run::failure(error).into(),
    }
}

/// Why a statement on the table of the keys failed.
fn own_failure(error: &rusqlite::Error) -> WriteError {
    if reason(error).contains("no such table") || reason(error).contains("no such column") {
        return WriteError::NotMigrated;
    }
    failure(error)
}

impl Sqlite {
    fn writer(&self) -> Result<&Writer, QueryError> {
        let closed = || QueryError::Failed { detail: "the source is not written to".to_owned() };
        self.writer.as_ref().ok_or_else(closed)
    }

    /// Works on the connection that writes, at load.
    async fn at_load<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, SourceError> {
        let pool =
            self.writer().map(|writer| Arc::clone(&writer.pool)).map_err(|error| unreachable(&error))?;
        pool.run(at_load(), work).await.map_err(|error| unreachable(&error))
    }

    /// Makes the table of the keys where it is not there, and says whether it did.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn migrate(&self) -> Result<bool, SourceError> {
        let made = self.at_load(|connection| {
            connection.own(|inner| {
                if inner.prepare(LOOK).is_ok() {
                    return Ok(false);
                }
                for sql in effects::tables("integer", " strict") {
                    inner.execute_batch(&sql)?;
                }
                Ok(true)
            })
        });
        made.await?.map_err(|error: rusqlite::Error| {
            unreachable(&QueryError::Unavailable { detail: reason(&error) })
        })
    }

    /// The statements that [`Sqlite::migrate`] would run.
    #[must_use]
    pub fn migration() -> Vec<String> {
        effects::tables("integer", " strict").into()
    }
}

impl WriteSource for Sqlite {
    fn is_migrated(&self) -> Answer<'_, Result<bool, SourceError>> {
        Answer::later(self.at_load(|connection| connection.own(|inner| inner.prepare(LOOK).is_ok())))
    }

    fn prepare_write<'a>(&'a self, sql: &'a str) -> Answer<'a, Result<Prepared, SourceError>> {
        let template = match Template::parse(sql, Dialect::Sqlite) {
            Ok(template) => template,
            Err(fault) => return Answer::now(Err(SourceError::Statement(vec![fault]))),
        };
        if let Some(fault) = effects::touches(sql) {
            return Answer::now(Err(SourceError::Statement(vec![fault])));
        }
        let sql = sql.to_owned();
        Answer::later(async move {
            let work =
                self.at_load(move |connection| prepare::prepare(connection, &template, &sql, Access::Write));
            work.await.and_then(|prepared| prepared)
        })
    }

    fn check_write<'a>(&'a self, _step: &'a WriteStep) -> Answer<'a, Result<(), SourceError>> {
        // It is run as it was written.
        Answer::now(Ok(()))
    }

    fn write(&self, write: Write) -> Answer<'_, Result<Written, WriteError>> {
        Answer::later(async move { self.writer()?.write(write).await })
    }

    fn settle(
        &self,
        key: EffectKey,
        call: CallId,
        deadline: Instant,
    ) -> Answer<'_, Result<Known, WriteError>> {
        Answer::later(async move { self.writer()?.settle(key, call, deadline).await })
    }
}
