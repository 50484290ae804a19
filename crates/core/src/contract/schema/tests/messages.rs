//! What a refused caller is told: where, what would be accepted, and never the value.

use super::{places, schema, violations};
use crate::contract::schema::{Schema, SchemaLimits, Verdict};

#[test]
fn each_keyword_says_what_it_accepts() {
    for (text, value, keyword, expected) in [
        (r#"{"type":["string","null"]}"#, "1", "type", "a string or null"),
        (r#"{"type":["integer","array","object"]}"#, "null", "type", "an object, an array or an integer"),
        (r#"{"enum":["a","b"]}"#, "\"c\"", "enum", r#"one of "a", "b""#),
        (
            r#"{"enum":[1,null,[1],{"a":1}]}"#,
            "2",
            "enum",
            "one of 1, null, an array given in the schema, an object given in the schema",
        ),
        (r#"{"const":"a"}"#, "\"c\"", "const", r#"the value "a""#),
        (r#"{"const":true}"#, "1", "const", "the value true"),
        (r#"{"minimum":1.50}"#, "1", "minimum", "a number of at least 1.50"),
        (r#"{"maximum":1}"#, "2", "maximum", "a number of at most 1"),
        (r#"{"exclusiveMinimum":1}"#, "1", "exclusiveMinimum", "a number above 1"),
        (r#"{"exclusiveMaximum":1}"#, "1", "exclusiveMaximum", "a number below 1"),
        (r#"{"multipleOf":5}"#, "1", "multipleOf", "a multiple of 5"),
        (r#"{"minLength":1}"#, "\"\"", "minLength", "at least 1 character"),
        (r#"{"maxLength":2}"#, "\"abc\"", "maxLength", "at most 2 characters"),
        (r#"{"pattern":"^a$"}"#, "\"b\"", "pattern", "text that matches the pattern ^a$"),
        (r#"{"format":"email"}"#, "\"b\"", "format", "an email address"),
        (r#"{"minItems":1}"#, "[]", "minItems", "at least 1 item"),
        (r#"{"maxItems":0}"#, "[1]", "maxItems", "at most 0 items"),
        (r#"{"minProperties":2}"#, "{}", "minProperties", "at least 2 members"),
        (r#"{"required":["a"]}"#, "{}", "required", r#"the member "a""#),
        (
            r#"{"dependentRequired":{"a":["b"]}}"#,
            r#"{"a":1}"#,
            "dependentRequired",
            r#"the member "b" beside "a""#,
        ),
        (
            r#"{"contains":{"type":"null"}}"#,
            "[1]",
            "contains",
            "at least 1 items that the schema in `contains` accepts",
        ),
        (r#"{"not":{"type":"null"}}"#, "null", "not", "a value that the schema in `not` refuses"),
        (r#"{"anyOf":[{"type":"string"},{"enum":[1,2]}]}"#, "3.5", "enum", "one of 1, 2"),
        (r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, "3.5", "anyOf", "a string, or null"),
        (
            r#"{"oneOf":[{"minimum":1},{"minimum":2}]}"#,
            "3",
            "oneOf",
            "a value that exactly one of the alternatives accepts; several do",
        ),
    ] {
        let list = violations(&schema(text), value);
        assert_eq!(list.len(), 1, "{text}: {list:?}");
        assert_eq!((list[0].keyword, list[0].expected.as_str()), (keyword, expected), "{text}");
        assert_eq!(list[0].pointer, "");
        assert!(list[0].schema_pointer.ends_with(&format!("/{keyword}")), "{}", list[0].schema_pointer);
    }
}

#[test]
fn parts_that_are_not_accepted_are_pointed_at() {
    for (text, value, pointer, keyword) in [
        (
            r#"{"additionalProperties":false,"properties":{"a":true}}"#,
            r#"{"b/~":1}"#,
            "/b~1~0",
            "additionalProperties",
        ),
        (r#"{"propertyNames":{"maxLength":1}}"#, r#"{"ab":1}"#, "/ab", "propertyNames"),
        (r#"{"unevaluatedProperties":false}"#, r#"{"a":1}"#, "/a", "unevaluatedProperties"),
        (r#"{"prefixItems":[true],"items":false}"#, "[1,2]", "/1", "items"),
        (r#"{"prefixItems":[true],"unevaluatedItems":false}"#, "[1,2]", "/1", "unevaluatedItems"),
        (r#"{"uniqueItems":true}"#, "[1,2,1]", "/2", "uniqueItems"),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],"additionalItems":false}"#,
            "[1,2]",
            "/1",
            "additionalItems",
        ),
    ] {
        assert_eq!(places(&schema(text), value), [(pointer.to_owned(), keyword)], "{text}");
    }
}

#[test]
fn schema_pointers_lead_through_references_and_lists_to_the_keyword() {
    let order = schema(
        r##"{"properties":{"a":{"$ref":"#/$defs/x~y"},"b":{"anyOf":[{"type":"object","required":["k"],"properties":{"k":{"const":"1"},"n":{"type":"integer"}}},{"type":"null"}]}},"$defs":{"x~y":{"type":"string"}}}"##,
    );
    let list = violations(&order, r#"{"a":1,"b":{"k":"1","n":"x"}}"#);
    let told: Vec<_> = list.iter().map(|v| (v.pointer.as_str(), v.schema_pointer.as_str())).collect();
    assert_eq!(
        told,
        [("/a", "/$defs/x~0y/type"), ("/b/n", "/properties/b/anyOf/0/properties/n/type")],
        "the alternative that was meant explains itself"
    );
}

#[test]
fn a_report_is_the_same_each_time_however_long_its_pointer_is() {
    for length in [1, 100, 300] {
        let name = "n".repeat(length);
        let object =
            schema(&format!(r#"{{"properties":{{"{name}":{{"type":"object","required":["a"]}}}}}}"#));
        let value = format!(r#"{{"{name}":{{}}}}"#);
        let first = violations(&object, &value);
        assert_eq!(first[0].schema_pointer, format!("/properties/{name}/required"));
        assert_eq!(first[0].pointer, format!("/{name}"));
        assert_eq!(violations(&object, &value), first);
    }
}

#[test]
fn the_alternative_that_its_constants_name_explains_itself() {
    let target = schema(
        r#"{"oneOf":[{"type":"object","properties":{"kind":{"const":"email"},"address":{"type":"string"}},"required":["kind","address"]},{"type":"object","properties":{"kind":{"const":"file"},"path":{"type":"string"}},"required":["kind","path"]}]}"#,
    );
    assert_eq!(places(&target, r#"{"kind":"file","path":7}"#), [("/path".to_owned(), "type")]);
    assert_eq!(places(&target, r#"{"kind":"email"}"#), [(String::new(), "required")]);
    let unknown = violations(&target, r#"{"kind":"other"}"#);
    assert_eq!(unknown.len(), 1);
    assert_eq!(unknown[0].expected, r#"an object with "kind", "address", or an object with "kind", "path""#);
}

#[test]
fn no_value_is_repeated_in_any_message() {
    let secret = "s3cr3t-value";
    for text in [
        r#"{"type":"integer"}"#,
        r#"{"enum":["a"]}"#,
        r#"{"const":1}"#,
        r#"{"maxLength":1}"#,
        r#"{"pattern":"^x$"}"#,
        r#"{"format":"date"}"#,
        r#"{"not":{"type":"string"}}"#,
        r#"{"anyOf":[{"type":"null"},{"const":"b"}]}"#,
        "false",
    ] {
        for violation in violations(&schema(text), &format!("\"{secret}\"")) {
            assert!(!format!("{violation:?}").contains(secret), "{text}");
        }
    }
}

#[test]
fn the_list_is_capped_and_says_so() {
    let numbers = schema(r#"{"items":{"type":"integer"}}"#);
    let value = |count: usize| format!("[{}]", vec!["\"x\""; count].join(","));
    let most = SchemaLimits::DEFAULT.violations;
    for (count, truncated) in [(most, false), (most + 1, true)] {
        match numbers.validate(super::document(&value(count)).root()) {
            Verdict::Invalid(violations) => {
                assert_eq!((violations.list.len(), violations.truncated), (most, truncated));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn long_texts_of_a_schema_are_cut_in_messages() {
    let long = "é".repeat(300);
    let words: Vec<String> = (0..40).map(|at| format!("\"{at}{long}\"")).collect();
    let listed =
        Schema::compile(&format!(r#"{{"enum":[{}]}}"#, words.join(",")), &SchemaLimits::DEFAULT).unwrap();
    let list = violations(&listed, "1");
    assert!(
        list[0].expected.len() < 2000 && list[0].expected.ends_with("and 28 more"),
        "{}",
        list[0].expected
    );
}

#[test]
fn a_value_inside_a_larger_document_is_pointed_at_from_itself() {
    let numbers = schema(r#"{"items":{"type":"integer"}}"#);
    let message = super::document(r#"{"params":{"arguments":[1,"x"]}}"#);
    let arguments = message.root().path(["params", "arguments"]).unwrap();
    match numbers.validate(arguments) {
        Verdict::Invalid(violations) => assert_eq!(violations.list[0].pointer, "/1"),
        other => panic!("{other:?}"),
    }
}
