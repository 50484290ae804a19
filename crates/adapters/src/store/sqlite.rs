//! A store in a SQLite file: one thread that writes everything that waits in one transaction.
//!
//! It must never make a file that is not there, except for a migration, and never write to one that holds
//! something else. Several processes may use one file; each transaction begins by taking the write lock.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, Transaction, TransactionBehavior};

use super::queue::{Answered, Job};
use super::statement::Dialect;
use super::{Backend, Durability, Options, Row, Rows, Statement, StoreError, Value};

/// `CGST`: tells what the file is.
const APPLICATION: i32 = 0x4347_5354;
/// How long dropping the store waits for what is queued.
const CLOSE: Duration = Duration::from_secs(5);
/// Bytes that the log beside the file keeps.
const LOG_BYTES: u32 = 16 << 20;

/// The handle of the thread.
pub(super) struct Sqlite(Arc<Shared>);

struct Shared {
    path: PathBuf,
    options: Options,
    queue: Mutex<Queue>,
    came: Condvar,
    ended: Condvar,
    thread: OnceLock<ThreadId>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits, at most one group; nothing at the end.
    fn take(&self) -> Option<Vec<Job>> {
        let mut queue = self.lock();
        while queue.jobs.is_empty() {
            if queue.closed {
                return None;
            }
            queue = self.came.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let count = queue.jobs.len().min(self.options.group.max(1));
        Some(queue.jobs.drain(..count).collect())
    }
}

impl Sqlite {
    pub(super) fn start(path: &Path, options: Options) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            options,
            queue: Mutex::default(),
            came: Condvar::new(),
            ended: Condvar::new(),
            thread: OnceLock::new(),
        });
        let worker = Arc::clone(&shared);
        std::thread::Builder::new().name("callgate-store".to_owned()).spawn(move || run(&worker)).map_err(
            |error| {
                let remedy = "free memory or threads of this machine";
                StoreError::unavailable(format!("its thread cannot be made: {error}"), remedy)
            },
        )?;
        Ok(Self(shared))
    }
}

impl Backend for Sqlite {
    fn submit(&self, job: Job) {
        let mut queue = self.0.lock();
        let refused = if queue.ended {
            Some(StoreError::ended())
        } else {
            (queue.jobs.len() >= self.0.options.waiting && !job.must).then_some(StoreError::Busy)
        };
        match refused {
            None => {
                queue.jobs.push_back(job);
                drop(queue);
                self.0.came.notify_one();
            }
            Some(error) => {
                // Its answer may hand over more work.
                drop(queue);
                job.answer(Err(error));
            }
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.closed = true;
        self.0.came.notify_one();
        if self.0.thread.get() == Some(&std::thread::current().id()) {
            // The last handle went with an answer, on the thread itself.
            return;
        }
        let waited = self.0.ended.wait_timeout_while(queue, CLOSE, |queue| !queue.ended);
        if waited.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
            tracing::error!("the store was not written to its end in time");
        }
    }
}

fn run(shared: &Shared) {
    // It is set once: there is one thread.
    let _ = shared.thread.set(std::thread::current().id());
    let worked = catch_unwind(AssertUnwindSafe(|| {
        let mut open = None;
        while let Some(jobs) = shared.take() {
            write(&mut open, shared, jobs);
        }
    }));
    if worked.is_err() {
        tracing::error!("the writer of the store panicked; no effect can be recorded any more");
    }
    let left = {
        let mut queue = shared.lock();
        queue.ended = true;
        std::mem::take(&mut queue.jobs)
    };
    shared.ended.notify_all();
    for job in left {
        job.answer(Err(StoreError::ended()));
    }
}

/// A file that is open, and which one it is.
struct Open {
    connection: Connection,
    id: Option<(u64, u64)>,
}

fn write(open: &mut Option<Open>, shared: &Shared, jobs: Vec<Job>) {
    let worked = opened(open, shared)
        .and_then(|open| group(&mut open.connection, &jobs).map_err(|error| explained(&error, &shared.path)));
    match worked {
        Ok(answers) => jobs.into_iter().zip(answers).for_each(|(job, answer)| job.answer(answer)),
        Err(error) => {
            // Whatever state the connection is in, the next attempt begins with a new one.
            *open = None;
            jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
        }
    }
}

fn opened<'o>(open: &'o mut Option<Open>, shared: &Shared) -> Result<&'o mut Open, StoreError> {
    // An open connection would go on writing into a file that nobody finds again.
    if open.as_ref().is_some_and(|open| open.id != identity(&shared.path)) {
        *open = None;
        return Err(StoreError::unavailable(
            format!("{} was removed or replaced", shared.path.display()),
            "put the file and its log (-wal) back as they were, or find out who did it",
        ));
    }
    match open {
        Some(open) => Ok(open),
        place => Ok(place.insert(Open::new(&shared.path, &shared.options)?)),
    }
}

