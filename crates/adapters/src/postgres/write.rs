//! Writing to a PostgreSQL database: one transaction with the key of the effect in it.
//!
//! The key goes in first: a second call with it waits in the database until the first has ended. What ends before the
//! commit is sent is rolled back; once it is sent, only an answer proves anything. The source calls it.

use std::pin::pin;

use callgate_core::port::{
    Answer, Bind, EffectKey, Known, Prepared, QueryError, SourceError, Statement, Write, WriteError,
    WriteSource, WriteStep, Written,
};
use callgate_core::receipt::CallId;
use futures_util::TryStreamExt as _;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::error::{Severity, SqlState};

use super::fault::{failure, reported, unreachable};
use super::session::{Access, Session};
use super::value::Parameter;
use super::{Postgres, prepare, run};
use crate::effects::{self, COMMITTED, Kept, LOOK, PAUSE, TRIES, WITHDRAWN};
use crate::paging::quoted;
use crate::rows::{Next, RowWriter};
use crate::sql::{Dialect, Template};

const INSERT: &str = "insert into callgate_effects (key, call, input, state, changed, result, made_us) \
                      values ($1, $2, $3, $4, 0, '', $5) on conflict do nothing";
const FIND: &str = "select key, call, input, state, changed, result from callgate_effects \
                    where key = $1 or call = $2";
const KEEP: &str = "update callgate_effects set changed = $2, result = $3 where key = $1";

/// How one try ended that did not commit.
struct Ended {
    error: WriteError,
    /// Whether the next try may come through: this one was rolled back because of another transaction, or never begun.
    again: bool,
}

impl From<WriteError> for Ended {
    fn from(error: WriteError) -> Self {
        Self { error, again: false }
    }
}

impl From<QueryError> for Ended {
    fn from(error: QueryError) -> Self {
        Self { error: error.into(), again: false }
    }
}

impl From<tokio_postgres::Error> for Ended {
    fn from(error: tokio_postgres::Error) -> Self {
        let again = error.code().is_some_and(|code| {
            [
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
                SqlState::LOCK_NOT_AVAILABLE,
            ]
            .contains(code)
        });
        let constraint = error.code().is_some_and(|code| code.code().starts_with("23"));
        let error = match constraint {
            true => WriteError::Constraint { detail: reported(&error) },
            false => failure(&error).into(),
        };
        Self { error, again }
    }
}

