use proptest::prelude::*;

use super::{
    HeaderError, HeaderRule, MirroredKind, decode_value, encode_value, matches, mirrored_parameters,
};
use crate::json::{Document, Limits};

fn parse(text: &str) -> Document {
    Document::parse(text, &Limits::DEFAULT).unwrap()
}

/// Requirements: HTTP-40, HTTP-42, XH-21, XH-23.
#[test]
fn values_are_decoded_whatever_form_they_are_sent_in() {
    for (sent, meant) in [
        ("fast", "fast"),
        ("=?base64?ZmFzdA==?=", "fast"),
        ("  \tfast \t", "fast"),
        (" =?base64?ZmFzdA==?= ", "fast"),
        ("=?base64?ZmlsZTovLy9kb25uw6llcy/DqS50eHQ=?=", "file:///données/é.txt"),
        ("=?base64??=", ""),
        ("", ""),
        ("=?base64?ZmFzdA==", "=?base64?ZmFzdA=="),
        ("ZmFzdA==?=", "ZmFzdA==?="),
        ("=?BASE64?ZmFzdA==?=", "=?BASE64?ZmFzdA==?="),
        ("=?base64?=", "=?base64?="),
        ("a\tb", "a\tb"),
    ] {
        assert_eq!(decode_value(sent.as_bytes()).as_deref(), Ok(meant), "{sent:?}");
    }
}

/// Requirements: XH-22, XH-27.
#[test]
fn malformed_values_are_refused() {
    for (sent, error) in [
        (&b"=?base64?ZmFzdA?="[..], HeaderError::Base64),
        (b"=?base64?ZmFzdA=?=", HeaderError::Base64),
        (b"=?base64?ZmFzdB==?=", HeaderError::Base64),
        (b"=?base64?Zm FzdA==?=", HeaderError::Base64),
        (b"=?base64?Zm_zdA==?=", HeaderError::Base64),
        (b"=?base64?wyg=?=", HeaderError::Encoding),
        ("é".as_bytes(), HeaderError::Character),
        (b"a\x00b", HeaderError::Character),
        (b"a\x7fb", HeaderError::Character),
        (b"a\nb", HeaderError::Character),
    ] {
        assert_eq!(decode_value(sent), Err(error), "{sent:?}");
    }
}

/// Requirements: XH-16, XH-17, XH-19, XH-20.
#[test]
fn unsafe_values_are_encoded_and_others_left_alone() {
    for (value, sent) in [
        ("fast", "fast"),
        ("a b", "a b"),
        ("", ""),
        (" a", "=?base64?IGE=?="),
        ("a\t", "=?base64?YQk=?="),
        ("é", "=?base64?w6k=?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ("=?base64?x", "=?base64?x"),
    ] {
        assert_eq!(encode_value(value), sent);
    }
}

/// Requirements: HTTP-35, HTTP-41, XH-08, XH-28.
#[test]
fn header_and_body_agree_by_value() {
    for (header, body, equal) in [
        ("fast", "\"fast\"", true),
        ("Fast", "\"fast\"", false),
        ("é", "\"\\u00e9\"", true),
        ("42", "42", true),
        ("42.0", "42", true),
        ("42", "4.2e1", true),
        ("42", "\"42\"", true),
        ("43", "42", false),
        ("042", "42", false),
        ("+42", "42", false),
        (" 42", "42", false),
        ("4.5", "4.5", false),
        ("9007199254740991", "9007199254740991", true),
        ("-9007199254740991", "-9007199254740991", true),
        ("9007199254740992", "9007199254740992", false),
        ("true", "true", true),
        ("True", "true", false),
        ("false", "true", false),
        ("null", "null", false),
        ("[]", "[]", false),
        ("{}", "{}", false),
    ] {
        assert_eq!(matches(header, parse(body).root()), equal, "{header} {body}");
    }
}

/// Requirements: XH-02, XH-09, XH-11, XH-30, XH-31.
#[test]
fn parameters_are_found_where_properties_lead() {
    let schema = parse(
        r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "nested":{"type":"object","properties":{"a/b~c":{"type":"integer","x-mcp-header":"Depth"}}},
            "dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
            "x-mcp-header":{"type":"string"},
            "plain":{"type":"string","default":{"x-mcp-header":"no annotation"}}}}"#,
    );
    let found = mirrored_parameters(schema.root()).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|parameter| (parameter.path.join("."), &*parameter.header, parameter.kind))
        .collect();
    assert_eq!(
        found,
        [
            ("region".to_owned(), "Mcp-Param-Region", MirroredKind::String),
            ("nested.a/b~c".to_owned(), "Mcp-Param-Depth", MirroredKind::Integer),
            ("dry".to_owned(), "Mcp-Param-Dry-Run", MirroredKind::Boolean),
        ]
    );
    let parameters = mirrored_parameters(schema.root()).unwrap();
    let arguments = parse(r#"{"region":null,"nested":{"a/b~c":3}}"#);
    let values: Vec<_> =
        parameters.iter().map(|p| p.value(arguments.root()).map(|value| value.raw())).collect();
    assert_eq!(values, [None, Some("3"), None]);
}

