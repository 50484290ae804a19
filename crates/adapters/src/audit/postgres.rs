//! A trail in a PostgreSQL database that several instances share.
//!
//! The row of the store is locked while a group is appended, so that all instances write one chain. The
//! tables are made by `callgate audit init` and by nothing else. The writer drives the store; the command
//! line reads with the reader. Each has its own runtime on its own thread, so that neither may be used
//! inside another one.

use std::time::Duration;

use callgate_core::contract::digest::Digest;
use callgate_core::port::{Entropy as _, SystemEntropy};
use futures_util::future::{try_join, try_join3};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::body::{Body, Value};
use super::chain::{Link, Linker, checkpoint_body, checkpoint_of, genesis};
use super::column::{Column, Shape};
use super::read::{self, Bound, Failure, Filter, Reader, Row, StoreHead};
use super::removal::is_doubted;
use super::schema::{Dialect, VERSION};
use super::writer::{Pruned, Store, StoreError};
use super::{Checkpoint, Durability, Limits, Options};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(4);
/// How long one question of a reader may take.
const READ: Duration = Duration::from_secs(60);
/// The lock under which the tables are made: `callgate` in ASCII.
const INIT_LOCK: i64 = 0x6361_6C6C_6761_7465;
/// What a record takes beside its columns: the heads of its tuple and of its entries in the indexes.
const OVERHEAD: f64 = 160.0;

/// The writing side of a database.
#[derive(Debug)]
pub struct PostgresStore {
    config: Config,
    runtime: Runtime,
    open: Option<Open>,
    /// The id of the store that was found first, and its end as it was written last; another one is
    /// another trail.
    known: Option<(String, Link)>,
}

struct Open {
    client: Client,
    id: String,
    head: Statement,
    insert: Statement,
    update: Statement,
    /// Whether it was used before, so that it may have been closed behind our back.
    used: bool,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("id", &self.id).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// A store on a database, which is connected to when it is opened.
    ///
    /// # Errors
    /// The URL cannot be used. The message never repeats it.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let config =
            crate::postgres::config(url).map_err(|(message, remedy)| StoreError::new(message, remedy))?;
        let runtime = runtime().map_err(|message| StoreError::new(message, "free memory of this machine"))?;
        Ok(Self { config, runtime, open: None, known: None })
    }

    /// Does one piece of work on the open connection. Whatever state a connection is in after an error,
    /// the next attempt begins with a new one.
    fn with<T>(
        &mut self,
        options: &Options,
        work: impl AsyncFn(&Open, Link) -> Result<(T, Link), Failed>,
    ) -> Result<T, StoreError> {
        let Self { config, runtime, open, known } = self;
        runtime.block_on(async {
            loop {
                let current = match open.take() {
                    Some(current) => current,
                    None => {
                        let fresh = timeout(CONNECT, Open::new(config, options)).await;
                        let (fresh, end) = fresh.unwrap_or_else(|_| Err(late()))?;
                        if known.get_or_insert_with(|| (fresh.id.clone(), end)).0 != fresh.id {
                            return Err(StoreError::new("another trail is in its place", REPLACED));
                        }
                        fresh
                    }
                };
                let Some((_, end)) = known else { return Err(late()) };
                let done = timeout(options.limits.answer, work(&current, *end)).await;
                match done {
                    Ok(Ok((value, written))) => {
                        *end = written;
                        *open = Some(Open { used: true, ..current });
                        return Ok(value);
                    }
                    // A connection that was closed while it was idle did nothing of this.
                    Ok(Err(Failed::Database { before: true, error })) if current.used && is_gone(&error) => {}
                    Ok(Err(Failed::Database { error, .. })) => return Err(explained(&error)),
                    Ok(Err(Failed::Cut(message))) => return Err(StoreError::new(message, REPLACED)),
                    Err(_) => return Err(late()),
                }
            }
        })
    }
}

const REPLACED: &str =
    "find out who did it, restore the tables, or restart the server to go on with what is there";

/// Why a piece of work failed.
enum Failed {
    /// The database did not do it; whether that was before anything could have been written.
    Database { error: tokio_postgres::Error, before: bool },
    /// The end that was written is not there any more.
    Cut(String),
}

/// Whether the connection ended: the server closed it, or told it to end.
fn is_gone(error: &tokio_postgres::Error) -> bool {
    let told = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::IDLE_SESSION_TIMEOUT];
    error.is_closed() || error.code().is_none() || error.code().is_some_and(|code| told.contains(code))
}

impl From<tokio_postgres::Error> for Failed {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database { error, before: false }
    }
}

