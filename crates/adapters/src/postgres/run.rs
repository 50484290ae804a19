//! Running a statement: binding, reading, writing rows.
//!
//! The query stands inside another one that names the declared columns, turns each into its exact
//! text and bounds rows and the length of values, so that the database sends nothing that may not
//! leave. Values are bound. The source calls it in a read-only session.

use std::pin::pin;

use callgate_core::port::{Bind, Class, Column, KeyValue, Query, QueryError, Rows, Statement};
use futures_util::TryStreamExt as _;
use tokio::sync::mpsc::Sender;
use tokio_postgres::Row;

use super::fault::failure;
use super::session::Session;
use super::value::Parameter;
use crate::cell::Cell;
use crate::paging::{Nulls, after, order, quoted};
use crate::rows::{BATCH_BYTES, Next, RowWriter};
use crate::sql::{Dialect, Template};

/// Runs a query to its end or to its bounds, and hands its rows over while they come to who takes them.
pub(super) async fn query(
    session: &Session,
    query: &Query,
    batches: Option<&Sender<String>>,
) -> Result<Rows, QueryError> {
    let statement = &*query.statement;
    let (text, names) = wrapped(statement, query.after.as_deref(), query.max_rows, query.max_bytes);
    let client = session.client()?;
    let prepared = client.prepare_cached(&text).await.map_err(|error| failure(&error))?;
    let mut parameters = Vec::with_capacity(prepared.params().len());
    for name in &names {
        let value = query.values.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        parameters.push(Parameter::new(name, value.unwrap_or(&Bind::Null))?);
    }
    parameters.extend(query.after.iter().flatten().filter_map(Parameter::of_key));
    let rows = client.query_raw(&prepared, &parameters).await.map_err(|error| failure(&error))?;
    let mut rows = pin!(rows);
    let mut writer = RowWriter::new(statement, query.max_rows, query.max_bytes);
    while let Some(row) = rows.try_next().await.map_err(|error| failure(&error))? {
        let cells = |index| cell(&row, index, statement.columns.get(index), query.max_bytes);
        let first = statement.columns.len();
        let key = (0..statement.key.len()).map(|number| key_value(&row, first + number));
        if writer.row(cells, key.collect::<Result<_, _>>()?)? == Next::Enough {
            break;
        }
        if let Some(batches) = batches
            && let Some(batch) = writer.take(BATCH_BYTES)
        {
            // Nobody takes what is sent to who has left.
            batches.send(batch).await.map_err(|_left| QueryError::TimedOut)?;
        }
    }
    Ok(writer.finish())
}

/// The statement as it is run, and the names of its parameters in the order of their numbers. The
/// values of a key that are not NULL follow them.
pub(super) fn wrapped(
    statement: &Statement,
    from: Option<&[KeyValue]>,
    max_rows: usize,
    max_bytes: usize,
) -> (String, Vec<String>) {
    let (inner, names) = match Template::parse(&statement.sql, Dialect::Postgres) {
        Ok(template) => {
            let (text, _, numbers) = template.render_numbered();
            let name = |number: usize| template.parameters().get(number).map(|(name, _)| name.clone());
            (text, numbers.into_iter().filter_map(name).collect())
        }
        // A statement that was accepted at load parses; anything else is left for PostgreSQL to refuse.
        Err(_) => (statement.sql.clone(), Vec::new()),
    };
    let mut selected: Vec<String> =
        statement.columns.iter().map(|column| selected(column, max_bytes)).collect();
    selected.extend(statement.key.iter().map(|key| format!("{}::text", quoted(&key.column))));
    // Without a column there is still something to select.
    let selected = if selected.is_empty() { "null::text".to_owned() } else { selected.join(", ") };
    let mut text = format!("select {selected} from (\n{inner}\n) as callgate_rows");
    if let Some(values) = from {
        // Only values that are not NULL are sent, so their numbers have no gaps.
        let number = |key: usize| {
            let before = values.iter().take(key).filter(|value| **value != KeyValue::Null).count();
            format!("${}", names.len() + 1 + before)
        };
        text.push_str(" where ");
        text.push_str(&after(&statement.key, values, Nulls::High, number));
    }
    if !statement.key.is_empty() {
        text.push_str(" order by ");
        text.push_str(&order(&statement.key));
    }
    // One more than wanted tells whether there are more.
    text.push_str(&format!(" limit {}", max_rows.saturating_add(1)));
    (text, names)
}

/// A column as its exact text, no longer than can be of use.
pub(super) fn selected(column: &Column, max_bytes: usize) -> String {
    let name = quoted(&column.name);
    let text =
        if column.class == Class::Json { format!("to_json({name})::text") } else { format!("{name}::text") };
    // Hexadecimal digits are twice as many as bytes.
    let characters = max_bytes.saturating_mul(2).saturating_add(8).min(1 << 30);
    format!("left({text}, {characters})")
}

pub(super) fn cell<'r>(
    row: &'r Row,
    index: usize,
    column: Option<&Column>,
    max_bytes: usize,
) -> Result<Cell<'r>, QueryError> {
    let text: Option<&str> = row.try_get(index).map_err(|error| failure(&error))?;
    let class = column.map_or(Class::Unknown, |column| column.class);
    let Some(text) = text else { return Ok(Cell::Null) };
    // What was cut off, or could not be sent anyway, is no value any more.
    if text.len() > max_bytes.saturating_mul(2) || (class != Class::Bytes && text.len() > max_bytes) {
        return Err(QueryError::RowTooLarge);
    }
    Ok(match class {
        Class::Boolean => Cell::Boolean(text == "true"),
        Class::Integer | Class::Decimal | Class::Float => Cell::Number(text),
        Class::ZonedTime => Cell::ZonedTime(text),
        Class::ZonedTimestamp => Cell::Timestamp(text),
        Class::Json => Cell::Json(text),
        Class::Bytes => Cell::Hex(text),
        _ => Cell::Text(text),
    })
}

fn key_value(row: &Row, index: usize) -> Result<KeyValue, QueryError> {
    let text: Option<String> = row.try_get(index).map_err(|error| failure(&error))?;
    Ok(text.map_or(KeyValue::Null, KeyValue::Text))
}
