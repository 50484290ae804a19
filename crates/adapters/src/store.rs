//! The store: one database that ledger, approvals, handles and artifacts share, and its tables.
//!
//! What is handed over is written as one group with everything else that waits (SQLite), or as one round trip
//! on one of few connections (PostgreSQL); an answer says that it is as durable as the options promise. Tables
//! are made by [`migrate`] and by nothing else. The same statements serve both dialects. The gate opens one store
//! for its whole life; the command line opens one for each command.

pub mod approvals;
pub mod artifacts;
mod fault;
pub mod handles;
mod kept;
pub mod ledger;
mod migrate;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statement;

use std::fmt;
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

pub use fault::{Crash, Faults};
#[cfg(feature = "sqlite")]
pub use migrate::plan_of_new_file;
pub use migrate::{Part, Planned, migrate, missing, plan};
pub use statement::{Row, Statement, Value};

use queue::{Answered, Job};
use statement::Dialect;

/// What an answer means for what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives the loss of power.
    Full,
    /// It survives the end of the process; the loss of power may take the last moments.
    Normal,
}

/// How a store is used.
///
/// # Defaults
/// | option | default | why |
/// | --- | --- | --- |
/// | `durability` | full | a key that the loss of power takes would let its effect happen twice |
/// | `waiting` | 4,096 | four for each call that the gate admits; more is refused at once |
/// | `group` | 256 | what one transaction of SQLite writes at most |
/// | `connections` | 8 | to PostgreSQL; each carries one piece of work at a time |
/// | `answer` | 5 s | below the ten seconds that the gate waits for any port |
/// | `lock_wait` | 2 s | how long a writer waits for another process |
/// | `connect` | 4 s | how long connecting may take |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What an answer means.
    pub durability: Durability,
    /// Pieces of work that wait.
    pub waiting: usize,
    /// Pieces of work in one transaction of SQLite.
    pub group: usize,
    /// Connections to PostgreSQL.
    pub connections: usize,
    /// How long one piece of work may take.
    pub answer: Duration,
    /// How long it waits for a lock.
    pub lock_wait: Duration,
    /// How long connecting may take.
    pub connect: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            waiting: 4096,
            group: 256,
            connections: 8,
            answer: Duration::from_secs(5),
            lock_wait: Duration::from_secs(2),
            connect: Duration::from_secs(4),
        }
    }
}

/// Why a piece of work gave no rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Too much waits already; nothing was done.
    #[error("too much work waits for the store")]
    Busy,
    /// The store answered that it did not do it; nothing was done.
    #[error("the store refused: {message}")]
    Refused {
        /// What it said.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The store was not reached or did not answer: whether it was done is not known.
    #[error("the store does not answer: {message}")]
    Unavailable {
        /// What is wrong.
        message: String,
        /// What to do.
        remedy: String,
    },
}

impl StoreError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &str {
        match self {
            Self::Busy => "wait until it has caught up",
            Self::Refused { remedy, .. } | Self::Unavailable { remedy, .. } => remedy,
        }
    }

    /// Whether it is certain that nothing was done.
    #[must_use]
    pub const fn proves_nothing_done(&self) -> bool {
        matches!(self, Self::Busy | Self::Refused { .. })
    }

    pub(crate) fn refused(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), remedy: remedy.into() }
    }

    pub(crate) fn unavailable(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), remedy: remedy.into() }
    }

    fn ended() -> Self {
        Self::unavailable("its thread ended", "see the log for the reason and restart the server")
    }
}

/// The rows that one statement gave.
pub type Rows = Vec<Row>;

/// Does the work. It answers each job, in any order.
trait Backend: Send + Sync {
    fn submit(&self, job: Job);
}

/// A store. Clones are the same store; the last one that is dropped waits until everything is written.
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
    dialect: Dialect,
    place: Arc<str>,
}

/// A piece of work that was handed over.
pub type Pending = oneshot::Receiver<Result<Vec<Rows>, StoreError>>;

impl Store {
    /// A store in a SQLite file. It is opened when it is first needed, and never made: [`migrate`] makes it.
    ///
    /// # Errors
    /// No thread can be made.
    #[cfg(feature = "sqlite")]
    pub fn sqlite(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let place = path.display().to_string().into();
        let backend = sqlite::Sqlite::start(path, options)?;
        Ok(Self { backend: Arc::new(backend), dialect: Dialect::Sqlite, place })
    }

    /// Makes an empty file for [`migrate`], unless there is one.
    ///
    /// # Errors
    /// The directory cannot be written.
    #[cfg(feature = "sqlite")]
    pub fn make_sqlite(path: impl AsRef<Path>) -> Result<(), StoreError> {
        sqlite::make(path.as_ref())
    }

    /// A store in a PostgreSQL database, which is connected to when it is first needed.
    ///
    /// # Errors
    /// The URL cannot be used; the message never repeats it. No thread can be made.
    #[cfg(feature = "postgres")]
    pub fn postgres(url: &str, options: Options) -> Result<Self, StoreError> {
        let backend = postgres::Postgres::start(url, options)?;
        Ok(Self { backend: Arc::new(backend), dialect: Dialect::Postgres, place: "PostgreSQL".into() })
    }

    /// The same store behind something that loses, delays and doubts, for tests.
    #[must_use]
    pub fn with_faults(&self, faults: Arc<dyn Faults>) -> Self {
        let backend = fault::Faulty::new(Arc::clone(&self.backend), faults);
        Self { backend: Arc::new(backend), dialect: self.dialect, place: Arc::clone(&self.place) }
    }

    /// Runs statements in one transaction, all or none, and gives the rows of each. They are handed over when the
    /// answer is first polled; dropping it then takes nothing back.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn run(&self, statements: Vec<Statement>) -> Result<Vec<Rows>, StoreError> {
        self.hand_over(statements).await.unwrap_or_else(|_| Err(StoreError::ended()))
    }

    /// Runs one statement and gives its rows.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn one(&self, statement: Statement) -> Result<Rows, StoreError> {
        self.run(vec![statement]).await.map(first)
    }

    /// The same, from outside of a runtime or from a thread that may block.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn run_blocking(&self, statements: Vec<Statement>) -> Result<Vec<Rows>, StoreError> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.submit(statements, true, move |answer| {
            // Whoever asked may be gone.
            let _ = sender.send(answer);
        });
        receiver.recv().unwrap_or_else(|_| Err(StoreError::ended()))
    }

    /// Hands statements over at once.
    pub fn hand_over(&self, statements: Vec<Statement>) -> Pending {
        let (sender, receiver) = oneshot::channel();
        self.submit(statements, false, move |answer| {
            // Whoever asked may be gone.
            let _ = sender.send(answer);
        });
        receiver
    }

    /// Hands statements over, and has the answer told on the thread of the store, where nothing may wait.
    /// `must` is for what ends something that was begun: it is never refused because too much waits.
    fn submit(&self, statements: Vec<Statement>, must: bool, reply: impl FnOnce(Answered) + Send + 'static) {
        self.backend.submit(Job { statements, must, reply: Box::new(reply) });
    }
}

fn first(mut answers: Vec<Rows>) -> Rows {
    if answers.is_empty() { Rows::new() } else { answers.swap_remove(0) }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("place", &self.place).finish_non_exhaustive()
    }
}