impl Postgres {
    async fn repeat(&self, write: &Write) -> Result<Written, WriteError> {
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            match self.attempt(write).await {
                Ok(written) => return Ok(written),
                Err(ended) if ended.again && Instant::now() + pause < write.deadline => {
                    sleep(pause).await;
                    pause *= 2;
                }
                Err(ended) => return Err(ended.error),
            }
        }
        self.attempt(write).await.map_err(|ended| ended.error)
    }

    async fn attempt(&self, write: &Write) -> Result<Written, Ended> {
        let work = async {
            let session = self.writing(write.deadline).await?;
            match inside(&session, write).await {
                Ok(written) if !written.before => Ok((session, written)),
                // What was done before is there whether this transaction ends well or not.
                Ok(written) => {
                    session.end(None).await;
                    Err(Ok(written))
                }
                Err(ended) => {
                    let kept = match &ended.error {
                        WriteError::Conflict | WriteError::Withdrawn | WriteError::Rows { .. } => None,
                        WriteError::Query(error) => Some(error.clone()),
                        other => Some(QueryError::Failed { detail: other.to_string() }),
                    };
                    session.end(kept.as_ref()).await;
                    Err(Err(ended))
                }
            }
        };
        // Leaving drops the session, which ends its transaction: nothing was committed.
        let inside: Result<_, Result<Written, Ended>> =
            timeout_at(write.deadline, work).await.unwrap_or_else(|_| Err(Err(QueryError::TimedOut.into())));
        let (session, written) = match inside {
            Ok(inside) => inside,
            Err(over) => return over,
        };
        commit(session, write.deadline).await?;
        Ok(written)
    }

    async fn writing(&self, deadline: Instant) -> Result<Session, Result<Written, Ended>> {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = self.connection_wait.min(left);
        let begun = Session::begin(&self.pool, Access::Write, wait, left.min(self.statement_timeout)).await;
        // A connection that the database closed while nobody used it is noticed here.
        let again = |error: &QueryError| matches!(error, QueryError::Unavailable { .. });
        begun.map_err(|error| Err(Ended { again: again(&error), error: error.into() }))
    }

    async fn settle_call(
        &self,
        key: EffectKey,
        call: CallId,
        deadline: Instant,
    ) -> Result<Known, WriteError> {
        let over = |over: Result<Written, Ended>| match over {
            Ok(_) => QueryError::Failed { detail: "nothing was written".to_owned() }.into(),
            Err(ended) => ended.error,
        };
        let work = async {
            let session = self.writing(deadline).await.map_err(over)?;
            match settle(&session, key, call).await {
                Ok(Some(known)) => {
                    session.end(None).await;
                    Ok(Ok(known))
                }
                Ok(None) => Ok(Err(session)),
                Err(ended) => {
                    session.end(Some(&QueryError::TimedOut)).await;
                    Err(ended.error)
                }
            }
        };
        let found = timeout_at(deadline, work).await.unwrap_or_else(|_| Err(QueryError::TimedOut.into()))?;
        match found {
            Ok(known) => Ok(known),
            Err(session) => {
                commit(session, deadline).await.map_err(|ended| ended.error)?;
                Ok(Known::Withdrawn)
            }
        }
    }
}

/// Commits. An error that the database answered with proves that it rolled back; anything else proves nothing.
async fn commit(session: Session, deadline: Instant) -> Result<(), Ended> {
    let unknown = |detail: String| WriteError::Unknown { detail };
    match timeout_at(deadline, session.commit()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let answered = error.as_db_error().is_some_and(|answer| {
                answer.parsed_severity() == Some(Severity::Error)
                    && *answer.code() != SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
            });
            if answered { Err(error.into()) } else { Err(unknown(reported(&error)).into()) }
        }
        Err(_elapsed) => Err(unknown("it did not answer in time".to_owned()).into()),
    }
}

/// The key first, then the statements, then what they gave.
async fn inside(session: &Session, write: &Write) -> Result<Written, Ended> {
    let (key, call, input) = (write.key.to_string(), write.call.to_string(), write.input.to_string());
    if !insert(session, &key, &call, &input, COMMITTED).await? {
        let rows = find(session, &key, &call).await?;
        return Ok(effects::taken(&rows, write.key, write.call, write.input)?);
    }
    let mut written = Written { rows: "[]".to_owned(), changed: 0, before: false };
    for (number, step) in write.steps.iter().enumerate() {
        let rows = statement(session, write, step, &mut written).await?;
        if !(step.min_rows..=step.max_rows).contains(&rows) {
            let (min, max) = (step.min_rows, step.max_rows);
            return Err(WriteError::Rows { statement: number, rows, min, max }.into());
        }
    }
    let client = session.client()?;
    let keep = client.prepare_cached(KEEP).await?;
    let changed = i64::try_from(written.changed).unwrap_or(i64::MAX);
    client.execute(&keep, &[&key, &changed, &written.rows]).await?;
    Ok(written)
}

