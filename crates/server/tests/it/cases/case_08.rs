//! Case 8: a pattern that costs exponential time elsewhere. The kind of fault: any schema by which one
//! value stalls the process.

use std::time::{Duration, Instant};

use callgate_core::contract::schema::{Schema, SchemaLimits, Verdict};

use crate::cases::fixture::{self, register};
use crate::cases::harness::http::post;
use crate::cases::harness::{call, is_error, json, shown};

/// The proposal of the case, with room for a slow machine and an unoptimized build.
const BUDGET: Duration = Duration::from_millis(500);

/// Requirements: BASE-43, TOOL-25.
#[test]
fn a_nested_repetition_is_judged_in_linear_time() {
    let server = fixture::http();
    for length in [40, 4_000, 40_000] {
        let arguments = format!("{{\"s\":\"{}!\"}}", "a".repeat(length));
        let begun = Instant::now();
        let answer = post(server.address, &call("1", "pattern", &arguments)).response();
        assert!(begun.elapsed() < BUDGET, "{length}: {:?}", begun.elapsed());
        assert!(is_error(&answer) && shown(&answer).contains("/s"), "{answer}");
    }
    let fitting = format!("{{\"s\":\"{}\"}}", "a".repeat(40));
    assert!(!is_error(&post(server.address, &call("1", "pattern", &fitting)).response()));
}

/// Requirements: BASE-43.
#[test]
fn it_is_the_same_in_every_place_of_a_schema() {
    let hostile = format!("\"{}!\"", "a".repeat(4_000));
    for (schema, value) in [
        (r#"{"pattern":"^(a+)+$"}"#, hostile.clone()),
        (r#"{"patternProperties":{"^(a+)+$":false}}"#, format!("{{{hostile}:1}}")),
        (r#"{"propertyNames":{"pattern":"^(a|aa)+$"}}"#, format!("{{{hostile}:1}}")),
        (r#"{"items":{"pattern":"(a*)*b"}}"#, format!("[{hostile}]")),
        (r#"{"pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"}"#, hostile),
    ] {
        let schema = Schema::compile(schema, &SchemaLimits::DEFAULT).unwrap();
        let document = json(&value);
        let begun = Instant::now();
        let _ = schema.validate(document.root());
        assert!(begun.elapsed() < BUDGET);
    }
}

/// Requirements: BASE-36, BASE-43.
#[test]
fn a_pattern_beyond_linear_time_is_refused_by_name() {
    for pattern in [r"^(?=.*[0-9])(\\w+\\s?)+$", r"(a)\\1+", r"(?<!a)b", r"(?<n>a)\\k<n>", "(", "a{2,1}"] {
        let input =
            format!(r#"{{"type":"object","properties":{{"s":{{"type":"string","pattern":"{pattern}"}}}}}}"#);
        let faults = register("t", &input, None).unwrap_err();
        assert!(faults.iter().any(|fault| fault.contains("/properties/s")), "{pattern}: {faults:?}");
        assert!(register("t", r#"{"type":"object"}"#, Some(&input)).is_err(), "{pattern}");
    }
}

/// Requirements: BASE-43.
#[test]
fn a_schema_that_multiplies_work_runs_out_of_budget_and_not_of_time() {
    let recursive = r##"{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[
        {"type":"array","items":{"$ref":"#/$defs/n"}},{"type":"array","items":{"$ref":"#/$defs/n"}},{"type":"integer"}]}}}"##;
    let schema = Schema::compile(recursive, &SchemaLimits::DEFAULT).unwrap();
    let mut value = String::from("\"x\"");
    for _ in 0..50 {
        value = format!("[{value}]");
    }
    let document = json(&value);
    let begun = Instant::now();
    assert!(!matches!(schema.validate(document.root()), Verdict::Valid));
    assert!(begun.elapsed() < BUDGET, "{:?}", begun.elapsed());
    let mut chained = String::from(r#"{"type":"object","$defs":{"d0":{"type":"integer"}"#);
    for level in 1..=20 {
        let below = level - 1;
        chained.push_str(&format!(
            r##","d{level}":{{"allOf":[{{"$ref":"#/$defs/d{below}"}},{{"$ref":"#/$defs/d{below}"}}]}}"##
        ));
    }
    chained.push_str(r##"},"properties":{"a":{"$ref":"#/$defs/d20"}}}"##);
    let begun = Instant::now();
    let compiled = Schema::compile(&chained, &SchemaLimits::DEFAULT);
    if let Ok(schema) = compiled {
        let _ = schema.validate(json(r#"{"a":1}"#).root());
    }
    assert!(begun.elapsed() < BUDGET, "{:?}", begun.elapsed());
}

/// Requirements: BASE-43.
#[test]
fn other_calls_keep_their_latency_meanwhile() {
    let server = fixture::http();
    let arguments = format!("{{\"s\":\"{}!\"}}", "a".repeat(200_000));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| post(server.address, &call("1", "pattern", &arguments)));
        }
        let begun = Instant::now();
        post(server.address, &call("2", "optional", r#"{"q":"x"}"#));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    });
}
