use callgate_protocol::json::{Document, Limits};

use super::{Schema, SchemaError, SchemaLimits, Verdict, Violation};

mod bounds;
mod cases;
mod corpus;
mod findings;
mod messages;
mod properties;
mod suite;

/// A schema that must compile.
fn schema(text: &str) -> Schema {
    Schema::compile(text, &SchemaLimits::DEFAULT).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The reasons why a schema is refused.
fn refused(text: &str) -> SchemaError {
    Schema::compile(text, &SchemaLimits::DEFAULT).expect_err(text)
}

fn document(text: &str) -> Document {
    Document::parse(text, &Limits::DEFAULT).unwrap()
}

fn accepts(schema: &Schema, value: &str) -> bool {
    let document = document(value);
    let quick = schema.is_valid(document.root()).unwrap();
    assert_eq!(quick, schema.validate(document.root()) == Verdict::Valid, "{value}");
    quick
}

/// The violations of a value that must be refused.
fn violations(schema: &Schema, value: &str) -> Vec<Violation> {
    assert!(!accepts(schema, value), "{value} is accepted");
    match schema.validate(document(value).root()) {
        Verdict::Invalid(violations) => violations.list,
        other => panic!("{value}: {other:?}"),
    }
}

/// Pointer and keyword of each violation.
fn places(schema: &Schema, value: &str) -> Vec<(String, &'static str)> {
    violations(schema, value).into_iter().map(|violation| (violation.pointer, violation.keyword)).collect()
}
