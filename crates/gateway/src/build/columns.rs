//! From declared columns to the columns of a statement: which form each takes, and what NULL becomes.
//!
//! A form that the store's type can never have is a finding at load. The judge of tools calls it.

use callgate_core::port::{Class, Column, Form, NullForm, SourceColumn};
use callgate_protocol::json::{self, Document, Kind, Value};

use crate::config::{Finding, ObjectSchema, Property, meant};

/// The columns that may leave.
pub(super) fn columns(
    output: &ObjectSchema,
    found: &[SourceColumn],
    findings: &mut Vec<Finding>,
) -> Vec<Column> {
    let mut columns = Vec::with_capacity(output.properties.len());
    for property in &output.properties {
        let matching: Vec<&SourceColumn> =
            found.iter().filter(|column| column.name == property.name).collect();
        let [column] = matching[..] else {
            findings.push(missing(property, found, !matching.is_empty()));
            continue;
        };
        let (form, nullable) = form(property);
        if let Some(finding) = mismatch(property, column, form) {
            findings.push(finding.at(property.place.clone()));
        }
        let null = match (nullable, property.required) {
            (true, _) => NullForm::Null,
            (false, true) => NullForm::Refused,
            (false, false) => NullForm::Omitted,
        };
        columns.push(Column { name: property.name.clone(), class: column.class, form, null });
    }
    columns
}

fn missing(property: &Property, found: &[SourceColumn], twice: bool) -> Finding {
    let names: Vec<&str> = found.iter().map(|column| column.name.as_str()).collect();
    let finding = if twice {
        Finding::error(
            "ambiguous_column",
            format!("the query gives the column `{}` twice", property.name),
            "give each column its own name with `as`",
        )
    } else {
        Finding::error(
            "missing_column",
            format!(
                "the query does not give the column `{}`{}",
                property.name,
                meant(&property.name, &names)
            ),
            format!(
                "add `... as {}` to the query or remove the column from the output; the query gives {}",
                property.name,
                crate::config::listed(&names)
            ),
        )
    };
    finding.at(property.place.clone())
}

/// The form that the schema of a column asks for, and whether it admits null.
pub(super) fn form(property: &Property) -> (Form, bool) {
    let Ok(document) = Document::parse(property.text.as_str(), &json::Limits::default()) else {
        return (Form::Any, false);
    };
    let schema = document.root();
    let Some(kind) = schema.get("type") else { return (Form::Any, true) };
    let names: Vec<String> = match kind.kind() {
        Kind::Array => kind.items().filter_map(|name| name.as_str().map(Into::into)).collect(),
        _ => kind.as_str().map(Into::into).into_iter().collect(),
    };
    let nullable = names.iter().any(|name| name == "null");
    let mut others = names.iter().filter(|name| *name != "null");
    let form = match (others.next().map(String::as_str), others.next()) {
        (Some("string"), None) => string_form(schema),
        (Some("integer"), None) => Form::Integer,
        (Some("number"), None) => Form::Number,
        (Some("boolean"), None) => Form::Boolean,
        (Some("object" | "array"), None) => Form::Json,
        _ => Form::Any,
    };
    (form, nullable)
}

fn string_form(schema: Value<'_>) -> Form {
    if schema.get("contentEncoding").is_some_and(|encoding| encoding.is_str("base64")) {
        return Form::Base64;
    }
    let format = schema.get("format").and_then(Value::as_str);
    match format.as_deref() {
        Some("date") => Form::Date,
        Some("time") => Form::Time,
        Some("date-time") => Form::DateTime,
        _ => Form::String,
    }
}

/// A finding when no value of the store's type can have the form.
fn mismatch(property: &Property, column: &SourceColumn, form: Form) -> Option<Finding> {
    let number = matches!(form, Form::Integer | Form::Number | Form::String | Form::Any);
    let fits = match column.class {
        Class::Boolean => matches!(form, Form::Boolean | Form::String | Form::Any),
        Class::Integer | Class::Decimal | Class::Float => number,
        Class::Text => !matches!(form, Form::Boolean | Form::Base64),
        Class::Date => matches!(form, Form::Date | Form::String | Form::Any),
        Class::Time | Class::Timestamp => matches!(form, Form::String | Form::Any),
        Class::ZonedTime => matches!(form, Form::Time | Form::String | Form::Any),
        Class::ZonedTimestamp => matches!(form, Form::DateTime | Form::String | Form::Any),
        Class::Json => matches!(form, Form::Json | Form::String | Form::Any),
        Class::Bytes => matches!(form, Form::Base64 | Form::Any),
        _ => true,
    };
    if fits {
        return None;
    }
    let of = column.type_name.as_deref().unwrap_or("unknown");
    let remedy = match (column.class, form) {
        (Class::Timestamp, Form::DateTime) => {
            format!("say in which zone it is: `{0} at time zone 'UTC' as {0}`", column.name)
        }
        (Class::Time, Form::Time) => "a time of day without a zone has no `format`; remove it".to_owned(),
        (Class::Bytes, _) => "declare it `{ type = \"string\", contentEncoding = \"base64\" }`".to_owned(),
        _ => "cast the column in the query, or declare the type that it has".to_owned(),
    };
    let message =
        format!("the column `{}` has the type `{of}`, which never fits its declared type", property.name);
    Some(Finding::error("column_type", message, remedy))
}
