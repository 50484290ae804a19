//! Case 2: boolean subschemas are schemas. The kind of fault: a converter that takes `true` and `false`
//! for corrupt, or `false` for "anything", in any place where a schema may stand.

use callgate_core::contract::schema::{Schema, SchemaLimits, Verdict};

use crate::cases::fixture::{self, BOOLEANS};
use crate::cases::harness::http::post;
use crate::cases::harness::{at, call, is_error, json, request, shown};

/// Requirements: BASE-34, TOOL-25.
#[test]
fn true_accepts_everything_and_false_nothing() {
    let server = fixture::http();
    for (arguments, accepted) in [
        (r#"{"raw":[1,"x",null]}"#, true),
        (r#"{"bag":[{},0]}"#, true),
        (r#"{}"#, true),
        (r#"{"never":1}"#, false),
        (r#"{"never":null}"#, false),
        (r#"{"other":1}"#, false),
    ] {
        let answer = post(server.address, &call("1", "booleans", arguments)).response();
        assert_eq!(is_error(&answer), !accepted, "{arguments}: {answer}");
        if accepted {
            assert_eq!(shown(&answer), arguments);
        }
    }
    let answer = post(server.address, &call("1", "booleans", r#"{"never":1}"#)).response();
    assert!(shown(&answer).contains("/never"), "{answer}");
}

/// Requirements: TOOL-08.
#[test]
fn the_list_shows_the_booleans_as_they_were_written() {
    let server = fixture::http();
    let answer = post(server.address, &request("1", "tools/list", "")).response();
    let document = json(&answer);
    let tools = document.root().path(["result", "tools"]).unwrap();
    let tool = tools.items().find(|tool| tool.get("name").unwrap().is_str("booleans")).unwrap();
    assert_eq!(tool.get("inputSchema").unwrap().raw(), BOOLEANS);
    assert_eq!(at(&answer, &["result", "resultType"]).as_deref(), Some("\"complete\""));
}

#[test]
fn a_boolean_may_stand_wherever_a_schema_may() {
    let judge = |schema: &str, value: &str| {
        let schema = Schema::compile(schema, &SchemaLimits::DEFAULT).unwrap();
        let document = json(value);
        match schema.validate(document.root()) {
            Verdict::Valid => true,
            Verdict::Invalid(_) => false,
            Verdict::OverBudget => panic!("over budget"),
        }
    };
    for (schema, valid, invalid) in [
        ("true", "null", None),
        ("false", "", Some("null")),
        (r#"{"items":false}"#, "[]", Some("[1]")),
        (r#"{"prefixItems":[true,false]}"#, "[1]", Some("[1,2]")),
        (r#"{"additionalProperties":false}"#, "{}", Some(r#"{"a":1}"#)),
        (r#"{"patternProperties":{"^a":false}}"#, r#"{"b":1}"#, Some(r#"{"ab":1}"#)),
        (r#"{"propertyNames":false}"#, "{}", Some(r#"{"a":1}"#)),
        (r#"{"contains":false}"#, "1", Some("[1]")),
        (r#"{"not":false}"#, "1", None),
        (r#"{"not":true}"#, "", Some("1")),
        (r#"{"anyOf":[false,true]}"#, "1", None),
        (r#"{"oneOf":[true,true]}"#, "", Some("1")),
        (r#"{"allOf":[true,false]}"#, "", Some("1")),
        (r#"{"if":true,"then":false}"#, "", Some("1")),
        (r#"{"if":false,"else":false}"#, "", Some("1")),
        (r#"{"dependentSchemas":{"a":false}}"#, r#"{"b":1}"#, Some(r#"{"a":1}"#)),
        (r##"{"$ref":"#/$defs/never","$defs":{"never":false}}"##, "", Some("1")),
        (r#"{"unevaluatedProperties":false,"properties":{"a":true}}"#, r#"{"a":1}"#, Some(r#"{"b":1}"#)),
    ] {
        if !valid.is_empty() {
            assert!(judge(schema, valid), "{schema} {valid}");
        }
        if let Some(invalid) = invalid {
            assert!(!judge(schema, invalid), "{schema} {invalid}");
        }
    }
}
