//! Faults that people reported of other validators, each with its whole kind.

use super::{accepts, document, places, refused, schema, violations};
use crate::contract::schema::{Dialect, Formats, Schema, SchemaLimits, SchemaOptions, Verdict};

fn place(pointer: &str, keyword: &'static str) -> (String, &'static str) {
    (pointer.to_owned(), keyword)
}

#[test]
fn recursion_is_legal_and_a_dangling_reference_names_its_place() {
    let tree = schema(
        r##"{"type":"object","properties":{"top":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/N"}}}}}}"##,
    );
    assert!(accepts(&tree, r#"{"top":{"kids":[{"kids":[]},{}]}}"#));
    assert_eq!(places(&tree, r#"{"top":{"kids":[{"kids":[7]}]}}"#), [place("/top/kids/0/kids/0", "type")]);
    for (reference, text) in [
        ("#/$defs/Gone", r##"{"type":"object","properties":{"s":{"$ref":"#/$defs/Gone"}}}"##),
        ("#gone", r##"{"properties":{"s":{"$ref":"#gone"}}}"##),
        ("#/properties/s/nothing", r##"{"properties":{"s":{"$ref":"#/properties/s/nothing"}}}"##),
        ("#/$defs/%zz", r##"{"properties":{"s":{"$ref":"#/$defs/%zz"}},"$defs":{"%zz":true}}"##),
    ] {
        let error = refused(text);
        assert_eq!(error.findings.len(), 1);
        assert_eq!(error.findings[0].pointer, "/properties/s/$ref");
        assert!(error.findings[0].message.contains(reference), "{error}");
    }
}

#[test]
fn a_reference_that_consumes_nothing_is_refused() {
    for text in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"not":{"$ref":"#"}}"##,
        r##"{"if":{"$ref":"#"}}"##,
        r##"{"if":true,"then":{"$ref":"#"}}"##,
        r##"{"dependentSchemas":{"a":{"$ref":"#"}}}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"oneOf":[{"$ref":"#/$defs/a"}]}}}"##,
        r##"{"$defs":{"unused":{"$ref":"#/$defs/unused"}}}"##,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#"}"##,
    ] {
        let error = refused(text);
        assert!(error.to_string().contains("leads back to itself"), "{error}");
    }
    // What goes into the value first is no circle.
    schema(r##"{"items":{"$ref":"#"},"properties":{"a":{"$ref":"#"}},"contains":{"$ref":"#"}}"##);
}

#[test]
fn boolean_schemas_are_schemas() {
    let bag = schema(
        r#"{"type":"object","properties":{"raw":true,"never":false,"bag":{"type":"array","items":true}},"additionalProperties":false}"#,
    );
    assert!(accepts(&bag, r#"{"raw":[1,"x",null]}"#));
    assert!(accepts(&bag, r#"{"bag":[{},0]}"#));
    assert_eq!(places(&bag, r#"{"never":1}"#), [place("/never", "false")]);
    assert_eq!(places(&bag, r#"{"other":1}"#), [place("/other", "additionalProperties")]);
    assert!(accepts(&schema("true"), "1"));
    assert_eq!(places(&schema("false"), "1"), [place("", "false")]);
    for keyword in
        ["not", "contains", "propertyNames", "if", "items", "unevaluatedItems", "unevaluatedProperties"]
    {
        schema(&format!(r#"{{"{keyword}":true}}"#));
        schema(&format!(r#"{{"{keyword}":false}}"#));
    }
}

#[test]
fn each_dialect_is_judged_by_its_own_rules_and_others_are_refused_by_name() {
    let tuple = |uri: &str| {
        format!(
            r#"{{"$schema":"{uri}","type":"object","properties":{{"p":{{"type":"array","items":[{{"type":"integer"}},{{"type":"string"}}]}}}},"required":["p"]}}"#
        )
    };
    for uri in [
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema#",
    ] {
        let old = schema(&tuple(uri));
        assert_eq!(old.dialect(), Dialect::Draft07);
        assert!(accepts(&old, r#"{"p":[1,"a"]}"#));
        assert_eq!(places(&old, r#"{"p":["a",1]}"#), [place("/p/0", "type"), place("/p/1", "type")]);
    }
    let modern = refused(&tuple("https://json-schema.org/draft/2020-12/schema"));
    assert_eq!(modern.findings[0].pointer, "/properties/p/items");
    for uri in [
        "https://example.invalid/odd",
        "http://json-schema.org/draft-06/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/schema#",
        "",
    ] {
        let error = refused(&tuple(uri));
        assert_eq!(error.findings.len(), 1);
        assert_eq!(error.findings[0].pointer, "/$schema");
        assert!(error.findings[0].message.contains(&format!("`{uri}`")), "{error}");
    }
    assert_eq!(refused(r#"{"$schema":7}"#).findings[0].keyword, "$schema");
    let inner = refused(r#"{"properties":{"a":{"$id":"x","$schema":"https://example.invalid/odd"}}}"#);
    assert_eq!(inner.findings[0].pointer, "/properties/a/$schema");
    // A schema inside another may have the other dialect, if it has a name of its own.
    let mixed = schema(
        r#"{"properties":{"a":{"$id":"x","$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}]}},"prefixItems":[{"type":"string"}]}"#,
    );
    assert!(
        accepts(&mixed, r#"{"a":[1,"x"]}"#) && !accepts(&mixed, r#"{"a":["x"]}"#) && !accepts(&mixed, "[1]")
    );
    assert_eq!(
        refused(r#"{"items":{"$schema":"http://json-schema.org/draft-07/schema#"}}"#).findings[0].pointer,
        "/items/$schema"
    );
}

#[test]
fn whole_numbers_are_integers_however_they_are_written() {
    let count =
        schema(r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}"#);
    for number in ["5", "5.0", "5e0", "1E2", "1e400", "500e-2", "9007199254740993", "1e1000000"] {
        assert!(accepts(&count, &format!(r#"{{"n":{number}}}"#)), "{number}");
    }
    for number in ["5.7", "0.5", "\"5\"", "true", "1e-400", "5e-1", "null", "[5]"] {
        assert_eq!(places(&count, &format!(r#"{{"n":{number}}}"#)), [place("/n", "type")], "{number}");
    }
    assert_eq!(places(&count, r#"{"n":-1e400}"#), [place("/n", "minimum")]);
    // Beyond 2^53 a float would not tell these apart.
    let exact = schema(r#"{"const":9007199254740993}"#);
    assert!(accepts(&exact, "9007199254740993.0") && !accepts(&exact, "9007199254740992"));
    let bound = schema(r#"{"maximum":9007199254740992}"#);
    assert!(accepts(&bound, "9007199254740992") && !accepts(&bound, "9007199254740993"));
    let listed = schema(r#"{"enum":[18446744073709551616,0.1]}"#);
    assert!(accepts(&listed, "18446744073709551616.00") && !accepts(&listed, "18446744073709551615"));
    assert!(accepts(&listed, "1e-1") && !accepts(&listed, "0.10000000000000000001"));
    let cents = schema(r#"{"multipleOf":0.01}"#);
    assert!(accepts(&cents, "19.99") && accepts(&cents, "1e300") && !accepts(&cents, "19.995"));
    let unique = schema(r#"{"uniqueItems":true}"#);
    assert!(!accepts(&unique, "[1,1.0]") && accepts(&unique, "[9007199254740992,9007199254740993]"));
}

#[test]
fn text_is_never_taken_for_what_it_spells_and_all_places_come_at_once() {
    let typed = schema(
        r#"{"type":"object","properties":{"n":{"type":"integer"},"flag":{"type":"boolean"},"list":{"type":"array"},"o":{"type":"object"}}}"#,
    );
    let list = violations(&typed, r#"{"n":"5","flag":"false","list":"[\"a\"]","o":"{}"}"#);
    let told: Vec<_> = list.iter().map(|v| (v.pointer.as_str(), v.expected.as_str())).collect();
    assert_eq!(
        told,
        [("/n", "an integer"), ("/flag", "a boolean"), ("/list", "an array"), ("/o", "an object")]
    );
    for text in ["0x10", "1,000", " 5 ", "1e3", "9007199254740993"] {
        let list = violations(&typed, &format!(r#"{{"n":"{text}"}}"#));
        assert!(!list[0].expected.contains(text), "values are not repeated");
    }
}

#[test]
fn null_is_no_absence_and_defaults_fill_nothing() {
    let search = schema(
        r#"{"type":"object","properties":{"q":{"type":"string"},"after":{"type":"string","default":null},"limit":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},"page":{"type":"integer","default":10}},"required":["q"]}"#,
    );
    assert!(accepts(&search, r#"{"q":"x"}"#));
    assert!(accepts(&search, r#"{"q":"x","limit":null}"#));
    assert_eq!(places(&search, r#"{"q":"x","after":null}"#), [place("/after", "type")]);
    let text = violations(&search, r#"{"q":"x","limit":"null"}"#);
    assert_eq!((text[0].pointer.as_str(), text[0].expected.as_str()), ("/limit", "an integer, or null"));
    assert_eq!(places(&search, "{}"), [place("", "required")]);
    let noted: Vec<_> = search.notes().iter().map(|note| note.pointer.as_str()).collect();
    assert_eq!(noted, ["/properties/after/default"], "a default that breaks its own type is noted");
}

#[test]
fn a_pattern_that_explodes_elsewhere_takes_no_time_wherever_it_stands() {
    let text = format!("{}!", "a".repeat(40));
    let long = format!("{}!", "a".repeat(50_000));
    for (schema_text, wrap) in [
        (
            r#"{"type":"object","properties":{"s":{"type":"string","pattern":"^(a+)+$"}}}"#,
            ("{\"s\":\"", "\"}"),
        ),
        (r#"{"patternProperties":{"^(a+)+$":false},"additionalProperties":false}"#, ("{\"", "\":1}")),
        (r#"{"propertyNames":{"pattern":"^(a+)+$"}}"#, ("{\"", "\":1}")),
        (r#"{"items":{"pattern":"^(a|a)*$"}}"#, ("[\"", "\"]")),
        (r#"{"items":{"pattern":"^(\\w+\\s?)+$"}}"#, ("[\"", "\"]")),
    ] {
        let hostile = schema(schema_text);
        for text in [&text, &long] {
            let value = document(&format!("{}{text}{}", wrap.0, wrap.1));
            assert_ne!(hostile.is_valid(value.root()), Ok(true));
            assert_ne!(hostile.validate(value.root()), Verdict::Valid);
        }
    }
}

#[test]
fn what_a_linear_engine_cannot_say_is_a_finding_with_its_name() {
    for (pattern, name) in [
        (r"^(?=.*[0-9])(\\w+\\s?)+$", "look-ahead"),
        (r"(a)\\1+", "back-reference"),
        (r"(?<!a)b", "look-behind"),
    ] {
        let error = refused(&format!(r#"{{"properties":{{"s":{{"pattern":"{pattern}"}}}}}}"#));
        assert_eq!(error.findings[0].pointer, "/properties/s/pattern");
        assert!(error.to_string().contains(name) && error.to_string().contains("not supported"), "{error}");
        let error = refused(&format!(r#"{{"patternProperties":{{"{pattern}":true}}}}"#));
        assert_eq!(error.findings[0].keyword, "patternProperties");
    }
}

#[test]
fn deep_schemas_are_refused_and_never_overflow_the_stack() {
    for (open, close) in [
        (r#"{"type":"object","properties":{"a":"#, "}}"),
        (r#"{"items":"#, "}"),
        (r#"{"allOf":["#, "]}"),
        (r#"{"not":"#, "}"),
    ] {
        let nested =
            |levels: usize| format!("{}{{\"type\":\"string\"}}{}", open.repeat(levels), close.repeat(levels));
        for levels in [500, 1700] {
            let error = refused(&nested(levels));
            assert_eq!(error.findings.len(), 1);
            assert!(error.to_string().contains("deeper than 100 levels"), "{error}");
        }
        let most = if open.contains(":{") || open.contains('[') { 49 } else { 99 };
        let deepest = schema(&nested(most));
        let _verdict = deepest.validate(document("{}").root());
    }
    let error = refused(&"[".repeat(100_000));
    assert!(error.to_string().contains("deeper than"), "{error}");
    // A long chain of references is no nesting; it is bounded while judging.
    let links: Vec<String> =
        (0..5000).map(|at| format!(r##""d{at}":{{"$ref":"#/$defs/d{}","minLength":1}}"##, at + 1)).collect();
    let chain = schema(&format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d5000":true}}}}"##, links.join(",")));
    assert_eq!(chain.validate(document("\"x\"").root()), Verdict::OverBudget);
}

#[test]
fn references_out_of_the_document_are_refused_with_their_uri_and_without_a_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for (text, uri) in [
        (r#"{"$ref":"http://127.0.0.1:PORT/a"}"#, "http://127.0.0.1:PORT/a"),
        (r#"{"$ref":"file:///etc/hostname"}"#, "file:///etc/hostname"),
        (r#"{"$id":"http://127.0.0.1:PORT/base/","$ref":"b.json"}"#, "http://127.0.0.1:PORT/base/b.json"),
        (r#"{"$schema":"http://127.0.0.1:PORT/meta"}"#, "http://127.0.0.1:PORT/meta"),
        (r#"{"$dynamicRef":"http://127.0.0.1:PORT/c#x"}"#, "http://127.0.0.1:PORT/c"),
        (r#"{"properties":{"a":{"items":{"$ref":"other.json#/x"}}}}"#, "other.json"),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"http://127.0.0.1:PORT/d"}"#,
            "http://127.0.0.1:PORT/d",
        ),
        (r#"{"$ref":"//127.0.0.1:PORT/e"}"#, "//127.0.0.1:PORT/e"),
    ] {
        let (text, uri) = (text.replace("PORT", &port.to_string()), uri.replace("PORT", &port.to_string()));
        let error = refused(&text);
        assert!(error.to_string().contains(&uri), "{error}");
    }
    listener.set_nonblocking(true).unwrap();
    let nobody = listener.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn the_meta_schemas_of_both_dialects_are_at_hand() {
    for (uri, good, bad) in [
        (
            "https://json-schema.org/draft/2020-12/schema",
            r#"{"type":"object","prefixItems":[true]}"#,
            r#"{"items":[true]}"#,
        ),
        ("http://json-schema.org/draft-07/schema#", r#"{"items":[true]}"#, r#"{"type":"text"}"#),
    ] {
        let meta = schema(&format!(r#"{{"$ref":"{uri}"}}"#));
        assert!(accepts(&meta, good) && !accepts(&meta, bad));
        assert!(!violations(&meta, r#"{"properties":{"a":{"minLength":-1}}}"#).is_empty());
    }
}

#[test]
fn every_kind_of_value_can_be_judged_at_the_root() {
    for (text, good, bad) in [
        (r#"{"type":"array","items":{"type":"integer"}}"#, ["[]", "[1]"], "[\"1\"]"),
        (r#"{"type":"null"}"#, ["null", "null"], "{}"),
        (r#"{"type":"boolean"}"#, ["false", "true"], "0"),
        (r#"{"type":"integer"}"#, ["0", "-0"], "null"),
        (r#"{"type":"string"}"#, ["\"\"", "\"\\u0000\""], "[]"),
    ] {
        let root = schema(text);
        assert!(good.iter().all(|value| accepts(&root, value)), "{text}");
        assert!(!accepts(&root, bad), "{text}");
    }
}

#[test]
fn formats_are_asserted_unless_asked_otherwise_and_unknown_ones_are_noted() {
    let text = r#"{"properties":{"d":{"format":"date"},"x":{"format":"currency"}}}"#;
    let asserted = schema(text);
    assert!(accepts(&asserted, r#"{"d":"2026-02-28","x":"anything"}"#));
    assert_eq!(places(&asserted, r#"{"d":"2026-02-30"}"#), [place("/d", "format")]);
    assert_eq!(asserted.notes().len(), 1);
    assert_eq!(asserted.notes()[0].pointer, "/properties/x/format");
    let options = SchemaOptions {
        formats: Formats::Annotated,
        limits: &SchemaLimits::DEFAULT,
        ..SchemaOptions::default()
    };
    let annotated = Schema::compile_with(text, &options).unwrap();
    assert!(accepts(&annotated, r#"{"d":"2026-02-30"}"#));
}

#[test]
fn keywords_that_no_dialect_knows_are_annotations() {
    let mirrored = schema(
        r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region","x-anything":[{}]}}}"#,
    );
    assert!(accepts(&mirrored, r#"{"region":"eu"}"#));
    assert_eq!(
        mirrored.document().root().path(["properties", "region", "x-mcp-header"]).unwrap().raw(),
        "\"Region\""
    );
    assert!(mirrored.text().starts_with(r#"{"type""#));
}

#[test]
fn characters_are_counted_however_they_are_written() {
    let three = schema(r#"{"properties":{"a":{"type":"string","minLength":3,"maxLength":3}}}"#);
    for text in ["abc", r"\u0061bc", "é😀é", r"\ud83d\ude00é😀", "😀😀😀"] {
        assert!(accepts(&three, &format!(r#"{{"a":"{text}"}}"#)), "{text}");
    }
    for text in ["", "ab", "😀😀", r"\u0061\u0062", r"\ud83d\ude00😀", "abcd", "ééééé", r"a\u0062cd"]
    {
        assert!(!accepts(&three, &format!(r#"{{"a":"{text}"}}"#)), "{text}");
    }
}

#[test]
fn names_and_words_are_told_apart_at_every_length() {
    // Around eight and sixteen bytes the comparison changes its way.
    for length in [0, 1, 7, 8, 9, 15, 16, 17, 24] {
        let word = "abcdefghijklmnopqrstuvwx".get(..length).unwrap();
        let text = format!(
            r#"{{"properties":{{"{word}":{{"const":"{word}"}}}},"required":["{word}"],"additionalProperties":false}}"#
        );
        let object = schema(&text);
        assert!(accepts(&object, &format!(r#"{{"{word}":"{word}"}}"#)), "{text}");
        if let Some(rest) = word.strip_prefix('a') {
            assert!(accepts(&object, &format!(r#"{{"\u0061{rest}":"\u0061{rest}"}}"#)), "{text}");
        }
        for at in 0..length {
            let mut other = word.to_owned();
            other.replace_range(at..=at, "_");
            assert!(!accepts(&object, &format!(r#"{{"{other}":"{word}"}}"#)), "{text} {other}");
            assert!(!accepts(&object, &format!(r#"{{"{word}":"{other}"}}"#)), "{text} {other}");
        }
        assert!(!accepts(&object, &format!(r#"{{"{word}_":"{word}"}}"#)), "{text}");
        assert!(!accepts(&object, &format!(r#"{{"{word}":"{word}_"}}"#)), "{text}");
    }
}