/// Requirements: XH-03, XH-04, XH-05, XH-06, XH-07, XH-08, XH-09, XH-10.
#[test]
fn each_rule_of_the_annotation_is_held_and_names_its_place() {
    let string = |name: &str| format!(r#"{{"type":"string","x-mcp-header":"{name}"}}"#);
    let one = |schema: &str| format!(r#"{{"type":"object","properties":{{"p":{schema}}}}}"#);
    let p = "/properties/p";
    for (schema, pointer, rule) in [
        (one(&string("")), p, HeaderRule::Empty),
        (one(&string("a b")), p, HeaderRule::Token),
        (one(&string("a:b")), p, HeaderRule::Token),
        (one(&string("é")), p, HeaderRule::Token),
        (one(&string("a\\r\\nb")), p, HeaderRule::Token),
        (one(&string("a\\u0000")), p, HeaderRule::Token),
        (one(r#"{"type":"string","x-mcp-header":7}"#), p, HeaderRule::NotAString),
        (one(r#"{"type":"number","x-mcp-header":"N"}"#), p, HeaderRule::Type),
        (one(r#"{"type":"object","x-mcp-header":"N"}"#), p, HeaderRule::Type),
        (one(r#"{"type":"array","x-mcp-header":"N"}"#), p, HeaderRule::Type),
        (one(r#"{"type":"null","x-mcp-header":"N"}"#), p, HeaderRule::Type),
        (one(r#"{"type":["string","null"],"x-mcp-header":"N"}"#), p, HeaderRule::Type),
        (one(r#"{"x-mcp-header":"N"}"#), p, HeaderRule::Type),
        (one(r#"{"type":"integer","x-mcp-header":"N","maximum":9007199254740992}"#), p, HeaderRule::Range),
        (one(r#"{"type":"integer","x-mcp-header":"N","enum":[1,-9007199254740992]}"#), p, HeaderRule::Range),
        (r#"{"type":"object","x-mcp-header":"N"}"#.to_owned(), "", HeaderRule::Type),
        (
            format!(r#"{{"properties":{{"p":{},"q":{}}}}}"#, string("Same"), string("sAME")),
            "/properties/q",
            HeaderRule::Duplicate,
        ),
        (
            one(&format!(r#"{{"type":"array","items":{}}}"#, string("N"))),
            "/properties/p/items",
            HeaderRule::Unreachable,
        ),
        (
            one(&format!(r#"{{"prefixItems":[{}]}}"#, string("N"))),
            "/properties/p/prefixItems/0",
            HeaderRule::Unreachable,
        ),
        (
            one(&format!(r#"{{"anyOf":[{{}},{}]}}"#, string("N"))),
            "/properties/p/anyOf/1",
            HeaderRule::Unreachable,
        ),
        (one(&format!(r#"{{"not":{}}}"#, string("N"))), "/properties/p/not", HeaderRule::Unreachable),
        (format!(r#"{{"allOf":[{}]}}"#, one(&string("N"))), "/allOf/0/properties/p", HeaderRule::Unreachable),
        (format!(r#"{{"then":{}}}"#, one(&string("N"))), "/then/properties/p", HeaderRule::Unreachable),
        (format!(r#"{{"$defs":{{"d/e":{}}}}}"#, string("N")), "/$defs/d~1e", HeaderRule::Unreachable),
        (
            format!(r#"{{"patternProperties":{{"^a":{}}}}}"#, string("N")),
            "/patternProperties/^a",
            HeaderRule::Unreachable,
        ),
        (
            format!(r#"{{"additionalProperties":{}}}"#, string("N")),
            "/additionalProperties",
            HeaderRule::Unreachable,
        ),
        (one(r#"{"type":"number","x-\u006dcp-header":"N"}"#), p, HeaderRule::Type),
    ] {
        let faults = mirrored_parameters(parse(&schema).root()).unwrap_err();
        assert_eq!(faults.len(), 1, "{schema}");
        assert_eq!((&*faults[0].pointer, faults[0].rule), (pointer, rule), "{schema}");
    }
    let many = format!(r#"{{"properties":{{"a":{},"b":{}}}}}"#, string(""), string("x y"));
    assert_eq!(mirrored_parameters(parse(&many).root()).unwrap_err().len(), 2);
}

proptest! {
    /// Requirements: XH-17, XH-20, HTTP-34, HTTP-40.
    #[test]
    fn every_string_survives_the_header(text in any::<String>()) {
        let sent = encode_value(&text).into_owned();
        prop_assert!(sent.bytes().all(|byte| matches!(byte, 0x20..=0x7e)));
        prop_assert_eq!(decode_value(sent.as_bytes()).unwrap(), text);
    }

    #[test]
    fn strings_that_look_encoded_survive_too(inner in "[A-Za-z0-9+/=]{0,12}") {
        for text in [format!("=?base64?{inner}?="), format!("=?base64?{inner}"), format!("{inner}?=")] {
            let sent = encode_value(&text).into_owned();
            prop_assert_eq!(decode_value(sent.as_bytes()).unwrap(), &*text);
        }
    }

    #[test]
    fn the_codec_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        crate::fuzzing::header(&bytes);
    }
}