fn late() -> StoreError {
    StoreError::new("the PostgreSQL database does not answer in time", "check the database and the way to it")
}

impl Store for PostgresStore {
    fn open(&mut self, options: &Options) -> Result<(), StoreError> {
        self.with(options, async |_, end| Ok(((), end)))
    }

    fn append(&mut self, bodies: &[&Body], options: &Options) -> Result<(), StoreError> {
        self.with(options, async |open, known| {
            let end = open.begin(known).await?;
            Ok(((), open.append_and_commit(end, bodies).await?))
        })
    }

    fn prune(&mut self, now_us: i64, options: &Options) -> Result<Pruned, StoreError> {
        self.with(options, async |open, known| open.prune(now_us, options, known).await)
    }
}

impl Open {
    async fn new(config: &Config, options: &Options) -> Result<(Self, Link), StoreError> {
        let client = connect(config).await.map_err(|error| explained(&error))?;
        let Limits { lock_wait, answer, .. } = options.limits;
        let synchronous = match options.durability {
            Durability::Full => "on",
            Durability::Normal => "off",
        };
        let settings = format!(
            "set lock_timeout = {}; set statement_timeout = {1}; set idle_in_transaction_session_timeout = {1}; \
             set synchronous_commit = {synchronous}",
            lock_wait.as_millis().max(1),
            answer.as_millis().max(1)
        );
        client.batch_execute(&settings).await.map_err(|error| explained(&error))?;
        let id = store_id(&client).await?;
        let head = client.prepare("select seq, hash from callgate_audit_store for update");
        let insert = insertion();
        let insert = client.prepare(&insert);
        let update = client.prepare("update callgate_audit_store set seq = $1, hash = $2");
        let (head, insert, update) =
            try_join3(head, insert, update).await.map_err(|error| explained(&error))?;
        let row = client.query_one("select seq, hash from callgate_audit_store", &[]).await;
        let end = row.and_then(|row| Ok(Link { seq: row.try_get(0)?, hash: digest_at(&row, 1)? }));
        let end = end.map_err(|error| explained(&error))?;
        Ok((Self { client, id, head, insert, update, used: false }, end))
    }

    /// Begins a transaction that holds the end of the chain.
    async fn begin(&self, known: Link) -> Result<Link, Failed> {
        let begin = self.client.batch_execute("begin isolation level read committed");
        let head = self.client.query_one(&self.head, &[]);
        // Both are sent at once and answered in their order.
        let ((), row) =
            try_join(begin, head).await.map_err(|error| Failed::Database { error, before: true })?;
        let end = Link { seq: row.try_get(0)?, hash: digest_at(&row, 1)? };
        if end != known {
            // Another instance wrote, or somebody took away what was written.
            let kept = self
                .client
                .query_opt("select hash from callgate_audit where seq = $1", &[&known.seq])
                .await?;
            let kept = kept.map(|row| digest_at(&row, 0)).transpose()?;
            if let Err(message) = known.judge(end, kept) {
                // The row would stay locked until this connection is looked after again.
                self.client.batch_execute("rollback").await?;
                return Err(Failed::Cut(message));
            }
        }
        Ok(end)
    }

