//! Work is bounded for schema and value together; what exceeds a bound is refused.

use callgate_protocol::json::{Document, Limits};

use super::{document, schema};
use crate::contract::schema::{OverBudget, Schema, SchemaLimits, Verdict};

/// Judges with a budget that only linear work keeps to.
fn within(text: &str, value: &str, work: u64) -> bool {
    let limits = SchemaLimits { evaluate_work: work, ..SchemaLimits::DEFAULT };
    let schema = Schema::compile(text, &limits).unwrap();
    let value = document(value);
    let collected = schema.validate(value.root());
    schema.is_valid(value.root()).is_ok() && collected != Verdict::OverBudget
}

#[test]
fn alternatives_over_nested_values_take_linear_work() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for text in [
        r##"{"$ref":"#/$defs/t","$defs":{"t":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/t"}},{"type":"array","items":{"$ref":"#/$defs/t"},"minItems":2}]}}}"##,
        r##"{"$ref":"#/$defs/t","$defs":{"t":{"oneOf":[{"items":{"$ref":"#/$defs/t"},"minItems":9},{"items":{"$ref":"#/$defs/t"},"type":"array"}]}}}"##,
        r##"{"$ref":"#/$defs/t","$defs":{"t":{"allOf":[{"items":{"$ref":"#/$defs/t"}},{"items":{"$ref":"#/$defs/t"}}],"type":"array"}}}"##,
        r##"{"type":"array","items":{"$ref":"#"},"not":{"items":{"$ref":"#"},"minItems":2}}"##,
        r##"{"if":{"items":{"$ref":"#"}},"then":{"items":{"$ref":"#"}},"else":{"items":{"$ref":"#"}},"type":"array"}"##,
        r##"{"contains":{"$ref":"#"},"items":{"$ref":"#"},"type":"array"}"##,
        r##"{"anyOf":[{"contains":{"$ref":"#"}},{"prefixItems":[{"$ref":"#"}]}],"unevaluatedItems":{"$ref":"#"},"type":"array"}"##,
        r##"{"$dynamicAnchor":"t","anyOf":[{"items":{"$dynamicRef":"#t"},"minItems":2},{"items":{"$dynamicRef":"#t"}}],"type":"array"}"##,
    ] {
        // Twice the depth may take about twice the work, not its square.
        assert!(within(text, &nested(20), 4_000), "{text}");
        assert!(within(text, &nested(40), 8_000), "{text}");
    }
}

