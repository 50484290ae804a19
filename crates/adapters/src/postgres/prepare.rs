//! Judging a statement at load: one query, only reading functions, known parameters and columns.
//!
//! Nothing is run here but questions to the catalogue. The source calls it in a read-only session.

use std::ops::Range;

use callgate_core::port::{Advice, Class, Fault, KeyValue, Prepared, SourceColumn, SourceError, Statement};
use tokio_postgres::error::ErrorPosition;
use tokio_postgres::types::{Kind, Type};

use super::classify::{Called, classify};
use super::fault::{failure, unreachable};
use super::run::wrapped;
use super::session::{Access, Session};
use crate::sql::{Offsets, Template};

/// Functions that PostgreSQL calls volatile and that change nothing.
const HARMLESS: &[&str] =
    &["clock_timestamp", "gen_random_uuid", "random", "random_normal", "timeofday", "uuidv4", "uuidv7"];

/// Functions that only move a counter on, which a statement that writes may.
const COUNTING: &[&str] = &["currval", "lastval", "nextval"];

/// Whether the role could do more than it should.
pub(super) async fn advice(session: &Session) -> Result<Vec<Advice>, SourceError> {
    let question = "select current_setting('is_superuser') = 'on', exists (
        select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
          and n.nspname not like 'pg_toast%'
          and (pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')))";
    let client = session.client().map_err(|error| unreachable(&error))?;
    let row = client.query_one(question, &[]).await.map_err(|error| unreachable(&failure(&error)))?;
    let mut advice = Vec::new();
    let mut say = |code, message: &str, remedy: &str| {
        advice.push(Advice { code, message: message.to_owned(), remedy: remedy.to_owned() });
    };
    if row.try_get::<_, bool>(0).unwrap_or(false) {
        say(
            "source_superuser",
            "the role of this source is a superuser of the database",
            "make a role with `create role reader login` and grant it `select` on what the tools need",
        );
    } else if row.try_get::<_, bool>(1).unwrap_or(false) {
        say(
            "source_can_write",
            "the role of this source may write to tables",
            "use a role that has only `select`: the read-only transaction should not be the only barrier",
        );
    }
    Ok(advice)
}

/// Judges the statement as it was written.
pub(super) async fn prepare(
    session: &Session,
    template: &Template,
    sql: &str,
    access: Access,
) -> Result<Prepared, SourceError> {
    let (text, offsets, numbers) = template.render_numbered();
    let called = classify(&text, &offsets, template, access).map_err(SourceError::Statement)?;
    let refused = volatile(session, &called, access).await?;
    if !refused.is_empty() {
        return Err(SourceError::Statement(refused));
    }
    let client = session.client().map_err(|error| unreachable(&error))?;
    let statement = client
        .prepare(&text)
        .await
        .map_err(|error| statement_error(&error, "sql_syntax", |at| original(&text, &offsets, sql, at)))
        .map_err(|error| named(error, template, &numbers))?;
    let columns = statement.columns().iter().map(|column| SourceColumn {
        name: column.name().to_owned(),
        type_name: Some(column.type_().name().to_owned()),
        class: class(column.type_()),
    });
    Ok(Prepared { parameters: template.parameters().to_vec(), columns: columns.collect() })
}

/// Compiles the forms in which the statement will be run.
pub(super) async fn check(session: &Session, statement: &Statement) -> Result<(), SourceError> {
    let client = session.client().map_err(|error| unreachable(&error))?;
    let mut forms = vec![wrapped(statement, None, 1, 1)];
    if !statement.key.is_empty() {
        let key: Vec<KeyValue> = statement.key.iter().map(|_| KeyValue::Text(String::new())).collect();
        forms.push(wrapped(statement, Some(&key), 1, 1));
    }
    for (text, _) in forms {
        client.prepare(&text).await.map_err(|error| statement_error(&error, "sql_page", |_| None))?;
    }
    Ok(())
}

/// The called functions that the catalogue knows as volatile: they may write, wait, or reach outside.
async fn volatile(session: &Session, called: &[Called], access: Access) -> Result<Vec<Fault>, SourceError> {
    if called.is_empty() {
        return Ok(Vec::new());
    }
    let question = "select p.proname::text, n.nspname::text, pg_catalog.pg_function_is_visible(p.oid)
        from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
        where p.provolatile = 'v' and p.proname = any($1)";
    let names: Vec<&str> = called.iter().map(|function| function.name.as_str()).collect();
    let client = session.client().map_err(|error| unreachable(&error))?;
    let rows = client.query(question, &[&names]).await.map_err(|error| unreachable(&failure(&error)))?;
    let mut known: Vec<(String, String, bool)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let entry = (row.try_get(0), row.try_get(1), row.try_get(2));
        if let (Ok(name), Ok(schema), Ok(visible)) = entry {
            known.push((name, schema, visible));
        }
    }
    let is_volatile = |function: &Called| {
        known.iter().any(|(name, schema, visible)| {
            let meant = function.schema.as_ref().map_or(*visible, |written| written == schema);
            let counts = access == Access::Write && COUNTING.contains(&name.as_str());
            let harmless = schema == "pg_catalog" && (counts || HARMLESS.contains(&name.as_str()));
            *name == function.name && meant && !harmless
        })
    };
    Ok(called
        .iter()
        .filter(|function| is_volatile(function))
        .map(|function| Fault {
            code: "sql_function",
            message: format!(
                "the function `{}` is volatile: it may write, wait or reach outside",
                function.name
            ),
            remedy: "leave it out; if it is your own and only reads, declare it `stable`".to_owned(),
            at: function.at.clone(),
        })
        .collect())
}

