//! Running a statement: binding, stepping, writing rows.
//!
//! Values are bound, never written into the text. Stepping stops at the first row that is not wanted.
//! The source calls it on a thread for blocking work.

use callgate_core::port::{Bind, KeyValue, Query, QueryError, Rows, Statement};
use callgate_protocol::json::Decimal;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ErrorCode, Row};
use tokio::sync::mpsc::Sender;

use super::connection::{Connection, reason};
use crate::cell::Cell;
use crate::paging::{self, Nulls, order, quoted};
use crate::rows::{BATCH_BYTES, Next, RowWriter};

/// Runs a query to its end or to its bounds.
pub(super) fn query(connection: &mut Connection, query: &Query) -> Result<Rows, QueryError> {
    step(connection, query, |_| Ok(()))
}

/// Runs a query and hands its rows over while they come.
pub(super) fn stream(
    connection: &mut Connection,
    query: &Query,
    batches: &Sender<String>,
) -> Result<Rows, QueryError> {
    step(connection, query, |writer| match writer.take(BATCH_BYTES) {
        // Nobody takes what is sent to who has left.
        Some(batch) => batches.blocking_send(batch).map_err(|_left| QueryError::TimedOut),
        None => Ok(()),
    })
}

/// Steps through the rows; `after` is called when one was taken.
fn step(
    connection: &mut Connection,
    query: &Query,
    mut after: impl FnMut(&mut RowWriter<'_>) -> Result<(), QueryError>,
) -> Result<Rows, QueryError> {
    let statement = &*query.statement;
    let text;
    let sql = if statement.key.is_empty() {
        statement.sql.as_str()
    } else {
        text = paged(statement, query.after.as_deref());
        &text
    };
    let mut prepared = connection.prepare_cached(sql).map_err(failed)?;
    for index in 1..=prepared.parameter_count() {
        let value = parameter(query, prepared.parameter_name(index).unwrap_or_default())?;
        prepared.raw_bind_parameter(index, value).map_err(failed)?;
    }
    let columns = indexes(&prepared, statement)?;
    let mut rows = prepared.raw_query();
    let mut writer = RowWriter::new(statement, query.max_rows, query.max_bytes);
    while let Some(row) = rows.next().map_err(failed)? {
        let cells = |index: usize| cell(row, columns.cell(index));
        let key = columns.keys.iter().map(|index| key_value(row, *index)).collect::<Result<_, _>>()?;
        if writer.row(cells, key)? == Next::Enough {
            break;
        }
        after(&mut writer)?;
    }
    Ok(writer.finish())
}

/// The statement as a page of it is asked for.
pub(super) fn paged(statement: &Statement, from: Option<&[KeyValue]>) -> String {
    let keys = &statement.key;
    let condition = match from {
        Some(values) => {
            format!(
                " where {}",
                paging::after(keys, values, Nulls::Low, |number| format!(":callgate_key_{number}"))
            )
        }
        None => String::new(),
    };
    let mut names: Vec<&str> = statement.columns.iter().map(|column| column.name.as_str()).collect();
    for key in keys {
        if !names.contains(&key.column.as_str()) {
            names.push(&key.column);
        }
    }
    let names = names.into_iter().map(quoted).collect::<Vec<_>>().join(", ");
    // The newline ends a comment at the end of the statement.
    format!(
        "select {names} from (\n{}\n){condition} order by {} limit :callgate_limit",
        statement.sql,
        order(keys)
    )
}

fn parameter<'q>(query: &'q Query, name: &str) -> Result<ToSqlOutput<'q>, QueryError> {
    let name = name.strip_prefix(':').unwrap_or(name);
    if name == "callgate_limit" {
        // One more than wanted tells whether there are more.
        let limit = i64::try_from(query.max_rows).unwrap_or(i64::MAX).saturating_add(1);
        return Ok(ToSqlOutput::Owned(Value::Integer(limit)));
    }
    if let Some(number) = name.strip_prefix("callgate_key_").and_then(|number| number.parse::<usize>().ok()) {
        let value = query.after.as_ref().and_then(|values| values.get(number));
        return Ok(match value {
            Some(KeyValue::Integer(number)) => ToSqlOutput::Owned(Value::Integer(*number)),
            Some(KeyValue::Real(number)) => ToSqlOutput::Owned(Value::Real(*number)),
            Some(KeyValue::Text(text)) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Some(KeyValue::Blob(bytes)) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Some(KeyValue::Null) | None => ToSqlOutput::Owned(Value::Null),
        });
    }
    value(&query.values, name)
}

