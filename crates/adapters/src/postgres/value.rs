//! Values of parameters as PostgreSQL's own text, so that no digit passes through a binary type.
//!
//! The server reads the text by the type that it gave the parameter, and refuses what does not fit.
//! The run step calls it.

use std::error::Error;

use callgate_core::port::{Bind, KeyValue, QueryError};
use callgate_protocol::json::{self, Decimal, Document, Kind as JsonKind, Value};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

/// A value to bind.
#[derive(Clone, Debug)]
pub(super) struct Parameter(Option<Text>);

#[derive(Clone, Debug)]
enum Text {
    Plain(String),
    /// JSON, which becomes PostgreSQL's own form for a parameter that is an array.
    Json(String),
}

impl Parameter {
    pub(super) fn new(name: &str, value: &Bind) -> Result<Self, QueryError> {
        Ok(Self(match value {
            Bind::Null => None,
            Bind::Boolean(flag) => Some(Text::Plain(flag.to_string())),
            Bind::Number(text) => Some(Text::Plain(number(text))),
            Bind::Json(text) => Some(Text::Json(text.clone())),
            Bind::Text(text) if text.contains('\0') => {
                return Err(QueryError::Value {
                    parameter: Some(name.to_owned()),
                    detail: "PostgreSQL has no text with a NUL character".to_owned(),
                });
            }
            Bind::Text(text) => Some(Text::Plain(text.clone())),
        }))
    }

    /// The value of a key, unless it is NULL, which is in the text of the statement.
    pub(super) fn of_key(value: &KeyValue) -> Option<Self> {
        let text = match value {
            KeyValue::Null => return None,
            KeyValue::Text(text) => text.clone(),
            KeyValue::Integer(number) => number.to_string(),
            KeyValue::Real(number) => number.to_string(),
            KeyValue::Blob(_) => String::new(),
        };
        Some(Self(Some(Text::Plain(text))))
    }
}

/// A whole number without fraction and exponent, which integer types do not read (`5.0` is an integer
/// in JSON Schema); every other number as it is.
fn number(text: &str) -> String {
    let whole = Decimal::parse(text).and_then(Decimal::to_i128);
    whole.map_or_else(|| text.to_owned(), |whole| whole.to_string())
}

impl ToSql for Parameter {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let text = match &self.0 {
            None => return Ok(IsNull::Yes),
            Some(Text::Plain(text)) => text,
            Some(Text::Json(text)) if matches!(column.kind(), Kind::Array(_)) => {
                let document = Document::parse(text.as_str(), &json::Limits::default())
                    .map_err(|_| "a JSON value was expected")?;
                let mut array = String::new();
                push_array(&mut array, document.root());
                out.extend_from_slice(array.as_bytes());
                return Ok(IsNull::No);
            }
            Some(Text::Json(text)) => text,
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A JSON array as `{...}`.
fn push_array(out: &mut String, array: Value<'_>) {
    out.push('{');
    for (index, item) in array.items().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match item.kind() {
            JsonKind::Null => out.push_str("NULL"),
            JsonKind::Array => push_array(out, item),
            JsonKind::Boolean => out.push_str(item.raw()),
            JsonKind::Number => out.push_str(&number(item.raw())),
            JsonKind::String => push_quoted(out, &item.as_str().unwrap_or_default()),
            JsonKind::Object => push_quoted(out, item.raw()),
        }
    }
    out.push('}');
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_quoted_so_that_no_item_ends_the_literal() {
        let text = r#"["a,b", "c\"}{", "back\\slash", "NULL", null, 1, 5.0, true, [1, 2], {"k": "v"}]"#;
        let document = Document::parse(text, &json::Limits::default()).unwrap();
        let mut out = String::new();
        push_array(&mut out, document.root());
        assert_eq!(out, r#"{"a,b","c\"}{","back\\slash","NULL",NULL,1,5,true,{1,2},"{\"k\": \"v\"}"}"#);
    }

    #[test]
    fn a_number_keeps_its_digits() {
        assert_eq!(number("9007199254740993"), "9007199254740993");
        assert_eq!(number("0.1000000000000000055"), "0.1000000000000000055");
        assert_eq!(number("5.0"), "5");
        assert_eq!(number("1e2"), "100");
    }

    #[test]
    fn a_nul_character_is_refused_before_it_is_sent() {
        assert!(Parameter::new("q", &Bind::Text("a\0b".to_owned())).is_err());
    }
}