pub(super) fn statement_error(
    error: &tokio_postgres::Error,
    code: &'static str,
    place: impl Fn(u32) -> Option<Range<usize>>,
) -> SourceError {
    let Some(reported) = error.as_db_error() else { return unreachable(&failure(error)) };
    let at = match reported.position() {
        Some(ErrorPosition::Original(at)) => place(*at),
        _ => None,
    };
    let remedy = if matches!(reported.code().code(), "42P18" | "42P08") {
        "say its type, for example `:name::text`"
    } else if code == "sql_page" {
        "name each column of the query with `as`, and let the page key name such columns"
    } else {
        "correct the statement; try it in `psql` on the same database"
    };
    let hint = reported.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    SourceError::Statement(vec![Fault {
        code,
        message: format!("PostgreSQL does not accept the statement: {}{hint}", reported.message()),
        remedy: remedy.to_owned(),
        at,
    }])
}

/// The same with the names of parameters instead of the numbers that PostgreSQL knows them by.
fn named(error: SourceError, template: &Template, numbers: &[usize]) -> SourceError {
    let SourceError::Statement(mut faults) = error else { return error };
    for fault in &mut faults {
        // From the largest number down, so that `$1` does not match inside of `$12`.
        for (number, parameter) in numbers.iter().enumerate().rev() {
            if let Some((name, _)) = template.parameters().get(*parameter) {
                fault.message = fault.message.replace(&format!("${}", number + 1), &format!(":{name}"));
            }
        }
    }
    SourceError::Statement(faults)
}

/// The word in the original at a position that PostgreSQL counts in characters from 1.
fn original(rendered: &str, offsets: &Offsets, sql: &str, position: u32) -> Option<Range<usize>> {
    let characters = usize::try_from(position).ok()?.checked_sub(1)?;
    let byte = rendered.char_indices().nth(characters).map_or(rendered.len(), |(at, _)| at);
    let start = offsets.original(byte);
    let rest = sql.get(start..).unwrap_or_default();
    let word = rest
        .char_indices()
        .take_while(|(at, next)| next.is_alphanumeric() || *next == '_' || (*at == 0 && *next == ':'));
    let length: usize = word.map(|(_, next)| next.len_utf8()).sum();
    Some(start..start + length.max(1))
}

fn class(column: &Type) -> Class {
    match *column {
        Type::BOOL => Class::Boolean,
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => Class::Integer,
        Type::NUMERIC => Class::Decimal,
        Type::FLOAT4 | Type::FLOAT8 => Class::Float,
        Type::DATE => Class::Date,
        Type::TIME => Class::Time,
        Type::TIMETZ => Class::ZonedTime,
        Type::TIMESTAMP => Class::Timestamp,
        Type::TIMESTAMPTZ => Class::ZonedTimestamp,
        Type::JSON | Type::JSONB => Class::Json,
        Type::BYTEA => Class::Bytes,
        _ => match column.kind() {
            Kind::Array(_) | Kind::Composite(_) => Class::Json,
            Kind::Domain(inner) => class(inner),
            _ => Class::Text,
        },
    }
}
