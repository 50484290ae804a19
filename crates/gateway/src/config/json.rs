//! TOML values as JSON text, with the place of every part.
//!
//! Digits are copied, never computed: an integer beyond 2^53 arrives in the schema as it was written.
//! The shapes of tools are the caller.

use std::collections::BTreeMap;

use callgate_protocol::json::{Document, Kind, Value, push_string};
use toml::Spanned;
use toml::de::DeValue;

use super::finding::{Finding, Place, SourceFile};
use super::reader::{Reading, in_file_order};

/// Where each part of a JSON text was written, by JSON pointer.
pub type Places = BTreeMap<String, Place>;

/// A pointer to a member of the value at `base`.
pub(crate) fn pointer(base: &str, name: &str) -> String {
    format!("{base}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The place of a pointer, or of the nearest part around it.
#[must_use]
pub(crate) fn nearest_place<'p>(places: &'p Places, pointer: &str) -> Option<&'p Place> {
    let mut rest = pointer;
    loop {
        if let Some(place) = places.get(rest) {
            return Some(place);
        }
        rest = rest.rfind('/').map(|at| rest.get(..at).unwrap_or_default())?;
    }
}

/// Appends a TOML value as JSON.
pub(crate) fn push_toml(
    reading: &Reading,
    value: &Spanned<DeValue<'_>>,
    at: &str,
    places: &mut Places,
    out: &mut String,
) {
    places.insert(at.to_owned(), reading.place(value.span()));
    match value.get_ref() {
        DeValue::String(text) => push_string(out, text),
        DeValue::Boolean(flag) => out.push_str(if *flag { "true" } else { "false" }),
        DeValue::Integer(integer) if integer.radix() == 10 => {
            out.push_str(integer.as_str().trim_start_matches('+'));
        }
        DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => out.push_str(&number.to_string()),
            Err(_) => refuse(reading, value, "this number is too large", "write it in decimal", out),
        },
        DeValue::Float(float) if float.as_str().contains(['i', 'n']) => {
            refuse(reading, value, "JSON has no such number", "write a finite number", out);
        }
        DeValue::Float(float) => out.push_str(float.as_str().trim_start_matches('+')),
        DeValue::Datetime(_) => {
            refuse(reading, value, "JSON has no dates", "put it in quotes", out);
        }
        DeValue::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_toml(reading, item, &pointer(at, &index.to_string()), places, out);
            }
            out.push(']');
        }
        DeValue::Table(table) => {
            out.push('{');
            for (index, (name, member)) in in_file_order(table).into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, name.get_ref());
                out.push(':');
                push_toml(reading, member, &pointer(at, name.get_ref()), places, out);
            }
            out.push('}');
        }
    }
}

fn refuse(reading: &Reading, value: &Spanned<DeValue<'_>>, message: &str, remedy: &str, out: &mut String) {
    reading.report(value.span(), Finding::error("wrong_type", message, remedy));
    out.push_str("null");
}

/// The place of every part of a JSON file.
pub(crate) fn places_in(file: &std::sync::Arc<SourceFile>, document: &Document) -> Places {
    let mut places = Places::new();
    walk(file, document.root(), String::new(), &mut places);
    places
}

fn walk(file: &std::sync::Arc<SourceFile>, value: Value<'_>, at: String, places: &mut Places) {
    let start = value.offset();
    match value.kind() {
        Kind::Object => {
            for (name, member) in value.members() {
                walk(file, member, pointer(&at, &name.as_str().unwrap_or_default()), places);
            }
        }
        Kind::Array => {
            for (index, item) in value.items().enumerate() {
                walk(file, item, pointer(&at, &index.to_string()), places);
            }
        }
        Kind::Null | Kind::Boolean | Kind::Number | Kind::String => {}
    }
    places.insert(at, file.place(start..start + value.raw().len()));
}