/// Runs one statement and gives how many rows it changed, or gave where it only reads.
async fn statement(
    session: &Session,
    write: &Write,
    step: &WriteStep,
    written: &mut Written,
) -> Result<u64, Ended> {
    let gives = !step.statement.columns.is_empty();
    let (text, names, reads) = form(&step.statement, step.max_rows, write.max_bytes);
    let client = session.client()?;
    let prepared = client.prepare_cached(&text).await?;
    let mut parameters = Vec::with_capacity(names.len());
    for name in &names {
        let value = write.values.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        parameters.push(Parameter::new(name, value.unwrap_or(&Bind::Null))?);
    }
    let rows = client.query_raw(&prepared, &parameters).await?;
    let mut rows = pin!(rows);
    let max_rows = usize::try_from(step.max_rows).unwrap_or(usize::MAX);
    let mut writer = RowWriter::new(&step.statement, max_rows, write.max_bytes);
    let mut given: u64 = 0;
    while let Some(row) = rows.try_next().await? {
        given += 1;
        if gives && given <= step.max_rows {
            let cells = |index| run::cell(&row, index, step.statement.columns.get(index), write.max_bytes);
            if writer.row(cells, Vec::new())? == Next::Enough {
                return Err(QueryError::RowTooLarge.into());
            }
        }
    }
    let changed = if gives { given } else { rows.rows_affected().unwrap_or(given) };
    if !reads {
        written.changed += changed;
    }
    if gives {
        written.rows = writer.finish().json;
    }
    Ok(changed)
}

/// The statement as it is run, the names of its parameters in the order of their numbers, and whether it only reads. Where
/// its rows are the result, it stands inside a query that turns each column into its exact text.
fn form(statement: &Statement, max_rows: u64, max_bytes: usize) -> (String, Vec<String>, bool) {
    let Ok(template) = Template::parse(&statement.sql, Dialect::Postgres) else {
        // A statement that was accepted at load parses; anything else is left for PostgreSQL to refuse.
        return (statement.sql.clone(), Vec::new(), false);
    };
    let (inner, _, numbers) = template.render_numbered();
    let name = |number: usize| template.parameters().get(number).map(|(name, _)| name.clone());
    let names = numbers.into_iter().filter_map(name).collect();
    let is = |word: &str| template.first_word().is_some_and(|first| first.eq_ignore_ascii_case(word));
    let changes = ["insert", "update", "delete"].iter().any(|verb| template.word(verb).is_some());
    let reads = is("select") || is("values") || !changes;
    if statement.columns.is_empty() {
        return (inner, names, reads);
    }
    let selected: Vec<String> =
        statement.columns.iter().map(|column| run::selected(column, max_bytes)).collect();
    let limit = max_rows.saturating_add(1).min(1 << 40);
    let text = format!(
        "with {rows} as (\n{inner}\n) select {selected} from {rows} limit {limit}",
        rows = quoted("callgate_rows"),
        selected = selected.join(", ")
    );
    (text, names, reads)
}

async fn insert(session: &Session, key: &str, call: &str, input: &str, state: &str) -> Result<bool, Ended> {
    let client = session.client()?;
    let prepared = client.prepare_cached(INSERT).await.map_err(own)?;
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&key, &call, &input, &state, &effects::now_us()];
    Ok(client.execute(&prepared, &values).await.map_err(own)? == 1)
}

async fn find(session: &Session, key: &str, call: &str) -> Result<Vec<Kept>, Ended> {
    let client = session.client()?;
    let prepared = client.prepare_cached(FIND).await.map_err(own)?;
    let mut found = Vec::new();
    for row in client.query(&prepared, &[&key, &call]).await.map_err(own)? {
        found.push(Kept {
            key: row.try_get(0)?,
            call: row.try_get(1)?,
            input: row.try_get(2)?,
            state: row.try_get(3)?,
            changed: row.try_get(4)?,
            result: row.try_get(5)?,
        });
    }
    Ok(found)
}

/// What became of a call; nothing where it was given up just now, which has to be committed. The insert waits for a
/// run of that call which has not ended.
async fn settle(session: &Session, key: EffectKey, call: CallId) -> Result<Option<Known>, Ended> {
    let withdrawn = effects::withdrawn_key(call);
    if insert(session, &withdrawn, &call.to_string(), "", WITHDRAWN).await? {
        return Ok(None);
    }
    let rows = find(session, &key.to_string(), &call.to_string()).await?;
    let lost = || QueryError::Unavailable { detail: "the row of the call came and went".to_owned() };
    effects::known(&rows, call).map(Some).ok_or_else(|| lost().into())
}

