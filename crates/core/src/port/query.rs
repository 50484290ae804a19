//! Sources of rows: what a tool that is one query needs from a store.
//!
//! A source only ever reads. It must never put a value into the text of a statement, never give a
//! column that was not asked for, and never go on working for a caller who has left. The gateway
//! prepares statements at load and runs them in calls.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::Answer;

/// A store that answers queries.
///
/// Dropping the future of [`QuerySource::query`] stops the statement in the store, not only here.
pub trait QuerySource: Send + Sync {
    /// Reaches the store once and says what should be better about how it is reached.
    fn probe(&self) -> Answer<'_, Result<Vec<Advice>, SourceError>>;

    /// Judges a statement: that it is one query, that it only reads, and what goes in and comes out.
    /// Parameters are written `:name`.
    fn prepare<'a>(&'a self, sql: &'a str) -> Answer<'a, Result<Prepared, SourceError>>;

    /// Tries the forms in which the store will see a statement, without running any of them.
    fn check<'a>(&'a self, statement: &'a Statement) -> Answer<'a, Result<(), SourceError>>;

    /// Runs a statement and hands its rows over while they come, in JSON arrays of some tens of kilobytes; the
    /// answer holds those that are left, and counts all. Where nobody takes them any more, the statement stops.
    fn stream(&self, query: Query, batches: Sender<String>) -> Answer<'_, Result<Rows, QueryError>>;

    /// Runs a statement.
    fn query(&self, query: Query) -> Answer<'_, Result<Rows, QueryError>>;
}

/// What a statement takes and gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The parameters, each once, in the order of their first use, and where that is.
    pub parameters: Vec<(String, Range<usize>)>,
    /// The columns in the order of the statement.
    pub columns: Vec<SourceColumn>,
}

/// A column that a statement gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// The type as the store names it, where it has one.
    pub type_name: Option<String>,
    /// What kind of values the column holds.
    pub class: Class,
}

/// What kind of values a column holds, as far as the store knows before it runs the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// Anything: the store has types of values, not of columns.
    Unknown,
    /// Truth values.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Exact decimals.
    Decimal,
    /// Binary floating point numbers.
    Float,
    /// Text, and everything that is shown as text.
    Text,
    /// Days.
    Date,
    /// Times of day without a zone.
    Time,
    /// Times of day with a zone.
    ZonedTime,
    /// Points in time without a zone, which nobody can place.
    Timestamp,
    /// Points in time.
    ZonedTimestamp,
    /// JSON, arrays and records.
    Json,
    /// Bytes.
    Bytes,
}

/// A statement as it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The query, with parameters written `:name`, and without a semicolon at its end.
    pub sql: String,
    /// The columns that may leave.
    pub columns: Vec<Column>,
    /// The columns that order the rows of a paged statement; empty for one that is not paged.
    pub key: Vec<SortKey>,
}

/// A column that may leave, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name in the statement and in the result.
    pub name: String,
    /// What kind of values the store said it holds.
    pub class: Class,
    /// The form in the result.
    pub form: Form,
    /// What NULL becomes.
    pub null: NullForm,
}

/// The form of a column in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Whatever is natural for the value.
    Any,
    /// A string; numbers become their exact decimal text.
    String,
    /// A string such as `2026-11-30`.
    Date,
    /// A string such as `18:20:21Z`.
    Time,
    /// A string such as `2026-11-30T18:20:21Z`, in UTC.
    DateTime,
    /// A whole number, exact.
    Integer,
    /// A number, exact as far as the store is.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Bytes as a Base64 string.
    Base64,
    /// A JSON value as it is stored.
    Json,
}

/// What NULL becomes in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullForm {
    /// The member is left out.
    Omitted,
    /// The member is `null`.
    Null,
    /// The row breaks the contract.
    Refused,
}

/// A column by which rows are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The column of the statement; it need not be one that may leave.
    pub column: String,
    /// Whether larger values come first.
    pub descending: bool,
}

