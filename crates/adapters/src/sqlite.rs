//! SQLite files as sources of rows, and of effects where they are written to.
//!
//! Each connection that reads is opened read-only, told to stay so, and has an authorizer that knows only reading
//! and a list of functions; a statement that would write does not even compile. One more connection changes rows, in a
//! file whose options say so. A query that ends in microseconds runs
//! where its call runs; all others run on threads for blocking work. At most as many run as there are connections. A
//! caller who leaves interrupts the statement. The gateway opens sources.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callgate_core::port::{
    Advice, Answer, Cut, Prepared, Query, QueryError, QuerySource, Rows, SourceError, Statement,
};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout_at};

use crate::sql::{Dialect, Template};

mod authorizer;
mod brief;
mod connection;
mod create;
mod pool;
mod prepare;
mod run;
mod write;

use authorizer::Access;
use connection::Connection;
pub use create::create;
use pool::Pool;

/// How a SQLite file is used.
///
/// # Defaults
/// | option | default | why |
/// | --- | --- | --- |
/// | `connections` | 4 | reads run beside each other; more threads than cores gain nothing |
/// | `connection_wait` | 2 s | slow calls must not use up the time of the others; they come again |
/// | `busy_timeout` | 1 s | a writer of another process holds the file for milliseconds |
/// | `value_bytes` | 16 MiB | SQLite gives up before a value can fill the memory |
/// | `writes` | false | most sources are only read |
/// | `writes_waiting` | 64 | writes run one after the other; who would wait long is told so |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The file.
    pub path: PathBuf,
    /// How many connections are open at most.
    pub connections: usize,
    /// How long a call waits for a connection while all are in use, at most until its deadline.
    pub connection_wait: Duration,
    /// How long a query waits for a writer of another process.
    pub busy_timeout: Duration,
    /// The largest string, blob or row that SQLite handles.
    pub value_bytes: i32,
    /// Whether rows may be changed.
    pub writes: bool,
    /// How many writes wait for the one that runs.
    pub writes_waiting: usize,
}

impl Options {
    /// The defaults for a file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            connections: 4,
            connection_wait: Duration::from_secs(2),
            busy_timeout: Duration::from_secs(1),
            value_bytes: 16 << 20,
            writes: false,
            writes_waiting: 64,
        }
    }
}

/// How long judging one statement at load waits for a connection: others are judged beside it.
const LOAD_WAIT: Duration = Duration::from_secs(10);

/// A SQLite file as a source.
#[derive(Debug)]
pub struct Sqlite {
    pool: Arc<Pool>,
    connection_wait: Duration,
    /// The connection that writes, in a source that may.
    writer: Option<write::Writer>,
}

impl Sqlite {
    /// A source on a file, which is opened when it is first needed.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let connection_wait = options.connection_wait;
        let writer = options.writes.then(|| write::Writer::new(&options));
        Self { pool: Arc::new(Pool::new(options, Access::Read)), connection_wait, writer }
    }

    async fn run(&self, query: Query) -> Result<Rows, QueryError> {
        if query.max_rows == 0 {
            return Ok(Rows { json: "[]".to_owned(), count: 0, cut: Cut::Rows, last: None });
        }
        if Instant::now() < query.deadline
            && let Some(rows) =
                self.pool.glance(&query.statement, |connection| run::query(connection, &query))
        {
            return Ok(rows);
        }
        self.work(query, run::query).await
    }

    /// Runs a query as work that may take its time.
    async fn work(
        &self,
        query: Query,
        work: impl FnOnce(&mut Connection, &Query) -> Result<Rows, QueryError> + Send + 'static,
    ) -> Result<Rows, QueryError> {
        let deadline = query.deadline;
        let until = deadline.min(Instant::now() + self.connection_wait);
        let work = Arc::clone(&self.pool).run(until, move |connection| work(connection, &query));
        match timeout_at(deadline, work).await {
            Ok(result) => result?,
            // Leaving drops the work, which interrupts the statement.
            Err(_) => Err(QueryError::TimedOut),
        }
    }
}

impl QuerySource for Sqlite {
    fn probe(&self) -> Answer<'_, Result<Vec<Advice>, SourceError>> {
        Answer::later(async {
            let probed = Arc::clone(&self.pool).run(at_load(), |connection| connection.probe()).await;
            probed.and_then(|result| result).map(|()| Vec::new()).map_err(|error| SourceError::Unreachable {
                message: format!("the SQLite file cannot be opened: {}", detail(&error)),
                remedy:
                    "check `path`, which is relative to the directory of the configuration, that it is a \
                         SQLite database, and its permissions"
                        .to_owned(),
            })
        })
    }

    fn prepare<'a>(&'a self, sql: &'a str) -> Answer<'a, Result<Prepared, SourceError>> {
        let template = match Template::parse(sql, Dialect::Sqlite) {
            Ok(template) => template,
            Err(fault) => return Answer::now(Err(SourceError::Statement(vec![fault]))),
        };
        Answer::later(async move {
            let sql = sql.to_owned();
            let work = Arc::clone(&self.pool)
                .run(at_load(), move |connection| prepare::prepare(connection, &template, &sql, Access::Read))
                .await;
            work.unwrap_or_else(|error| Err(unreachable(&error)))
        })
    }

    fn check<'a>(&'a self, statement: &'a Statement) -> Answer<'a, Result<(), SourceError>> {
        if statement.key.is_empty() {
            return Answer::now(Ok(()));
        }
        let statement = statement.clone();
        Answer::later(async move {
            let work = Arc::clone(&self.pool)
                .run(at_load(), move |connection| prepare::check(connection, &statement))
                .await;
            work.unwrap_or_else(|error| Err(unreachable(&error)))
        })
    }

    fn stream(&self, query: Query, batches: Sender<String>) -> Answer<'_, Result<Rows, QueryError>> {
        Answer::later(self.work(query, move |connection, query| run::stream(connection, query, &batches)))
    }

    fn query(&self, query: Query) -> Answer<'_, Result<Rows, QueryError>> {
        Answer::later(self.run(query))
    }
}

/// Until when judging a statement at load waits for a connection.
fn at_load() -> Instant {
    Instant::now() + LOAD_WAIT
}

fn unreachable(error: &QueryError) -> SourceError {
    SourceError::Unreachable {
        message: format!("the SQLite file cannot be used: {}", detail(error)),
        remedy: "check `path` and the permissions of the file".to_owned(),
    }
}

fn detail(error: &QueryError) -> String {
    match error {
        QueryError::Unavailable { detail } | QueryError::Failed { detail } => detail.clone(),
        other => other.to_string(),
    }
}
