//! A store in a PostgreSQL database that several instances share.
//!
//! One thread with its own runtime holds few connections; one statement is one round trip and its own
//! transaction, and PostgreSQL groups the commits of all connections. A connection on which something failed is
//! thrown away. It must never repeat a statement whose answer was lost: whoever handed it over decides that.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{NoTls, Row as Found};
use tokio_util::task::TaskTracker;

use super::queue::{Answered, Job};
use super::statement::Dialect;
use super::{Backend, Durability, Options, Row, Rows, Statement, StoreError, Value};

/// How long dropping the store waits for what is at work.
const CLOSE: Duration = Duration::from_secs(5);

/// The handle of the thread.
pub(super) struct Postgres {
    sender: Option<UnboundedSender<Job>>,
    waiting: Arc<AtomicUsize>,
    bound: usize,
    thread: ThreadId,
    ended: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Postgres {
    pub(super) fn start(url: &str, options: Options) -> Result<Self, StoreError> {
        let config =
            crate::postgres::config(url).map_err(|(message, remedy)| StoreError::refused(message, remedy))?;
        let pool = pool(config, &options)?;
        let (sender, receiver) = unbounded_channel();
        let (end, ended) = std::sync::mpsc::sync_channel(1);
        let waiting = Arc::new(AtomicUsize::new(0));
        let (bound, answer, counted) = (options.waiting, options.answer, Arc::clone(&waiting));
        let remedy = "free memory or threads of this machine";
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            StoreError::unavailable(format!("its runtime cannot be made: {error}"), remedy)
        })?;
        let thread = std::thread::Builder::new()
            .name("callgate-store".to_owned())
            .spawn(move || {
                runtime.block_on(work(receiver, pool, answer, counted));
                // Whoever waits may be gone.
                let _ = end.send(());
            })
            .map_err(|error| {
                StoreError::unavailable(format!("its thread cannot be made: {error}"), remedy)
            })?;
        let thread = thread.thread().id();
        Ok(Self { sender: Some(sender), waiting, bound, thread, ended: Mutex::new(ended) })
    }
}