impl Open {
    fn new(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let failed = |error: rusqlite::Error| explained(&error, path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(options.lock_wait).map_err(failed)?;
        let objects: i64 = connection
            .query_row("select count(*) from sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        let application: i32 =
            connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
        if application != APPLICATION && (objects > 0 || application != 0) {
            return Err(StoreError::refused(
                format!("{} is a database of something else", path.display()),
                "give the store a file of its own",
            ));
        }
        prepare(&connection, options).map_err(failed)?;
        Ok(Self { connection, id: identity(path) })
    }
}

fn prepare(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    let synchronous = match options.durability {
        Durability::Full => "full",
        Durability::Normal => "normal",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Makes an empty file for a migration, unless there is one. Only its owner may read what callers did.
///
/// # Errors
/// The directory cannot be written.
pub(super) fn make(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::refused(
            format!("{} cannot be made: {error}", path.display()),
            "check that the directory is there and can be written to",
        )),
    }
}

/// Which file stands at a path.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<(u64, u64)> {
    None
}

/// Runs a group in one transaction. A job that the database refuses is undone alone; any other failure is that of
/// the whole group.
fn group(connection: &mut Connection, jobs: &[Job]) -> rusqlite::Result<Vec<Answered>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut answers = Vec::with_capacity(jobs.len());
    for job in jobs {
        answers.push(one(&transaction, &job.statements)?);
    }
    transaction.commit()?;
    Ok(answers)
}

fn one(transaction: &Transaction<'_>, statements: &[Statement]) -> rusqlite::Result<Answered> {
    // A single statement is undone by SQLite itself when it fails.
    let several = statements.len() > 1;
    if several {
        transaction.execute_batch("savepoint job")?;
    }
    let mut answers = Vec::with_capacity(statements.len());
    for statement in statements {
        match rows(transaction, statement) {
            Ok(rows) => answers.push(rows),
            Err(error) if transaction.is_autocommit() || !is_refusal(&error) => return Err(error),
            Err(error) => {
                if several {
                    transaction.execute_batch("rollback to job; release job")?;
                }
                let remedy = "run `callgate migrate` with this version of the program";
                return Ok(Err(StoreError::refused(error.to_string(), remedy)));
            }
        }
    }
    if several {
        transaction.execute_batch("release job")?;
    }
    Ok(Ok(answers))
}

/// Whether the error is that of the statement, and not of the file.
fn is_refusal(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        None => true,
        Some(code) => {
            matches!(code, Code::ConstraintViolation | Code::TypeMismatch | Code::Unknown | Code::TooBig)
        }
    }
}

fn rows(transaction: &Transaction<'_>, statement: &Statement) -> rusqlite::Result<Rows> {
    let mut prepared = transaction.prepare_cached(&Dialect::Sqlite.render(statement.sql()))?;
    let columns = prepared.column_count();
    let mut found = prepared.query(rusqlite::params_from_iter(statement.values()))?;
    let mut rows = Rows::new();
    while let Some(row) = found.next()? {
        let mut values = Vec::with_capacity(columns);
        for at in 0..columns {
            values.push(match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
                ValueRef::Text(_) | ValueRef::Real(_) => Value::Text(row.get(at)?),
            });
        }
        rows.push(Row(values));
    }
    Ok(rows)
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// What went wrong with the file, and what to do.
fn explained(error: &rusqlite::Error, path: &Path) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let (message, remedy) = match error.sqlite_error_code() {
        Some(Code::CannotOpen) if !path.exists() => {
            ("the file is not there", "make it with `callgate migrate`")
        }
        Some(Code::DiskFull) => ("the disk is full", "free space on its disk"),
        Some(Code::ReadOnly) => ("the file or its directory is read-only", "let the server write to it"),
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => {
            ("another process holds the file", "end the program that keeps it locked")
        }
        Some(Code::CannotOpen | Code::PermissionDenied) => {
            ("the file cannot be opened", "check its name and the permissions of its directory")
        }
        Some(Code::DatabaseCorrupt) => ("the file is damaged", "keep the file, and restore a copy of it"),
        Some(Code::NotADatabase) => ("the file is no database", "give the store a file of its own"),
        Some(Code::SystemIoFailure) => ("the disk cannot be written", "check the disk"),
        _ => ("SQLite failed", "check the file and its disk"),
    };
    StoreError::unavailable(format!("{}: {message} ({error})", path.display()), remedy)
}
