//! One connection with its authorizer, its limits and its stop flag.
//!
//! One that reads is read-only for SQLite too; one that writes changes rows and nothing else. The pool opens it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgate_core::port::QueryError;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{InterruptHandle, OpenFlags};

use super::Options;
use super::authorizer::{Access, Denied, judge};

/// How many steps of SQLite's machine pass between two looks at the stop flag: some ten microseconds.
const STEPS: i32 = 1000;
/// At how many of those looks a brief statement has to end. SQLite counts the steps of a statement over all its runs, so
/// the first look may come at once: a run gets between three and four thousand steps.
const BRIEF_LOOKS: u32 = 4;
/// No bound on the looks.
const UNBOUNDED: u32 = 0;
/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 64;

/// A connection.
pub(super) struct Connection {
    inner: rusqlite::Connection,
    /// Whether a statement of this program is compiled or run, and none of a tool.
    own: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    /// The looks until a brief statement has to end.
    looks: Arc<AtomicU32>,
    busy_timeout: Duration,
    denied: Arc<Mutex<Option<Denied>>>,
    file: Option<FileId>,
}

/// Which file a path led to. Another one of the same name is another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// The file that the path leads to now; nothing where the system does not say.
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self(metadata.dev(), metadata.ino()))
    }

    /// The file that the path leads to now; nothing where the system does not say.
    #[cfg(not(unix))]
    pub(super) fn of(_: &Path) -> Option<Self> {
        None
    }
}

impl Connection {
    pub(super) fn open(options: &Options, access: Access) -> Result<Self, QueryError> {
        let mode = match access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let unavailable = |error: rusqlite::Error| QueryError::Unavailable { detail: reason(&error) };
        // Looked at before the file is opened: if it is replaced in between, the next use notices.
        let file = FileId::of(&options.path);
        let inner = rusqlite::Connection::open_with_flags(&options.path, flags).map_err(unavailable)?;
        let stop = Arc::new(AtomicBool::new(false));
        let denied = Arc::new(Mutex::new(None));
        let looks = Arc::new(AtomicU32::new(UNBOUNDED));
        let busy_timeout = options.busy_timeout;
        let own = Arc::new(AtomicBool::new(false));
        let mut connection = Self { inner, own, stop, looks, busy_timeout, denied, file };
        connection.restrict(options, access).map_err(unavailable)?;
        Ok(connection)
    }

    fn restrict(&mut self, options: &Options, access: Access) -> rusqlite::Result<()> {
        let inner = &mut self.inner;
        inner.busy_timeout(options.busy_timeout)?;
        inner.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        inner.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // A misspelt column in double quotes would otherwise be a string.
        inner.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        match access {
            Access::Read => inner.pragma_update(None, "query_only", true)?,
            Access::Write => {
                inner.pragma_update(None, "foreign_keys", true)?;
                // An effect that was acknowledged is on the disk.
                inner.pragma_update(None, "synchronous", "full")?;
            }
        }
        for (limit, value) in [
            (Limit::SQLITE_LIMIT_LENGTH, options.value_bytes),
            (Limit::SQLITE_LIMIT_SQL_LENGTH, 256 << 10),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
            (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            inner.set_limit(limit, value)?;
        }
        inner.set_prepared_statement_cache_capacity(STATEMENTS);
        let (stop, looks) = (Arc::clone(&self.stop), Arc::clone(&self.looks));
        let has_to_end = move || {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            // Only the thread that runs the statement gets here, so nothing comes in between.
            match looks.load(Ordering::Relaxed) {
                UNBOUNDED => false,
                1 => true,
                left => {
                    looks.store(left - 1, Ordering::Relaxed);
                    false
                }
            }
        };
        inner.progress_handler(STEPS, Some(has_to_end))?;
        let denied = Arc::clone(&self.denied);
        let own = Arc::clone(&self.own);
        inner.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
            if own.load(Ordering::Relaxed) {
                return rusqlite::hooks::Authorization::Allow;
            }
            judge(&context, access, &mut denied.lock().unwrap_or_else(PoisonError::into_inner))
        }))
    }

    /// Reads the file for the first time: opening alone looks at nothing.
    pub(super) fn probe(&self) -> Result<(), QueryError> {
        // The authorizer knows no other statement that looks into the file and needs no table.
        match self.inner.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0)) {
            Ok(_) => Ok(()),
            Err(error) => Err(QueryError::Unavailable { detail: reason(&error) }),
        }
    }

    /// The file that was opened.
    pub(super) fn file(&self) -> Option<FileId> {
        self.file
    }

    pub(super) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    pub(super) fn interrupt_handle(&self) -> InterruptHandle {
        self.inner.get_interrupt_handle()
    }

    /// Does work whose statement has to end soon and waits for no other process; what does not is interrupted or refused.
    pub(super) fn briefly<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> rusqlite::Result<T> {
        self.stop.store(false, Ordering::Relaxed);
        self.inner.busy_timeout(Duration::ZERO)?;
        self.looks.store(BRIEF_LOOKS, Ordering::Relaxed);
        let done = work(self);
        self.looks.store(UNBOUNDED, Ordering::Relaxed);
        self.inner.busy_timeout(self.busy_timeout)?;
        Ok(done)
    }

    /// Does what this program does for itself, which the authorizer does not judge.
    pub(super) fn own<T>(&mut self, work: impl FnOnce(&mut rusqlite::Connection) -> T) -> T {
        self.own.store(true, Ordering::Relaxed);
        let done = work(&mut self.inner);
        self.own.store(false, Ordering::Relaxed);
        done
    }

    /// What the authorizer refused since this was last asked.
    pub(super) fn take_denied(&self) -> Option<Denied> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Deref for Connection {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &rusqlite::Connection {
        &self.inner
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut rusqlite::Connection {
        &mut self.inner
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}

/// What SQLite said, without the statement.
pub(super) fn reason(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, Some(message)) => format!("{message} ({:?})", code.code),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}
