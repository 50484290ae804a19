//! Properties that hold for any schema and any value.

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::document;
use crate::contract::schema::fuzzing::fuzz_schema;
use crate::contract::schema::{Schema, SchemaLimits, Verdict};

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i16>().prop_map(|number| number.to_string()),
        (any::<i16>(), 0_u8..4).prop_map(|(number, scale)| format!("{number}e-{scale}")),
        "[ab1é]{0,4}".prop_map(|text| format!("\"{text}\"")),
        "[ab]{0,3}".prop_map(|text| format!("\"\\u0061{text}\"")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let array =
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(",")));
        let object = prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|members| {
            let members: Vec<String> =
                members.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        });
        prop_oneof![array, object]
    })
}

/// Schemas over all keywords, most of them valid.
fn schema() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("true".to_owned()),
        Just("false".to_owned()),
        prop::sample::select(vec!["null", "boolean", "integer", "number", "string", "array", "object"])
            .prop_map(|name| format!("{{\"type\":\"{name}\"}}")),
        value().prop_map(|value| format!("{{\"const\":{value}}}")),
        prop::collection::vec(value(), 0..3)
            .prop_map(|values| format!("{{\"enum\":[{}]}}", values.join(","))),
        (-50..50_i32).prop_map(|bound| format!("{{\"minimum\":{bound}}}")),
        (-50..50_i32, 0..50_i32).prop_map(|(low, more)| format!(
            "{{\"type\":\"integer\",\"exclusiveMinimum\":{low},\"maximum\":{}}}",
            low + more
        )),
        (1..20_i32).prop_map(|factor| format!("{{\"multipleOf\":{factor}e-1}}")),
        (0..4_u8, 0..4_u8).prop_map(|(least, more)| format!(
            "{{\"type\":\"string\",\"minLength\":{least},\"maxLength\":{}}}",
            least + more
        )),
        Just(r#"{"pattern":"^[ab]*$"}"#.to_owned()),
        Just(r#"{"type":["string","null"],"pattern":"(a|b)+1"}"#.to_owned()),
        Just(r#"{"uniqueItems":true}"#.to_owned()),
        Just(r##"{"$ref":"#/$defs/d"}"##.to_owned()),
        Just(r##"{"items":{"$ref":"#"}}"##.to_owned()),
        Just(r#"{"required":["a","b"]}"#.to_owned()),
    ];
    let node = leaf.prop_recursive(4, 24, 4, |inner| {
        let one = |keyword: &'static str| {
            inner.clone().prop_map(move |schema| format!("\"{keyword}\":{schema}")).boxed()
        };
        let list = |keyword: &'static str| {
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(move |schemas| format!("\"{keyword}\":[{}]", schemas.join(",")))
                .boxed()
        };
        let map = |keyword: &'static str| {
            prop::collection::btree_map("[abc]", inner.clone(), 0..4)
                .prop_map(move |schemas| {
                    let members: Vec<String> =
                        schemas.into_iter().map(|(name, schema)| format!("\"{name}\":{schema}")).collect();
                    format!("\"{keyword}\":{{{}}}", members.join(","))
                })
                .boxed()
        };
        let keywords = vec![
            one("not"),
            one("if"),
            one("then"),
            one("else"),
            one("items"),
            one("contains"),
            one("additionalProperties"),
            one("propertyNames"),
            one("unevaluatedItems"),
            one("unevaluatedProperties"),
            list("allOf"),
            list("anyOf"),
            list("oneOf"),
            list("prefixItems"),
            map("properties"),
            map("properties"),
            map("patternProperties"),
            map("dependentSchemas"),
            Just("\"required\":[\"a\"]".to_owned()).boxed(),
            Just("\"minContains\":2".to_owned()).boxed(),
            Just("\"maxContains\":1".to_owned()).boxed(),
            Just("\"dependentRequired\":{\"a\":[\"b\"]}".to_owned()).boxed(),
        ];
        prop::sample::subsequence((0..keywords.len()).collect::<Vec<_>>(), 1..4).prop_flat_map(
            move |chosen| {
                let parts: Vec<_> = chosen.into_iter().map(|at| keywords[at].clone()).collect();
                parts.prop_map(|mut parts: Vec<String>| {
                    parts.sort();
                    parts.dedup_by_key(|part| part.split(':').next().map(str::to_owned));
                    format!("{{{}}}", parts.join(","))
                })
            },
        )
    });
    (node.clone(), node).prop_map(|(root, shared)| match root.strip_prefix('{') {
        Some(rest) if rest != "}" => format!("{{\"$defs\":{{\"d\":{shared}}},{rest}"),
        _ => root,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_quick_verdict_and_the_collected_one_agree(text in schema(), instance in value()) {
        if let Ok(schema) = Schema::compile(&text, &SchemaLimits::DEFAULT) {
            let instance = document(&instance);
            let quick = schema.is_valid(instance.root()).unwrap();
            prop_assert_eq!(quick, schema.validate(instance.root()) == Verdict::Valid, "{}", text);
        }
    }

    #[test]
    fn a_schema_and_its_negation_never_agree(text in schema(), instance in value()) {
        let negated = text.strip_prefix("{\"$defs\":").map_or_else(
            || format!("{{\"not\":{text}}}"),
            |_| format!("{{\"$id\":\"x:/n\",\"not\":{}}}", text.replacen('{', "{\"$id\":\"x:/s\",", 1)),
        );
        if let (Ok(schema), Ok(negated)) = (
            Schema::compile(&text, &SchemaLimits::DEFAULT),
            Schema::compile(&negated, &SchemaLimits::DEFAULT),
        ) {
            let instance = document(&instance);
            let verdict = schema.is_valid(instance.root()).unwrap();
            prop_assert_eq!(!verdict, negated.is_valid(instance.root()).unwrap(), "{}", text);
        }
    }

    #[test]
    fn a_smaller_budget_gives_the_same_verdict_or_none(text in schema(), instance in value(), work in 0_u64..400) {
        let limits = SchemaLimits { evaluate_work: work, ..SchemaLimits::DEFAULT };
        if let (Ok(schema), Ok(small)) =
            (Schema::compile(&text, &SchemaLimits::DEFAULT), Schema::compile(&text, &limits))
        {
            let instance = document(&instance);
            if let Ok(verdict) = small.is_valid(instance.root()) {
                prop_assert_eq!(verdict, schema.is_valid(instance.root()).unwrap(), "{}", text);
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(schema in ".{0,60}", instance in ".{0,20}") {
        fuzz_schema(format!("{schema}\0{instance}").as_bytes());
    }

    #[test]
    fn damaged_schemas_never_panic(text in schema(), instance in value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut damaged = text.into_bytes();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        damaged.push(0);
        damaged.extend(instance.bytes());
        fuzz_schema(&damaged);
    }
}

proptest! {
    /// A tag chooses among alternatives; an alternative without one makes the evaluator try them all.
    #[test]
    fn a_tag_gives_the_verdict_that_trying_all_alternatives_gives(
        keyword in prop::sample::select(vec!["anyOf", "oneOf"]),
        inner in prop::collection::vec(schema().prop_filter("without references", |text| !text.contains("$ref")), 3),
        kind in prop::sample::select(vec!["\"a\"", "\"b\"", "\"c\"", "\"\\u0061\"", "\"d\"", "1", "null"]),
        other in value(),
    ) {
        let alternatives: Vec<String> = inner
            .iter()
            .zip(["a", "b", "c"])
            .map(|(inner, word)| {
                let inner = inner.strip_prefix("{\"$defs\":").map_or(inner.as_str(), |_| "true");
                format!(r#"{{"properties":{{"k":{{"const":"{word}"}},"v":{inner}}},"required":["k"]}}"#)
            })
            .collect();
        let tagged = format!(r#"{{"{keyword}":[{}]}}"#, alternatives.join(","));
        let tried = format!(r#"{{"{keyword}":[{},false]}}"#, alternatives.join(","));
        if let (Ok(tagged), Ok(tried)) =
            (Schema::compile(&tagged, &SchemaLimits::DEFAULT), Schema::compile(&tried, &SchemaLimits::DEFAULT))
        {
            for text in [format!(r#"{{"k":{kind},"v":{other}}}"#), format!(r#"{{"v":{other}}}"#), other.clone()] {
                let value = document(&text);
                prop_assert_eq!(tagged.is_valid(value.root()), tried.is_valid(value.root()), "{}", text);
            }
        }
    }
}
