//! What PostgreSQL reports, sorted into what a caller can act on.
//!
//! A message about a value may repeat the value, so only its code is kept. The other files of this
//! folder call it.

use callgate_core::port::{QueryError, SourceError};
use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

/// Why a statement gave no rows.
pub(super) fn failure(error: &tokio_postgres::Error) -> QueryError {
    let Some(reported) = error.as_db_error() else {
        return QueryError::Unavailable { detail: chain(error) };
    };
    let code = reported.code();
    let class = code.code().get(..2).unwrap_or_default();
    if *code == SqlState::QUERY_CANCELED {
        return QueryError::TimedOut;
    }
    let about_a_value = [
        SqlState::INVALID_TEXT_REPRESENTATION,
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        SqlState::INVALID_DATETIME_FORMAT,
        SqlState::DATETIME_FIELD_OVERFLOW,
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        SqlState::STRING_DATA_RIGHT_TRUNCATION,
        SqlState::INVALID_REGULAR_EXPRESSION,
        SqlState::INVALID_ESCAPE_SEQUENCE,
        SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
        SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE,
    ];
    if about_a_value.contains(code) {
        return QueryError::Value { parameter: None, detail: format!("SQLSTATE {}", code.code()) };
    }
    match class {
        // Connection, resources, intervention of an operator, conflicts with a standby's recovery.
        "08" | "53" | "57" | "40" => QueryError::Unavailable { detail: describe(reported) },
        _ => QueryError::Failed { detail: describe(reported) },
    }
}

/// That the database cannot be used at all, for the operator.
pub(super) fn unreachable(error: &QueryError) -> SourceError {
    let detail = match error {
        QueryError::Unavailable { detail } | QueryError::Failed { detail } => detail.clone(),
        other => other.to_string(),
    };
    SourceError::Unreachable {
        message: format!("the PostgreSQL database cannot be used: {detail}"),
        remedy: "check `url`, that the server runs, and that the role may connect".to_owned(),
    }
}

/// Why the pool gave no connection.
pub(super) fn pool_reason(error: &PoolError) -> String {
    match error {
        PoolError::Backend(error) => chain(error),
        other => other.to_string(),
    }
}

/// What PostgreSQL or the connection to it said, for the operator.
pub(crate) fn reported(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| chain(error), describe)
}

fn describe(error: &tokio_postgres::error::DbError) -> String {
    format!("{} (SQLSTATE {})", error.message(), error.code().code())
}

/// The message with its causes, because the outermost one only says that something failed.
fn chain(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