    async fn append_and_commit(&self, end: Link, bodies: &[&Body]) -> Result<Link, tokio_postgres::Error> {
        let mut linker = Linker::new(&self.id, end);
        let mut places = Vec::with_capacity(bodies.len());
        for body in bodies {
            places.push(linker.next(body));
        }
        let end = linker.end;
        let columns = columns(bodies, &places);
        let parameters: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| &**column as _).collect();
        let hash = end.hash.as_bytes().as_slice();
        let insert = self.client.execute(&self.insert, &parameters);
        let update_parameters: [&(dyn ToSql + Sync); 2] = [&end.seq, &hash];
        let update = self.client.execute(&self.update, &update_parameters);
        // A transaction in which something failed is rolled back by its commit.
        let commit = self.client.batch_execute("commit");
        try_join3(insert, update, commit).await.map(|_| end)
    }

    async fn prune(&self, now_us: i64, options: &Options, known: Link) -> Result<(Pruned, Link), Failed> {
        let end = self.begin(known).await?;
        let step = i64::from(options.limits.prune_step.max(1));
        let row = self.client.query_one("select min(seq) from callgate_audit", &[]).await?;
        let first: Option<i64> = row.try_get(0)?;
        let Some(first) = first else { return self.nothing(end).await };
        let checkpoint = self.last_checkpoint().await?;
        let through = checkpoint.map_or(0, |checkpoint| checkpoint.through.seq);
        if first > through {
            let removable = self.removable(first, end.seq, now_us, options).await?;
            let Some(through) = removable else { return self.nothing(end).await };
            let row = self
                .client
                .query_one("select hash, time_us from callgate_audit where seq = $1", &[&through])
                .await?;
            let hash = digest_at(&row, 0)?;
            let removed = through.saturating_sub(first).saturating_add(1);
            let body = checkpoint_body(now_us, Link { seq: through, hash }, removed, row.try_get(1)?);
            return Ok((Pruned::More, self.append_and_commit(end, &[&body]).await?));
        }
        // A checkpoint that cannot be true deletes nothing that may not go anyway.
        let through = match checkpoint.is_some_and(|checkpoint| is_doubted(&checkpoint, options, now_us)) {
            false => through,
            true => match self.removable(first, end.seq, now_us, options).await? {
                Some(removable) => through.min(removable),
                None => return self.nothing(end).await,
            },
        };
        let until = through.min(first.saturating_add(step).saturating_sub(1));
        self.client.execute("delete from callgate_audit where seq <= $1", &[&until]).await?;
        self.client.batch_execute("commit").await?;
        Ok((Pruned::More, end))
    }

    async fn nothing(&self, end: Link) -> Result<(Pruned, Link), Failed> {
        self.client.batch_execute("rollback").await?;
        Ok((Pruned::Done, end))
    }

    async fn last_checkpoint(&self) -> Result<Option<Checkpoint>, Failed> {
        let found = self.client.query_opt(&read::last_checkpoint(), &[]).await?;
        Ok(match found {
            Some(found) => checkpoint_of(&row(&found)?),
            None => None,
        })
    }

    /// The last record that may go now, if any may.
    async fn removable(
        &self,
        first: i64,
        end: i64,
        now_us: i64,
        options: &Options,
    ) -> Result<Option<i64>, Failed> {
        let mut through = None;
        if let Some(days) = options.retention_days {
            let limit = now_us.saturating_sub(i64::from(days).saturating_mul(86_400_000_000));
            let kept: Option<i64> = self
                .client
                .query_one(
                    "select min(seq) from (select seq from callgate_audit where time_us >= $1 order by time_us limit \
                     1000) as kept",
                    &[&limit],
                )
                .await?
                .try_get(0)?;
            through = Some(kept.unwrap_or(end.saturating_add(1)).saturating_sub(1));
        }
        if let Some(bytes) = options.retention_bytes {
            // Deleted rows keep their pages until a vacuum, so the size of the table would say too much.
            let average: Option<f64> = self
                .client
                .query_one(
                    "select avg(pg_column_size(sample.*))::float8 from (select * from callgate_audit order by seq desc \
                     limit 1000) as sample",
                    &[],
                )
                .await?
                .try_get(0)?;
            let room = (bytes as f64 / (average.unwrap_or(1000.0) + OVERHEAD)) as i64;
            let rows = end.saturating_sub(first).saturating_add(1);
            if rows > room {
                // A tenth more, so that it is not at the bound again at once.
                let last = end.saturating_sub(room.saturating_sub(room / 10));
                through = Some(through.unwrap_or(0).max(last));
            }
        }
        Ok(through.map(|through: i64| through.min(end)).filter(|through| *through >= first))
    }
}

/// The values of all records, one array a column.
fn columns(bodies: &[&Body], places: &[(Link, Digest)]) -> Vec<Box<dyn ToSql + Sync>> {
    fn bytes(digest: &Digest) -> Vec<u8> {
        digest.as_bytes().to_vec()
    }
    let mut columns: Vec<Box<dyn ToSql + Sync>> = vec![
        Box::new(places.iter().map(|(link, _)| link.seq).collect::<Vec<i64>>()),
        Box::new(places.iter().map(|(_, previous)| bytes(previous)).collect::<Vec<_>>()),
        Box::new(places.iter().map(|(link, _)| bytes(&link.hash)).collect::<Vec<_>>()),
    ];
    for column in Column::ALL {
        let values = bodies.iter().map(|body| body.get(column));
        columns.push(match column.shape() {
            Shape::Text => {
                Box::new(values.map(|value| value.text().map(str::to_owned)).collect::<Vec<Option<String>>>())
            }
            Shape::Integer => Box::new(values.map(Value::integer).collect::<Vec<Option<i64>>>()),
            Shape::Digest => {
                Box::new(values.map(|value| value.digest().map(bytes)).collect::<Vec<Option<Vec<u8>>>>())
            }
        });
    }
    columns
}

