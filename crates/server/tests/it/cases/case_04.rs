//! Case 4: each schema is judged by its own dialect. The kind of fault: one dialect for all, or an
//! unknown one taken for a known one.

use callgate_core::contract::schema::{Schema, SchemaLimits, Verdict};

use crate::cases::fixture::register;
use crate::cases::harness::json;

fn tuple(dialect: &str) -> String {
    format!(
        r#"{{"$schema":"{dialect}","type":"object","properties":{{"p":{{"type":"array","items":[{{"type":"integer"}},{{"type":"string"}}]}}}},"required":["p"]}}"#
    )
}

/// Requirements: BASE-34, BASE-35, BASE-37.
#[test]
fn draft_07_is_judged_by_its_own_rules_in_both_spellings() {
    for dialect in ["http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema"] {
        let schema = Schema::compile(&tuple(dialect), &SchemaLimits::DEFAULT).unwrap();
        let valid = |value: &str| matches!(schema.validate(json(value).root()), Verdict::Valid);
        assert!(valid(r#"{"p":[1,"a"]}"#));
        assert!(valid(r#"{"p":[1]}"#));
        assert!(!valid(r#"{"p":["a",1]}"#));
        assert!(!valid(r#"{"p":[1,2]}"#));
        assert!(!valid("{}"));
        assert!(register("t", r#"{"type":"object"}"#, Some(&tuple(dialect))).is_ok());
        assert!(register("t", &tuple(dialect), None).is_ok());
    }
}

/// Requirements: BASE-34, BASE-38.
#[test]
fn the_array_form_of_items_is_no_2020_12() {
    for dialect in
        ["https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#"]
    {
        assert!(register("t", &tuple(dialect), None).is_err(), "{dialect}");
    }
    let silent = r#"{"type":"object","properties":{"p":{"items":[true]}}}"#;
    assert!(register("t", silent, None).is_err());
    let prefix = r#"{"type":"object","properties":{"p":{"prefixItems":[{"type":"integer"}],"items":false}}}"#;
    let schema = Schema::compile(prefix, &SchemaLimits::DEFAULT).unwrap();
    assert!(matches!(schema.validate(json(r#"{"p":[1]}"#).root()), Verdict::Valid));
    assert!(matches!(schema.validate(json(r#"{"p":[1,2]}"#).root()), Verdict::Invalid(_)));
}

/// Requirements: BASE-36.
#[test]
fn any_other_dialect_is_refused_by_name() {
    for dialect in [
        "https://example.invalid/odd",
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/schema#",
        "",
    ] {
        for (input, output) in
            [(tuple(dialect), None), (r#"{"type":"object"}"#.to_owned(), Some(tuple(dialect)))]
        {
            let faults = register("t", &input, output.as_deref()).unwrap_err();
            let member = if output.is_some() { "outputSchema" } else { "inputSchema" };
            let named = faults.iter().any(|fault| fault.contains(member) && fault.contains(dialect));
            assert!(named, "{dialect}: {faults:?}");
        }
    }
    assert!(register("t", r#"{"type":"object","$schema":7}"#, None).is_err());
}
