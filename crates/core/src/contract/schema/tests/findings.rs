//! Keywords whose values have the wrong type are findings, each with its place.

use callgate_protocol::json::{Document, Limits};

use super::{document, refused, schema};
use crate::contract::schema::{Schema, SchemaLimits, Verdict};

#[test]
fn every_keyword_refuses_values_of_the_wrong_type() {
    for (keyword, values) in [
        ("type", vec!["7", "\"text\"", "[]", "[\"string\",\"string\"]", "{}", "null", "[7]"]),
        ("enum", vec!["{}", "1"]),
        ("allOf", vec!["[]", "{}", "[7]"]),
        ("anyOf", vec!["[]", "true"]),
        ("oneOf", vec!["[]", "[[]]"]),
        ("not", vec!["[]", "\"x\""]),
        ("if", vec!["1"]),
        ("then", vec!["1"]),
        ("else", vec!["1"]),
        ("minimum", vec!["\"1\"", "null"]),
        ("exclusiveMinimum", vec!["true"]),
        ("exclusiveMaximum", vec!["false"]),
        ("maximum", vec!["[]"]),
        ("multipleOf", vec!["0", "-1", "\"1\"", "0.0"]),
        ("minLength", vec!["-1", "1.5", "\"1\""]),
        ("maxLength", vec!["-1"]),
        ("pattern", vec!["7", "\"(\""]),
        ("format", vec!["7"]),
        ("minItems", vec!["-1"]),
        ("maxItems", vec!["0.1"]),
        ("uniqueItems", vec!["\"true\"", "1"]),
        ("items", vec!["7", "[true]"]),
        ("prefixItems", vec!["[]", "{}"]),
        ("contains", vec!["7"]),
        ("minContains", vec!["-1"]),
        ("maxContains", vec!["\"\""]),
        ("minProperties", vec!["-1"]),
        ("maxProperties", vec!["null"]),
        ("required", vec!["true", "[1]", "[\"a\",\"a\"]", "\"a\""]),
        ("properties", vec!["[]", "{\"a\":7}"]),
        ("patternProperties", vec!["[]", "{\"(\":true}"]),
        ("additionalProperties", vec!["7"]),
        ("propertyNames", vec!["7"]),
        ("dependentRequired", vec!["[]", "{\"a\":true}"]),
        ("dependentSchemas", vec!["[]", "{\"a\":[]}"]),
        ("dependencies", vec!["[]", "{\"a\":7}", "{\"a\":[1]}"]),
        ("unevaluatedItems", vec!["7"]),
        ("unevaluatedProperties", vec!["7"]),
        ("$ref", vec!["7"]),
        ("$dynamicRef", vec!["{}"]),
        ("$id", vec!["7", "\"x#y\""]),
        ("$anchor", vec!["7", "\"\"", "\"a b\""]),
        ("$dynamicAnchor", vec!["\"1\""]),
        ("$defs", vec!["[]", "{\"a\":1}"]),
        ("definitions", vec!["[]"]),
        ("title", vec!["7"]),
        ("description", vec!["{}"]),
        ("examples", vec!["{}"]),
        ("deprecated", vec!["\"no\""]),
        ("readOnly", vec!["1"]),
    ] {
        for value in values {
            let error = refused(&format!(r#"{{"properties":{{"p":{{"{keyword}":{value}}}}}}}"#));
            for finding in &error.findings {
                assert!(
                    finding.pointer.starts_with(&format!("/properties/p/{keyword}")),
                    "{keyword}: {error}"
                );
                assert!(!finding.message.is_empty() && !finding.remedy.is_empty(), "{keyword}: {error}");
            }
        }
    }
}

#[test]
fn all_faults_of_a_schema_come_at_once_in_the_order_of_the_text() {
    let error = refused(
        r##"{"type":"text","properties":{"a":{"minLength":-1,"pattern":"("},"b":{"$ref":"#/$defs/gone"}},"required":true}"##,
    );
    let places: Vec<_> = error.findings.iter().map(|finding| finding.pointer.as_str()).collect();
    assert_eq!(
        places,
        ["/type", "/properties/a/minLength", "/properties/a/pattern", "/properties/b/$ref", "/required"]
    );
    let many: Vec<String> = (0..300).map(|at| format!(r#""p{at}":{{"type":"text"}}"#)).collect();
    let error = refused(&format!(r#"{{"properties":{{{}}}}}"#, many.join(",")));
    assert_eq!(error.findings.len(), SchemaLimits::DEFAULT.findings);
}

#[test]
fn text_that_is_no_json_is_refused_with_its_place() {
    let error = refused(r#"{"type":"object",}"#);
    assert!(error.to_string().contains("not JSON") && error.to_string().contains("byte 17"), "{error}");
    let error = refused(r#"{"type":"object","type":"string"}"#);
    assert!(error.to_string().contains("duplicate"), "{error}");
    assert_eq!(refused("null").findings[0].message, "a schema is an object or a boolean");
    assert_eq!(refused("[]").findings.len(), 1);
}

#[test]
fn names_given_twice_are_refused() {
    let error = refused(r#"{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}"#);
    assert!(error.to_string().contains("used twice"), "{error}");
    let error = refused(r#"{"$defs":{"a":{"$id":"http://e/x"},"b":{"$id":"http://e/x"}}}"#);
    assert!(error.to_string().contains("same identifier"), "{error}");
}

#[test]
fn what_the_author_may_not_have_meant_is_noted() {
    for (text, pointer) in [
        (r#"{"then":{}}"#, "/then"),
        (r#"{"minContains":1}"#, "/minContains"),
        (r#"{"additionalItems":false}"#, "/additionalItems"),
        (r#"{"dependencies":{"a":["b"]}}"#, "/dependencies"),
        (r#"{"type":"string","nullable":true}"#, "/nullable"),
        (r#"{"enum":[]}"#, "/enum"),
        (r#"{"type":"integer","default":"1"}"#, "/default"),
        (r#"{"format":"money"}"#, "/format"),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","unevaluatedProperties":false}"#,
            "/unevaluatedProperties",
        ),
    ] {
        let notes: Vec<_> = schema(text).notes().iter().map(|note| note.pointer.clone()).collect();
        assert_eq!(notes, [pointer], "{text}");
    }
}

/// Everything that is compiled satisfies the meta-schema of its dialect.
#[test]
fn no_schema_of_the_suite_is_compiled_against_its_meta_schema() {
    let meta = schema(r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../vectors/json-schema-test-suite/draft2020-12");
    let mut compiled = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let suite = Document::parse(std::fs::read_to_string(path).unwrap(), &Limits::DEFAULT).unwrap();
        for case in suite.root().items() {
            let text = case.get("schema").unwrap().raw();
            if Schema::compile(text, &SchemaLimits::DEFAULT).is_ok() {
                compiled += 1;
                assert_eq!(meta.validate(document(text).root()), Verdict::Valid, "{text}");
            }
        }
    }
    assert!(compiled > 300, "{compiled}");
}
