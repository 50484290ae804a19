//! Judging a statement at load: one query, read-only, with known parameters and columns.
//!
//! Nothing is run here. The source calls it on a connection of its pool.

use std::ops::Range;

use callgate_core::port::{Class, Fault, KeyValue, Prepared, SourceColumn, SourceError, Statement};

use super::authorizer::{Access, Denied};
use super::connection::{Connection, reason};
use super::run::paged;
use crate::sql::Template;

/// Compiles the statement as it was written.
pub(super) fn prepare(
    connection: &Connection,
    template: &Template,
    sql: &str,
    access: Access,
) -> Result<Prepared, SourceError> {
    let _ = connection.take_denied();
    // Without what follows the end of the statement, which SQLite would take for a second one.
    let (text, offsets) = template.render(|number| {
        template.parameters().get(number).map(|(name, _)| format!(":{name}")).unwrap_or_default()
    });
    let statement = connection.prepare(&text).map_err(|error| {
        let at = place(&error).map(|offset| {
            let start = offsets.original(offset);
            start..start + token_length(sql, start)
        });
        SourceError::Statement(vec![fault(&error, connection.take_denied(), template, at)])
    })?;
    let begins = template.first_word().unwrap_or_default().to_ascii_lowercase();
    let is_query = matches!(begins.as_str(), "select" | "with" | "values")
        && statement.readonly()
        && statement.column_count() > 0;
    let changes = access == Access::Write
        && matches!(begins.as_str(), "insert" | "update" | "delete" | "replace" | "with");
    if !(is_query || changes) || statement.is_explain() != 0 {
        return Err(SourceError::Statement(vec![Fault {
            code: "sql_writes",
            message: "the statement is no query".to_owned(),
            remedy: "a tool that reads is one `select`; what changes rows stands under `statements`"
                .to_owned(),
            at: None,
        }]));
    }
    // SQLite and our lexer must agree on what is a parameter, or a value could be bound to the wrong one.
    let names: Vec<Option<&str>> =
        (1..=statement.parameter_count()).map(|index| statement.parameter_name(index)).collect();
    let same = names.len() == template.parameters().len()
        && template.parameters().iter().all(|(name, _)| names.contains(&Some(format!(":{name}").as_str())));
    if !same {
        return Err(SourceError::Statement(vec![Fault {
            code: "sql_syntax",
            message: "the parameters of this statement cannot be told apart".to_owned(),
            remedy: "use letters, digits and underscores in the names of parameters".to_owned(),
            at: None,
        }]));
    }
    let columns = statement.columns().map(|column| SourceColumn {
        name: column.name().to_owned(),
        type_name: column.decl_type().map(str::to_owned),
        class: Class::Unknown,
    });
    Ok(Prepared { parameters: template.parameters().to_vec(), columns: columns.collect() })
}

/// Compiles the forms in which a paged statement will be run.
pub(super) fn check(connection: &Connection, statement: &Statement) -> Result<(), SourceError> {
    let key: Vec<KeyValue> = statement.key.iter().map(|_| KeyValue::Integer(0)).collect();
    for sql in [paged(statement, None), paged(statement, Some(&key))] {
        let _ = connection.take_denied();
        connection.prepare(&sql).map_err(|error| {
            let _ = connection.take_denied();
            SourceError::Statement(vec![Fault {
                code: "sql_page",
                message: format!("the query cannot be paged: {}", reason(&error)),
                remedy: "name each column of the query with `as`, and let the page key name such columns"
                    .to_owned(),
                at: None,
            }])
        })?;
    }
    Ok(())
}

fn place(error: &rusqlite::Error) -> Option<usize> {
    match error {
        rusqlite::Error::SqlInputError { offset, .. } => usize::try_from(*offset).ok(),
        _ => None,
    }
}

fn token_length(sql: &str, start: usize) -> usize {
    let rest = sql.get(start..).unwrap_or_default();
    let word = rest.chars().take_while(|next| next.is_alphanumeric() || *next == '_');
    word.map(char::len_utf8).sum::<usize>().max(1)
}

fn fault(
    error: &rusqlite::Error,
    denied: Option<Denied>,
    template: &Template,
    at: Option<Range<usize>>,
) -> Fault {
    match denied {
        Some(Denied::Writes(verb)) => {
            // `drop table` first of all deletes from the schema: then the statement's own verb says more.
            let own = template.first_word().unwrap_or(verb).to_ascii_lowercase();
            let verb = if template.word(verb).is_some() { verb } else { own.as_str() };
            Fault {
                code: "sql_writes",
                message: format!("the statement writes: it would {verb}"),
                remedy: "a tool that reads is one `select`; what changes rows stands under `statements`"
                    .to_owned(),
                at: template.word(verb).or(at),
            }
        }
        Some(Denied::Table(name)) => Fault {
            code: "sql_table",
            message: format!("`{name}` is not allowed: it shows the inside of the store, not data"),
            remedy: "read tables and views of your own".to_owned(),
            at: template.word(&name).or(at),
        },
        Some(Denied::Function(name)) => Fault {
            code: "sql_function",
            message: format!("the function `{name}` is not allowed"),
            remedy: "use functions that only compute: docs/configuration.md lists them under \"Functions of \
                     SQLite\""
                .to_owned(),
            at: template.word(&name).or(at),
        },
        Some(Denied::Other(verb)) => Fault {
            code: "sql_writes",
            message: format!("`{verb}` is not allowed: it concerns the connection, not data"),
            remedy: "a tool reads with one `select`".to_owned(),
            at: template.word(verb).or(at),
        },
        None => Fault {
            code: "sql_syntax",
            message: format!("SQLite does not accept the statement: {}", reason(error)),
            remedy: "correct the statement; try it with the `sqlite3` program on the same file".to_owned(),
            at,
        },
    }
}