#[test]
fn alternatives_inside_each_other_with_unevaluated_take_linear_work() {
    let level = |inner: &str| format!(r#"{{"anyOf":[{inner},{inner}],"unevaluatedProperties":false}}"#);
    let text =
        (0..6).fold(String::from(r#"{"properties":{"a":{"type":"integer"}}}"#), |inner, _| level(&inner));
    assert!(within(&text, r#"{"a":1}"#, 20_000));
    assert!(within(&text, r#"{"a":"x","b":1}"#, 20_000));
}

#[test]
fn chains_of_pairs_compile_and_run_in_linear_work() {
    let links: Vec<String> = (0..100)
        .map(|at| {
            format!(
                r##""d{at}":{{"allOf":[{{"$ref":"#/$defs/d{n}"}},{{"$ref":"#/$defs/d{n}"}}]}}"##,
                n = at + 1
            )
        })
        .collect();
    let text =
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d100":{{"type":"integer"}}}}}}"##, links.join(","));
    let limits = SchemaLimits { compile_work: 20_000, evaluate_work: 5_000, ..SchemaLimits::DEFAULT };
    let chain = Schema::compile(&text, &limits).unwrap();
    assert_eq!(chain.is_valid(document("1").root()), Ok(true));
    assert_eq!(chain.is_valid(document("\"x\"").root()), Ok(false));
    match chain.validate(document("\"x\"").root()) {
        Verdict::Invalid(violations) => assert_eq!(violations.list.len(), 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn over_budget_is_a_verdict_of_its_own_and_never_valid() {
    let limits = SchemaLimits { evaluate_work: 50, ..SchemaLimits::DEFAULT };
    for (text, good) in [
        (r#"{"items":{"type":"integer"}}"#, format!("[{}]", vec!["1"; 100].join(","))),
        (
            r#"{"uniqueItems":true}"#,
            format!("[{}]", (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(",")),
        ),
        (r#"{"pattern":"(a|b)*c"}"#, format!("\"{}c\"", "a".repeat(100))),
        (
            r#"{"additionalProperties":true,"patternProperties":{"^x":true}}"#,
            format!("{{\"{}\":1}}", "x".repeat(100)),
        ),
        (r#"{"const":"CONST"}"#, "\"CONST\"".to_owned()),
    ] {
        let text = text.replace("\"CONST\"", &format!("[{}]", vec!["1"; 100].join(",")));
        let good = good.replace("\"CONST\"", &format!("[{}]", vec!["1"; 100].join(",")));
        let schema = Schema::compile(&text, &limits).unwrap();
        let value = document(&good);
        assert_eq!(schema.is_valid(value.root()), Err(OverBudget), "{text}");
        assert_eq!(schema.validate(value.root()), Verdict::OverBudget, "{text}");
        assert_eq!(super::schema(&text).is_valid(value.root()), Ok(true), "{text}");
    }
}

#[test]
fn the_bound_on_evaluation_holds_at_its_value_and_refuses_one_less() {
    let text = r#"{"items":{"enum":["a","b"]}}"#;
    let value = document(r#"["a","b","c","a"]"#);
    let valid = |work: u64| {
        let limits = SchemaLimits { evaluate_work: work, ..SchemaLimits::DEFAULT };
        Schema::compile(text, &limits).unwrap().is_valid(value.root())
    };
    let least = (0..).find(|work| valid(*work).is_ok()).unwrap();
    assert_eq!(valid(least), Ok(false));
    assert_eq!(valid(least - 1), Err(OverBudget));
}

#[test]
fn the_bounds_on_a_schema_hold_at_their_value_and_refuse_one_past_it() {
    let limits =
        SchemaLimits { bytes: 60, depth: 4, subschemas: 3, pattern_bytes: 5, ..SchemaLimits::DEFAULT };
    let compile = |text: &str| Schema::compile(text, &limits).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(compile(r#"{"items":{"items":true}}"#), Ok(()));
    assert!(compile(r#"{"items":{"items":{"items":true}}}"#).unwrap_err().contains("more than 3 subschemas"));
    assert_eq!(compile(r#"{"const":[[[1]]]}"#), Ok(()));
    assert!(compile(r#"{"const":[[[[1]]]]}"#).unwrap_err().contains("deeper than 4 levels"));
    assert_eq!(compile(r#"{"pattern":"aaaaa"}"#), Ok(()));
    assert!(compile(r#"{"pattern":"aaaaaa"}"#).unwrap_err().contains("larger than the bound"));
    let padded = |bytes: usize| format!("{{\"title\":\"{}\"}}", "x".repeat(bytes - 12));
    assert_eq!(compile(&padded(60)), Ok(()));
    assert!(compile(&padded(61)).unwrap_err().contains("longer than 60 bytes"));
    let limits = SchemaLimits { compile_work: 10, ..SchemaLimits::DEFAULT };
    let error =
        Schema::compile(r#"{"properties":{"a":true,"b":true,"c":true,"d":true}}"#, &limits).unwrap_err();
    assert!(error.to_string().contains("more than 10 steps"), "{error}");
}

#[test]
fn many_hostile_patterns_are_too_much_work_to_compile() {
    let patterns: Vec<String> =
        (0..2000).map(|at| format!(r#"{{"pattern":"(?:[\\p{{L}}\\p{{N}}]x?){{20}}{at}"}}"#)).collect();
    let error = Schema::compile(&format!(r#"{{"allOf":[{}]}}"#, patterns.join(",")), &SchemaLimits::DEFAULT)
        .unwrap_err();
    assert!(error.to_string().contains("steps of work"), "{error}");
}

#[test]
fn large_honest_values_are_within_the_default_budget() {
    let rows = schema(
        r#"{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","maxLength":40,"pattern":"^[a-z ]+$"},"on":{"type":"string","format":"date"}},"required":["id"],"additionalProperties":false}}"#,
    );
    let row = r#"{"id":9007199254740993,"name":"a customer name","on":"2026-11-30"}"#;
    let value = Document::parse(format!("[{}]", vec![row; 30_000].join(",")), &Limits::DEFAULT).unwrap();
    assert_eq!(rows.is_valid(value.root()), Ok(true));
    let unique = schema(r#"{"uniqueItems":true}"#);
    let items: Vec<String> = (0..60_000).map(|at| format!("\"item {at}\"")).collect();
    let value = Document::parse(format!("[{}]", items.join(",")), &Limits::DEFAULT).unwrap();
    assert_eq!(unique.is_valid(value.root()), Ok(true));
}

#[test]
fn judging_at_the_deepest_does_not_overflow_the_stack_of_a_small_thread() {
    let judge = || {
        let tree = schema(
            r##"{"$ref":"#/$defs/t","$defs":{"t":{"anyOf":[{"allOf":[{"if":true,"then":{"items":{"$ref":"#/$defs/t"}}}]},false],"unevaluatedItems":{"$ref":"#/$defs/t"}}}}"##,
        );
        let limits = Limits::DEFAULT.with_depth(5000);
        let value = Document::parse(format!("{}{}", "[".repeat(5000), "]".repeat(5000)), &limits).unwrap();
        assert_eq!(tree.is_valid(value.root()), Err(OverBudget));
        assert_eq!(tree.validate(value.root()), Verdict::OverBudget);
        let equal = schema(&format!(r#"{{"enum":[{}{}]}}"#, "[".repeat(90), "]".repeat(90)));
        assert_eq!(equal.is_valid(value.root()), Ok(false));
        let unique = schema(r#"{"uniqueItems":true}"#);
        let twice: Vec<String> =
            (0..9).map(|_| format!("{}{}", "[".repeat(4000), "]".repeat(4000))).collect();
        let value = Document::parse(format!("[{}]", twice.join(",")), &limits).unwrap();
        assert_eq!(unique.is_valid(value.root()), Err(OverBudget));
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(judge).unwrap().join().unwrap();
}