/// The value of a parameter.
pub(super) fn value<'q>(values: &'q [(String, Bind)], name: &str) -> Result<ToSqlOutput<'q>, QueryError> {
    let value = values.iter().find(|(other, _)| other == name).map(|(_, value)| value);
    Ok(match value {
        None | Some(Bind::Null) => ToSqlOutput::Owned(Value::Null),
        Some(Bind::Boolean(flag)) => ToSqlOutput::Owned(Value::Integer(i64::from(*flag))),
        Some(Bind::Text(text) | Bind::Json(text)) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Some(Bind::Number(text)) => ToSqlOutput::Owned(number(name, text)?),
    })
}

/// A number as SQLite stores one: 64 bits, whole or floating. A whole number that does not fit is
/// refused, because SQLite would compare a rounded one.
fn number(name: &str, text: &str) -> Result<Value, QueryError> {
    let misfit = || QueryError::Value {
        parameter: Some(name.to_owned()),
        detail: "the number is out of the range of 64 bits".to_owned(),
    };
    let decimal = Decimal::parse(text).ok_or_else(misfit)?;
    if let Some(whole) = decimal.to_i128() {
        return i64::try_from(whole).map(Value::Integer).map_err(|_| misfit());
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && !decimal.is_integer() => Ok(Value::Real(number)),
        _ => Err(misfit()),
    }
}

pub(super) struct Indexes {
    cells: Vec<usize>,
    keys: Vec<usize>,
}

impl Indexes {
    /// Where the declared column of that number is.
    pub(super) fn cell(&self, number: usize) -> usize {
        self.cells.get(number).copied().unwrap_or_default()
    }
}

pub(super) fn indexes(
    prepared: &rusqlite::Statement<'_>,
    statement: &Statement,
) -> Result<Indexes, QueryError> {
    let names = prepared.column_names();
    let names: Vec<&str> = names.collect();
    let find = |name: &str| {
        names
            .iter()
            .position(|other| *other == name)
            .ok_or_else(|| QueryError::Failed { detail: format!("the query has no column {name} any more") })
    };
    Ok(Indexes {
        cells: statement.columns.iter().map(|column| find(&column.name)).collect::<Result<_, _>>()?,
        keys: statement.key.iter().map(|key| find(&key.column)).collect::<Result<_, _>>()?,
    })
}

pub(super) fn cell<'r>(row: &'r Row<'_>, index: usize) -> Result<Cell<'r>, QueryError> {
    Ok(match row.get_ref(index).map_err(failed)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) => Cell::Text(text(bytes)?),
        ValueRef::Blob(bytes) => Cell::Blob(bytes),
    })
}

fn key_value(row: &Row<'_>, index: usize) -> Result<KeyValue, QueryError> {
    Ok(match row.get_ref(index).map_err(failed)? {
        ValueRef::Null => KeyValue::Null,
        ValueRef::Integer(number) => KeyValue::Integer(number),
        ValueRef::Real(number) => KeyValue::Real(number),
        ValueRef::Text(bytes) => KeyValue::Text(text(bytes)?.to_owned()),
        ValueRef::Blob(bytes) => KeyValue::Blob(bytes.to_vec()),
    })
}

fn text(bytes: &[u8]) -> Result<&str, QueryError> {
    std::str::from_utf8(bytes)
        .map_err(|_| QueryError::Failed { detail: "a stored text is not UTF-8".to_owned() })
}

fn failed(error: rusqlite::Error) -> QueryError {
    failure(&error)
}

pub(super) fn failure(error: &rusqlite::Error) -> QueryError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted | ErrorCode::OperationAborted) => QueryError::TimedOut,
        Some(ErrorCode::TooBig) => QueryError::RowTooLarge,
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::NotADatabase
            | ErrorCode::DatabaseCorrupt,
        ) => QueryError::Unavailable { detail: reason(error) },
        _ => QueryError::Failed { detail: reason(error) },
    }
}