fn insertion() -> String {
    let mut arrays = vec!["$1::bigint[]".to_owned(), "$2::bytea[]".to_owned(), "$3::bytea[]".to_owned()];
    for (at, column) in Column::ALL.into_iter().enumerate() {
        let kind = match column.shape() {
            Shape::Text => "text",
            Shape::Integer => "bigint",
            Shape::Digest => "bytea",
        };
        arrays.push(format!("${}::{kind}[]", at + 4));
    }
    format!(
        "insert into callgate_audit (seq, previous, hash, {}) select * from unnest({})",
        Column::list(),
        arrays.join(", ")
    )
}

async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let mut config = config.clone();
    config.connect_timeout(CONNECT);
    if config.get_application_name().is_none() {
        config.application_name("callgate-audit");
    }
    let (client, connection) = config.connect(NoTls).await?;
    // It ends when the client is dropped; the runtime is ours alone.
    drop(tokio::spawn(connection));
    Ok(client)
}

async fn store_id(client: &Client) -> Result<String, StoreError> {
    let found = client.query_one("select id, version from callgate_audit_store", &[]).await;
    let row = found.map_err(|error| explained(&error))?;
    let (id, version): (String, i64) = row
        .try_get(0)
        .and_then(|id| row.try_get(1).map(|version| (id, version)))
        .map_err(|error| explained(&error))?;
    if version == VERSION {
        return Ok(id);
    }
    Err(StoreError::new(
        format!("the tables of the trail have version {version}, and this program writes {VERSION}"),
        "use the program that made them, or another database",
    ))
}

/// Makes the tables where there are none, and gives the id of the store.
///
/// # Errors
/// The database cannot be reached, or the role may not make tables.
pub fn init(url: &str) -> Result<String, StoreError> {
    let config =
        crate::postgres::config(url).map_err(|(message, remedy)| StoreError::new(message, remedy))?;
    let runtime = runtime().map_err(|message| StoreError::new(message, "free memory of this machine"))?;
    runtime.block_on(async {
        let client = connect(&config).await.map_err(|error| explained(&error))?;
        let mut bytes = [0_u8; 16];
        SystemEntropy::default()
            .fill(&mut bytes)
            .map_err(|error| StoreError::new(error.to_string(), "use a system whose random source works"))?;
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        make(&client, &id).await.map_err(|error| explained(&error))?;
        store_id(&client).await
    })
}

async fn make(client: &Client, id: &str) -> Result<(), tokio_postgres::Error> {
    client.batch_execute(&format!("begin; select pg_advisory_xact_lock({INIT_LOCK})")).await?;
    let row = client.query_one("select to_regclass('callgate_audit_store') is null", &[]).await?;
    if row.try_get::<_, bool>(0)? {
        client.batch_execute(&Dialect::Postgres.tables()).await?;
        let start = genesis(id);
        client
            .execute(
                "insert into callgate_audit_store (one, version, id, seq, hash) values (1, $1, $2, 0, $3)",
                &[&VERSION, &id, &start.hash.as_bytes().as_slice()],
            )
            .await?;
    }
    client.batch_execute("commit").await
}

fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime could be made: {error}"))
}

/// The reading side of a database. It never writes, and must not be used inside a runtime.
#[derive(Debug)]
pub struct PostgresReader {
    // Before the runtime, which it needs to end.
    client: Client,
    runtime: Runtime,
    /// How long one question may take.
    patience: Duration,
}

/// An answer of the database, or that it took too long.
async fn in_time<T>(
    patience: Duration,
    question: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Failure> {
    match timeout(patience, question).await {
        Ok(answer) => answer.map_err(|error| unreadable(&error)),
        Err(_) => Err(Failure::Unreachable("the database does not answer in time".to_owned())),
    }
}

impl PostgresReader {
    /// Connects to a database.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn open(url: &str) -> Result<Self, Failure> {
        let config = crate::postgres::config(url)
            .map_err(|(message, remedy)| Failure::Unreachable(format!("{message}; {remedy}")))?;
        let runtime = runtime().map_err(Failure::Unreachable)?;
        let client = runtime.block_on(in_time(READ, async {
            let client = connect(&config).await?;
            // One transaction, so that all questions see the same trail.
            client.batch_execute("begin isolation level repeatable read read only").await?;
            Ok(client)
        }))?;
        Ok(Self { client, runtime, patience: READ })
    }

    /// The same with another bound on the time that one question may take.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    fn ask<T>(&self, question: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
        self.runtime.block_on(in_time(self.patience, question))
    }

    fn rows(&self, (text, bound): (String, Vec<Bound>)) -> Result<Vec<Row>, Failure> {
        let parameters: Vec<&(dyn ToSql + Sync)> = bound
            .iter()
            .map(|bound| -> &(dyn ToSql + Sync) {
                match bound {
                    Bound::Text(text) => text,
                    Bound::Integer(number) => number,
                }
            })
            .collect();
        let found = self.ask(self.client.query(&text, &parameters))?;
        found.iter().map(|found| row(found).map_err(|error| Failure::Damaged(error.to_string()))).collect()
    }
}

