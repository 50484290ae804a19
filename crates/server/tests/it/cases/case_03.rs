//! Case 3: the root of an input schema is an object schema. The kind of fault: one bad definition that
//! is taken, or that takes all others with it.

use crate::cases::fixture::register;

/// Requirements: TOOL-08, BASE-38.
#[test]
fn a_root_that_is_no_object_schema_is_refused_by_name() {
    for schema in [
        r#"{"type":"string"}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#,
        r#"{"anyOf":[{"type":"object"},{"type":"object"}]}"#,
        r#"{"type":["object","null"]}"#,
        r#"{"type":"Object"}"#,
        r#"{"type":null}"#,
        "{}",
        "null",
        "true",
        "false",
        "[]",
        "\"object\"",
        "7",
        "",
    ] {
        let faults = register("the_tool", schema, None).unwrap_err();
        assert!(faults.iter().any(|fault| fault.contains("inputSchema")), "{schema}: {faults:?}");
    }
}

#[test]
fn a_bad_definition_does_not_touch_a_good_one() {
    assert!(register("bad", "null", None).is_err());
    assert!(register("good", r#"{"type":"object"}"#, None).is_ok());
    assert!(register("good", r#"{"anyOf":[{"type":"object"}],"type":"object"}"#, None).is_ok());
}