/// One run of a statement.
#[derive(Clone, Debug)]
pub struct Query {
    /// The statement.
    pub statement: Arc<Statement>,
    /// A value for each parameter of the statement; one that is not here is NULL.
    pub values: Vec<(String, Bind)>,
    /// The key of the row after which to begin.
    pub after: Option<Vec<KeyValue>>,
    /// Rows to give at most.
    pub max_rows: usize,
    /// Bytes of JSON to give at most.
    pub max_bytes: usize,
    /// When nobody waits any more.
    pub deadline: Instant,
}

/// A value to bind. Numbers and JSON are kept as text, so no digit is lost on the way.
#[derive(Clone, PartialEq, Eq)]
pub enum Bind {
    /// NULL
    Null,
    /// A truth value.
    Boolean(bool),
    /// The text of a JSON number.
    Number(String),
    /// A string.
    Text(String),
    /// The text of a JSON array or object.
    Json(String),
}

impl fmt::Debug for Bind {
    /// Shows the kind only: arguments do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "Null",
            Self::Boolean(_) => "Boolean",
            Self::Number(_) => "Number",
            Self::Text(_) => "Text",
            Self::Json(_) => "Json",
        })
    }
}

/// A value of a sort key, exactly as the store compares it.
#[derive(Clone, PartialEq)]
pub enum KeyValue {
    /// NULL
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating point number.
    Real(f64),
    /// Text, or the store's own text of any other value.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl fmt::Debug for KeyValue {
    /// Shows the kind only: stored values do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "Null",
            Self::Integer(_) => "Integer",
            Self::Real(_) => "Real",
            Self::Text(_) => "Text",
            Self::Blob(_) => "Blob",
        })
    }
}

/// The rows that a statement gave.
#[derive(Debug)]
pub struct Rows {
    /// A JSON array of objects.
    pub json: String,
    /// How many objects it has.
    pub count: usize,
    /// Whether and by which bound rows were left out.
    pub cut: Cut,
    /// The sort key of the last row, when rows were left out of a paged statement.
    pub last: Option<Vec<KeyValue>>,
}

/// Whether rows were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// None were.
    Whole,
    /// Those beyond the bound on rows.
    Rows,
    /// Those beyond the bound on bytes.
    Bytes,
}

/// Something that should be better about how a source is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// A stable name.
    pub code: &'static str,
    /// What is not as it should be.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

/// Why a statement or a source cannot be used. It is shown to the operator, never to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError {
    /// The store cannot be reached or opened.
    Unreachable {
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// Something is wrong with a statement.
    Statement(Vec<Fault>),
}

/// Something that is wrong with a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A stable name, for example `sql_writes`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// Which bytes of the statement are meant, where that is known.
    pub at: Option<Range<usize>>,
}

/// Why a statement gave no rows. `detail` texts are for the log only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The store cannot be reached.
    #[error("the source is not available: {detail}")]
    Unavailable {
        /// What the store said.
        detail: String,
    },
    /// All connections are in use, and none came free in the time that a call waits for one.
    #[error("all connections to the source are in use")]
    Busy,
    /// The statement took longer than the deadline or the store's own limit.
    #[error("the query did not finish in time")]
    TimedOut,
    /// A value cannot be what the parameter takes, such as a number that no column can hold.
    #[error("a value does not fit its parameter: {detail}")]
    Value {
        /// The parameter, where it is known.
        parameter: Option<String>,
        /// What the store said.
        detail: String,
    },
    /// A stored value does not have the declared form.
    #[error("column {column} does not have its declared form: {expected}")]
    Form {
        /// The column.
        column: String,
        /// What was expected.
        expected: &'static str,
    },
    /// One row alone is beyond the bound on bytes.
    #[error("one row is larger than the bound on bytes")]
    RowTooLarge,
    /// Two rows share a whole sort key, so a page that ends between them would lose one.
    #[error("the page key is not unique")]
    KeyNotUnique,
    /// The statement failed.
    #[error("the query failed: {detail}")]
    Failed {
        /// What the store said.
        detail: String,
    },
}