impl Reader for PostgresReader {
    fn head(&mut self) -> Result<StoreHead, Failure> {
        let question = self.client.query_one("select id, version, seq, hash from callgate_audit_store", &[]);
        let row = self.ask(question)?;
        let read = || {
            let end = Link { seq: row.try_get(2)?, hash: digest_at(&row, 3)? };
            Ok((StoreHead { id: row.try_get(0)?, end }, row.try_get::<_, i64>(1)?))
        };
        let (head, version) =
            read().map_err(|error: tokio_postgres::Error| Failure::Damaged(error.to_string()))?;
        if version == VERSION {
            return Ok(head);
        }
        Err(Failure::Damaged(format!("the tables have version {version}, and this program reads {VERSION}")))
    }

    fn newest(&mut self, filter: &Filter, limit: u32) -> Result<Vec<Row>, Failure> {
        self.rows(filter.newest(limit, Dialect::Postgres))
    }

    fn after(&mut self, seq: i64, filter: &Filter, limit: u32) -> Result<Vec<Row>, Failure> {
        self.rows(filter.after(seq, limit, Dialect::Postgres))
    }

    fn checkpoint(&mut self) -> Result<Option<Row>, Failure> {
        self.rows((read::last_checkpoint(), Vec::new())).map(|rows| rows.into_iter().next())
    }

    fn integrity(&mut self) -> Result<Vec<String>, Failure> {
        // PostgreSQL checks its own pages, where checksums are enabled, when it reads them.
        Ok(Vec::new())
    }
}

fn row(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let mut values = [const { Value::Null }; Column::COUNT];
    for (at, (column, place)) in Column::ALL.into_iter().zip(&mut values).enumerate() {
        let at = at + 3;
        *place = match column.shape() {
            Shape::Text => row.try_get::<_, Option<String>>(at)?.map_or(Value::Null, Value::Text),
            Shape::Integer => row.try_get::<_, Option<i64>>(at)?.map_or(Value::Null, Value::Integer),
            Shape::Digest => match row.try_get::<_, Option<&[u8]>>(at)? {
                Some(bytes) => Value::Digest(digest_of(bytes)),
                None => Value::Null,
            },
        };
    }
    Ok(Row {
        seq: row.try_get(0)?,
        previous: digest_at(row, 1)?,
        hash: digest_at(row, 2)?,
        body: Body::of(values),
    })
}

fn digest_at(row: &tokio_postgres::Row, at: usize) -> Result<Digest, tokio_postgres::Error> {
    row.try_get::<_, &[u8]>(at).map(digest_of)
}

/// Bytes that are no digest are none that anything hashes to, so the chain finds them.
fn digest_of(bytes: &[u8]) -> Digest {
    bytes.try_into().map_or_else(|_| Digest::of_bytes(bytes), Digest::from_bytes)
}

/// What went wrong with a database that is written, and what to do.
fn explained(error: &tokio_postgres::Error) -> StoreError {
    let message = crate::postgres::reported(error);
    match error.code() {
        Some(code) if *code == SqlState::UNDEFINED_TABLE => {
            StoreError::new("the database has no audit trail", "make its tables with `callgate audit init`")
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::new(
            message,
            "let the role select, insert and delete in callgate_audit, and select and update callgate_audit_store",
        ),
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => {
            StoreError::new(message, "end the session that holds the row of callgate_audit_store")
        }
        Some(code) if *code == SqlState::DISK_FULL => StoreError::new(message, "free space on its disk"),
        _ => StoreError::new(message, "check `url`, that the server runs, and that the role may connect"),
    }
}

/// What went wrong with a database that is read.
fn unreadable(error: &tokio_postgres::Error) -> Failure {
    match error.code() {
        Some(code) if *code == SqlState::UNDEFINED_TABLE => Failure::Unreachable(
            "the database has no audit trail; make its tables with `callgate audit init`".to_owned(),
        ),
        Some(code) if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            Failure::Damaged(crate::postgres::reported(error))
        }
        _ => Failure::Unreachable(crate::postgres::reported(error)),
    }
}