impl Backend for Postgres {
    fn submit(&self, job: Job) {
        let waiting = self.waiting.fetch_add(1, Ordering::AcqRel);
        if waiting >= self.bound && !job.must {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            return job.answer(Err(StoreError::Busy));
        }
        let refused = match &self.sender {
            Some(sender) => sender.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            job.answer(Err(StoreError::ended()));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.sender = None;
        if self.thread == std::thread::current().id() {
            // The last handle went with an answer, on the thread itself.
            return;
        }
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(CLOSE).is_err() {
            tracing::error!("the store was not written to its end in time");
        }
    }
}

async fn work(mut receiver: UnboundedReceiver<Job>, pool: Pool, answer: Duration, waiting: Arc<AtomicUsize>) {
    let tasks = TaskTracker::new();
    while let Some(job) = receiver.recv().await {
        let (pool, waiting) = (pool.clone(), Arc::clone(&waiting));
        tasks.spawn(async move {
            let answered = run(&pool, &job.statements, answer).await;
            waiting.fetch_sub(1, Ordering::AcqRel);
            job.answer(answered);
        });
    }
    tasks.close();
    tasks.wait().await;
}

fn pool(mut config: tokio_postgres::Config, options: &Options) -> Result<Pool, StoreError> {
    if config.get_application_name().is_none() {
        config.application_name("callgate-store");
    }
    config.connect_timeout(options.connect);
    let synchronous = match options.durability {
        Durability::Full => "on",
        Durability::Normal => "off",
    };
    let settings = format!(
        "set lock_timeout = {}; set statement_timeout = {1}; set idle_in_transaction_session_timeout = {1}; \
         set synchronous_commit = {synchronous}",
        options.lock_wait.as_millis().max(1),
        options.answer.as_millis().max(1)
    );
    let settings: Arc<str> = settings.into();
    let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    Pool::builder(Manager::from_config(config, NoTls, manager))
        .max_size(options.connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(options.answer))
        .create_timeout(Some(options.connect))
        .post_create(Hook::async_fn(move |client, _| {
            let settings = Arc::clone(&settings);
            Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
        }))
        .build()
        .map_err(|error| StoreError::refused(format!("its pool cannot be made: {error}"), "report this"))
}

async fn run(pool: &Pool, statements: &[Statement], answer: Duration) -> Answered {
    let mut client = pool.get().await.map_err(|error| unreached(&error))?;
    let done = timeout(answer, all(&mut client, statements)).await;
    match done {
        Ok(Ok(rows)) => Ok(rows),
        Ok(Err(error)) => {
            let explained = explained(&error);
            if !explained.proves_nothing_done() {
                drop(Object::take(client));
            }
            Err(explained)
        }
        Err(_elapsed) => {
            drop(Object::take(client));
            Err(StoreError::unavailable("it did not answer in time", "check the database and the way to it"))
        }
    }
}

async fn all(client: &mut Object, statements: &[Statement]) -> Result<Vec<Rows>, tokio_postgres::Error> {
    if let [only] = statements {
        let prepared = client.prepare_cached(&Dialect::Postgres.render(only.sql())).await?;
        let found = client.query(&prepared, &parameters(only)).await?;
        return Ok(vec![rows(&found)?]);
    }
    let transaction = client.transaction().await?;
    let mut answers = Vec::with_capacity(statements.len());
    for statement in statements {
        let prepared = transaction.prepare_cached(&Dialect::Postgres.render(statement.sql())).await?;
        let found = transaction.query(&prepared, &parameters(statement)).await?;
        answers.push(rows(&found)?);
    }
    transaction.commit().await?;
    Ok(answers)
}

fn parameters(statement: &Statement) -> Vec<&(dyn ToSql + Sync)> {
    statement.values().iter().map(|value| -> &(dyn ToSql + Sync) { value }).collect()
}

fn rows(found: &[Found]) -> Result<Rows, tokio_postgres::Error> {
    found.iter().map(row).collect()
}

fn row(found: &Found) -> Result<Row, tokio_postgres::Error> {
    let mut values = Vec::with_capacity(found.len());
    for (at, column) in found.columns().iter().enumerate() {
        let kind = column.type_();
        let integer = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
        values.push(if *kind == Type::INT8 {
            integer(found.try_get(at)?)
        } else if *kind == Type::INT4 {
            integer(found.try_get::<_, Option<i32>>(at)?.map(i64::from))
        } else if *kind == Type::BYTEA {
            found.try_get::<_, Option<Vec<u8>>>(at)?.map_or(Value::Null, Value::Bytes)
        } else {
            found.try_get::<_, Option<String>>(at)?.map_or(Value::Null, Value::Text)
        });
    }
    Ok(Row(values))
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Self::Integer(number) => number.to_sql_checked(kind, out),
            Self::Text(text) => text.to_sql_checked(kind, out),
            Self::Bytes(bytes) => bytes.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Which type it is stands in the statement; the value checks it.
        true
    }

    to_sql_checked!();
}

fn unreached(error: &PoolError) -> StoreError {
    let remedy = "check `url`, that the server runs, and that the role may connect";
    match error {
        PoolError::Timeout(_) => StoreError::Busy,
        PoolError::Backend(error) => StoreError::unavailable(crate::postgres::reported(error), remedy),
        PoolError::PostCreateHook(HookError::Backend(error)) => {
            StoreError::unavailable(crate::postgres::reported(error), remedy)
        }
        other => StoreError::unavailable(other.to_string(), remedy),
    }
}

/// What went wrong, and what to do. An answer of the database to a statement proves that it was undone; the end of
/// a connection proves nothing.
fn explained(error: &tokio_postgres::Error) -> StoreError {
    let message = crate::postgres::reported(error);
    let told = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_SESSION_TIMEOUT,
    ];
    let Some(code) = error.code().filter(|code| !told.contains(code)) else {
        return StoreError::unavailable(message, "check the database and the way to it");
    };
    let remedy = if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::UNDEFINED_COLUMN {
        "run `callgate migrate` with this version of the program"
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        "let the role select, insert, update and delete in the tables that begin with callgate_"
    } else if *code == SqlState::DISK_FULL {
        "free space on its disk"
    } else {
        "check the database"
    };
    StoreError::refused(message, remedy)
}
