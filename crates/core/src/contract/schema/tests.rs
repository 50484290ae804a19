use callgate_protocol::json::{Document, Limits};

use super::{Schema, SchemaError, SchemaLimits, Verdict};

mod suite;

/// A schema that must compile.
fn schema(text: &str) -> Schema {
    Schema::compile(text, &SchemaLimits::DEFAULT).unwrap()
}

/// The reasons why a schema is refused.
fn refused(text: &str) -> SchemaError {
    Schema::compile(text, &SchemaLimits::DEFAULT).unwrap_err()
}

#[test]
fn a_recursive_alternative_over_twenty_levels_is_linear() {
    let tree = schema(
        r##"{"$defs":{"t":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/t"}},{"type":"array","items":{"$ref":"#/$defs/t"}}]}},"$ref":"#/$defs/t"}"##,
    );
    let nested = document(&format!("{}1{}", "[".repeat(20), "]".repeat(20)));
    assert_eq!(tree.is_valid(nested.root()), Ok(false));
    assert!(matches!(tree.validate(nested.root()), Verdict::Invalid(_)));
}

#[test]
fn a_dangling_reference_is_refused() {
    let error = refused(r##"{"$ref":"http://127.0.0.1:9/a"}"##);
    assert!(error.to_string().contains("http://127.0.0.1:9/a"));
}

fn document(text: &str) -> Document {
    Document::parse(text, &Limits::DEFAULT).unwrap()
}
