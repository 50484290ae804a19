//! PostgreSQL databases as sources of rows, and of effects where they are written to.
//!
//! Each query runs in a read-only transaction with its own statement timeout, on a connection of a
//! bounded pool. A caller who leaves has the statement cancelled in the database, and the connection
//! is thrown away. What a statement is gets judged at load for a good message; the barrier is the
//! transaction, and better a role that cannot write. The gateway opens sources.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use callgate_core::port::{
    Advice, Answer, Cut, Prepared, Query, QueryError, QuerySource, Rows, SourceError, Statement,
};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::NoTls;
use tokio_postgres::config::{Host, SslMode};

use crate::sql::{Dialect, Template};

mod classify;
mod fault;
mod prepare;
mod run;
mod session;
mod value;
mod write;

pub(crate) use fault::reported;
use session::{Access, Session};

/// How a PostgreSQL database is used.
///
/// # Defaults
/// | option | default | why |
/// | --- | --- | --- |
/// | `connections` | 8 | one tool server should not take a database's hundred |
/// | `connection_wait` | 2 s | slow calls must not use up the time of the others; they come again |
/// | `statement_timeout` | 30 s | the deadline of the call is used when it is earlier |
/// | `connect_timeout` | 5 s | a caller waits for it |
/// | `writes` | false | most sources are only read |
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where the database is, with its credentials.
    pub url: String,
    /// How many connections are open at most.
    pub connections: usize,
    /// How long a call waits for a connection while all are in use, at most until its deadline.
    pub connection_wait: Duration,
    /// How long one statement may run.
    pub statement_timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Whether rows may be changed.
    pub writes: bool,
}

impl Options {
    /// The defaults for a database.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections: 8,
            connection_wait: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            writes: false,
        }
    }
}

impl fmt::Debug for Options {
    /// The URL holds a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("connections", &self.connections).finish_non_exhaustive()
    }
}

/// How long judging one statement at load may take.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// A PostgreSQL database as a source.
pub struct Postgres {
    pool: Pool,
    connection_wait: Duration,
    statement_timeout: Duration,
    /// Whether the database is on another machine.
    remote: bool,
    /// Whether rows may be changed.
    writes: bool,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

impl Postgres {
    /// A source on a database, which is connected to when it is first needed.
    ///
    /// # Errors
    /// When the URL cannot be used. The message never repeats it.
    pub fn new(options: &Options) -> Result<Self, SourceError> {
        let refused = |message: &str, remedy: &str| SourceError::Unreachable {
            message: message.to_owned(),
            remedy: remedy.to_owned(),
        };
        let mut config = config(&options.url).map_err(|(message, remedy)| refused(message, remedy))?;
        config.application_name("callgate").connect_timeout(options.connect_timeout);
        let local = |host: &Host| match host {
            Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        let remote = !config.get_hosts().iter().all(local);
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config, NoTls, manager))
            .max_size(options.connections.max(1))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|_| refused("the connection pool cannot be made", "check the options of the source"))?;
        let Options { connection_wait, statement_timeout, writes, .. } = *options;
        Ok(Self { pool, connection_wait, statement_timeout, remote, writes })
    }

    /// A connection in a read-only transaction whose statements end at the deadline.
    async fn session(&self, deadline: Instant, wait: Duration) -> Result<Session, QueryError> {
        let left = deadline.saturating_duration_since(Instant::now());
        Session::begin(&self.pool, Access::Read, wait.min(left), left.min(self.statement_timeout)).await
    }

    async fn run(&self, query: Query, batches: Option<Sender<String>>) -> Result<Rows, QueryError> {
        if query.max_rows == 0 {
            return Ok(Rows { json: "[]".to_owned(), count: 0, cut: Cut::Rows, last: None });
        }
        let work = async {
            let session = self.session(query.deadline, self.connection_wait).await?;
            let result = run::query(&session, &query, batches.as_ref()).await;
            session.end(result.as_ref().err()).await;
            result
        };
        // Leaving drops the session, which cancels its statement.
        timeout_at(query.deadline, work).await.unwrap_or(Err(QueryError::TimedOut))
    }

    /// Runs the judgement of one statement in a session of its own.
    async fn at_load<T>(
        &self,
        work: impl AsyncFnOnce(&Session) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let deadline = Instant::now() + LOAD_TIMEOUT;
        let work = async {
            let session =
                self.session(deadline, LOAD_TIMEOUT).await.map_err(|error| fault::unreachable(&error))?;
            let result = work(&session).await;
            session.end(None).await;
            result
        };
        let late = QueryError::Unavailable { detail: "it does not answer in time".to_owned() };
        timeout_at(deadline, work).await.unwrap_or_else(|_| Err(fault::unreachable(&late)))
    }
}

/// What a URL says, or what is wrong with it and what to do. Neither repeats the URL.
pub(crate) fn config(url: &str) -> Result<tokio_postgres::Config, (&'static str, &'static str)> {
    let config = tokio_postgres::Config::from_str(url).map_err(|_| {
        ("the PostgreSQL URL cannot be read", "write it as `postgres://user@host:5432/database`")
    })?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err((
            "encrypted connections to PostgreSQL are not served by this version",
            "connect over a local socket, a loopback address or a tunnel, and leave `sslmode` out",
        ));
    }
    Ok(config)
}

impl QuerySource for Postgres {
    fn probe(&self) -> Answer<'_, Result<Vec<Advice>, SourceError>> {
        Answer::later(async {
            let mut advice = self.at_load(prepare::advice).await?;
            // A role that writes is what such a source needs.
            advice.retain(|advice| !(self.writes && advice.code == "source_can_write"));
            if self.remote {
                advice.push(Advice {
                    code: "source_unencrypted",
                    message: "the database is on another machine and the connection is not encrypted"
                        .to_owned(),
                    remedy: "connect over a tunnel; this version does not encrypt the connection".to_owned(),
                });
            }
            Ok(advice)
        })
    }

    fn prepare<'a>(&'a self, sql: &'a str) -> Answer<'a, Result<Prepared, SourceError>> {
        let template = match Template::parse(sql, Dialect::Postgres) {
            Ok(template) => template,
            Err(fault) => return Answer::now(Err(SourceError::Statement(vec![fault]))),
        };
        Answer::later(async move {
            self.at_load(async move |session: &Session| {
                prepare::prepare(session, &template, sql, Access::Read).await
            })
            .await
        })
    }

    fn check<'a>(&'a self, statement: &'a Statement) -> Answer<'a, Result<(), SourceError>> {
        Answer::later(self.at_load(async move |session: &Session| prepare::check(session, statement).await))
    }

    fn stream(&self, query: Query, batches: Sender<String>) -> Answer<'_, Result<Rows, QueryError>> {
        Answer::later(self.run(query, Some(batches)))
    }

    fn query(&self, query: Query) -> Answer<'_, Result<Rows, QueryError>> {
        Answer::later(self.run(query, None))
    }
}