/// Why a statement on the table of the keys failed.
fn own(error: tokio_postgres::Error) -> Ended {
    match error.code() {
        Some(code) if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::UNDEFINED_COLUMN => {
            WriteError::NotMigrated.into()
        }
        _ => error.into(),
    }
}

impl Postgres {
    /// Makes the table of the keys where it is not there, and says whether it did.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn migrate(&self) -> Result<bool, SourceError> {
        if WriteSource::is_migrated(self).await? {
            return Ok(false);
        }
        let left = super::LOAD_TIMEOUT;
        let refused = |error: QueryError| unreachable(&error);
        let session = Session::begin(&self.pool, Access::Write, left, left).await.map_err(refused)?;
        for sql in effects::tables("bigint", "") {
            let client = session.client().map_err(refused)?;
            client.batch_execute(&sql).await.map_err(|error| unreachable(&failure(&error)))?;
        }
        session.commit().await.map_err(|error| unreachable(&failure(&error)))?;
        Ok(true)
    }

    /// The statements that [`Postgres::migrate`] would run.
    #[must_use]
    pub fn migration() -> Vec<String> {
        effects::tables("bigint", "").into()
    }
}

impl WriteSource for Postgres {
    fn is_migrated(&self) -> Answer<'_, Result<bool, SourceError>> {
        Answer::later(self.at_load(async |session: &Session| {
            let client = session.client().map_err(|error| unreachable(&error))?;
            match client.prepare(LOOK).await {
                Ok(_) => Ok(true),
                Err(error) if matches!(own_code(&error), Some(true)) => Ok(false),
                Err(error) => Err(unreachable(&failure(&error))),
            }
        }))
    }

    fn prepare_write<'a>(&'a self, sql: &'a str) -> Answer<'a, Result<Prepared, SourceError>> {
        let template = match Template::parse(sql, Dialect::Postgres) {
            Ok(template) => template,
            Err(fault) => return Answer::now(Err(SourceError::Statement(vec![fault]))),
        };
        if let Some(fault) = effects::touches(sql) {
            return Answer::now(Err(SourceError::Statement(vec![fault])));
        }
        Answer::later(async move {
            self.at_load(async move |session: &Session| {
                prepare::prepare(session, &template, sql, Access::Write).await
            })
            .await
        })
    }

    fn check_write<'a>(&'a self, step: &'a WriteStep) -> Answer<'a, Result<(), SourceError>> {
        Answer::later(self.at_load(async move |session: &Session| {
            let client = session.client().map_err(|error| unreachable(&error))?;
            let (text, ..) = form(&step.statement, 1, 1);
            let prepared = client.prepare(&text).await;
            prepared.map_err(|error| prepare::statement_error(&error, "sql_returning", |_| None))?;
            Ok(())
        }))
    }

    fn write(&self, write: Write) -> Answer<'_, Result<Written, WriteError>> {
        Answer::later(async move {
            if !self.writes {
                return Err(QueryError::Failed { detail: "the source is not written to".to_owned() }.into());
            }
            self.repeat(&write).await
        })
    }

    fn settle(
        &self,
        key: EffectKey,
        call: CallId,
        deadline: Instant,
    ) -> Answer<'_, Result<Known, WriteError>> {
        Answer::later(self.settle_call(key, call, deadline))
    }
}

/// Whether an error says that the table of the keys is not there.
fn own_code(error: &tokio_postgres::Error) -> Option<bool> {
    error.code().map(|code| *code == SqlState::UNDEFINED_TABLE || *code == SqlState::UNDEFINED_COLUMN)
}
