use proptest::prelude::{any, prop, proptest};
use serde::Deserialize;

use super::{Decimal, Document, Kind, Limits, ParseErrorKind, from_value, push_string};

fn parse(text: &str) -> Result<Document, ParseErrorKind> {
    Document::parse(text, &Limits::DEFAULT).map_err(|error| error.kind)
}

#[test]
fn the_text_of_every_part_survives() {
    let document = parse(r#" {"a" : [1.0, 9007199254740993, -0e5], "\u00e9": "x\ny", "n":null} "#).unwrap();
    let root = document.root();
    assert_eq!(root.get("a").unwrap().raw(), "[1.0, 9007199254740993, -0e5]");
    assert_eq!(root.get("é").unwrap().as_str().unwrap(), "x\ny");
    assert_eq!(root.len(), 3);
    assert_eq!(root.get("n").unwrap().kind(), Kind::Null);
    assert_eq!(root.get("a").unwrap().items().nth(1).unwrap().as_u64(), Some(9_007_199_254_740_993));
}

#[test]
fn texts_outside_the_grammar_are_refused() {
    use ParseErrorKind::{Number, String, Surrogate, TrailingText, UnexpectedCharacter, UnexpectedEnd};
    for (text, kind) in [
        ("", UnexpectedEnd),
        ("[1,]", UnexpectedCharacter),
        ("{\"a\":1,}", UnexpectedCharacter),
        ("[1 2]", UnexpectedCharacter),
        ("{\"a\" 1}", UnexpectedCharacter),
        ("01", TrailingText),
        ("1.", Number),
        (".5", UnexpectedCharacter),
        ("-", Number),
        ("1e", Number),
        ("tru", UnexpectedCharacter),
        ("nul", UnexpectedCharacter),
        ("\"\t\"", String),
        ("\"\\x\"", String),
        ("\"\\u12g4\"", String),
        ("\"\\ud800\"", Surrogate),
        ("\"\\udc00\"", Surrogate),
        ("\"\\ud800\\u0041\"", Surrogate),
        ("\"abc", UnexpectedEnd),
        ("[", UnexpectedEnd),
        ("{\"a\":", UnexpectedEnd),
        ("1 2", TrailingText),
        ("{} {}", TrailingText),
        ("]", UnexpectedCharacter),
        ("[}", UnexpectedCharacter),
        ("NaN", UnexpectedCharacter),
        ("\u{feff}1", UnexpectedCharacter),
    ] {
        assert_eq!(parse(text).unwrap_err(), kind, "{text:?}");
    }
}

#[test]
fn duplicate_members_are_refused_however_they_are_spelled() {
    assert_eq!(parse(r#"{"a":1,"a":2}"#).unwrap_err(), ParseErrorKind::DuplicateMember);
    assert_eq!(parse(r#"[{"x":{"a":1,"\u0061":2}}]"#).unwrap_err(), ParseErrorKind::DuplicateMember);
    let many = (0..40).map(|n| format!("\"k{n}\":0")).collect::<Vec<_>>().join(",");
    assert!(parse(&format!("{{{many}}}")).is_ok());
    assert_eq!(parse(&format!("{{{many},\"k7\":1}}")).unwrap_err(), ParseErrorKind::DuplicateMember);
}

#[test]
fn each_bound_holds_at_its_value_and_refuses_one_past_it() {
    let limits = Limits { bytes: 64, depth: 3, nodes: 5, number_bytes: 4 };
    let parse = |text: &str| Document::parse(text, &limits).map(|_| ()).map_err(|error| error.kind);
    assert_eq!(parse("[[[]]]"), Ok(()));
    assert_eq!(parse("[[[[]]]]"), Err(ParseErrorKind::TooDeep));
    assert_eq!(parse("[1,2,3,4]"), Ok(()));
    assert_eq!(parse("[1,2,3,4,5]"), Err(ParseErrorKind::TooManyNodes));
    assert_eq!(parse("1234"), Ok(()));
    assert_eq!(parse("12345"), Err(ParseErrorKind::NumberRange));
    assert_eq!(parse(&format!("\"{}\"", "x".repeat(62))), Ok(()));
    assert_eq!(parse(&format!("\"{}\"", "x".repeat(63))), Err(ParseErrorKind::TooLong));
    assert_eq!(super::tests::parse("1e1000001").unwrap_err(), ParseErrorKind::NumberRange);
    assert_eq!(super::tests::parse("1e-9223372036854775808").unwrap_err(), ParseErrorKind::NumberRange);
    assert_eq!(super::tests::parse(&"[".repeat(100_000)).unwrap_err(), ParseErrorKind::TooDeep);
}

#[test]
fn invalid_utf8_is_refused_with_its_place() {
    let error = Document::parse_bytes(vec![b'"', 0xC3, 0x28, b'"'], &Limits::DEFAULT).unwrap_err();
    assert_eq!((error.kind, error.offset), (ParseErrorKind::Encoding, 1));
}

#[test]
fn numbers_are_equal_when_they_are_the_same_number() {
    let number = |text: &'static str| Decimal::parse(text).unwrap();
    for (one, other) in
        [("1", "1.0"), ("1", "1e0"), ("100", "1E2"), ("0", "-0.0e7"), ("0.10", "1e-1"), ("120e-1", "12")]
    {
        assert_eq!(number(one), number(other), "{one} {other}");
    }
    for (less, more) in [
        ("9007199254740992", "9007199254740993"),
        ("-2", "-1"),
        ("-1", "0"),
        ("0", "1e-400"),
        ("1e399", "1e400"),
        ("0.1", "0.10000000000000000000001"),
        ("99", "100"),
    ] {
        assert!(number(less) < number(more), "{less} {more}");
    }
    assert!(number("1e400").is_integer());
    assert!(number("5.0").is_integer() && number("1E2").is_integer() && !number("5.7").is_integer());
    assert_eq!(number("-170141183460469231731687303715884105728").to_i128(), Some(i128::MIN));
    assert_eq!(number("170141183460469231731687303715884105728").to_i128(), None);
    assert_eq!(number("1.5e1").to_i128(), Some(15));
    for text in ["", "-", "01", "1.", ".1", "1e", "1e+", "+1", "0x1", "1 ", "1e999999999"] {
        assert!(Decimal::parse(text).is_none(), "{text}");
    }
}

#[test]
fn typed_values_read_whole_numbers_exactly_and_never_cut_a_fraction() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Input {
        n: u64,
        name: String,
        tags: Option<Vec<i8>>,
        mode: Mode,
        ratio: f64,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Fast,
        Custom { level: u8 },
    }
    let read = |text: &str| from_value::<Input>(parse(text).unwrap().root());
    let input =
        read(r#"{"n":9007199254740993.0,"name":"é\n","tags":[1e0,-2],"mode":"fast","ratio":0.1}"#).unwrap();
    let expected = Input {
        n: 9_007_199_254_740_993,
        name: "é\n".into(),
        tags: Some(vec![1, -2]),
        mode: Mode::Fast,
        ratio: 0.1,
    };
    assert_eq!(input, expected);
    let custom = read(r#"{"n":1,"name":"x","mode":{"custom":{"level":3}},"ratio":1}"#).unwrap();
    assert_eq!((custom.mode, custom.tags), (Mode::Custom { level: 3 }, None));
    assert!(read(r#"{"n":1.5,"name":"x","mode":"fast","ratio":1}"#).is_err());
    assert!(read(r#"{"n":1e30,"name":"x","mode":"fast","ratio":1}"#).is_err());
    let error = read(r#"{"n":1,"name":17,"mode":"fast","ratio":1}"#).unwrap_err().to_string();
    assert!(!error.contains("17") || error.contains("integer"), "{error}");
}

#[test]
fn strings_are_escaped_where_they_must_be() {
    let mut out = String::new();
    push_string(&mut out, "a\"\\\u{1}\n\u{1f}é🎉");
    assert_eq!(out, "\"a\\\"\\\\\\u0001\\n\\u001fé🎉\"");
    assert_eq!(parse(&out).unwrap().root().as_str().unwrap(), "a\"\\\u{1}\n\u{1f}é🎉");
}

proptest! {
    /// Pieces of JSON in any order are mostly no JSON, and now and then they are. The other parser takes
    /// repeated names and any exponent; both parsers refuse what is nested too deeply.
    #[test]
    fn texts_are_accepted_exactly_where_another_parser_accepts_them(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        noise in prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<char>())),
    ) {
        let mut text = pieces.concat();
        if let Some((at, character)) = noise {
            let at = text.floor_char_boundary(at.index(text.len() + 1));
            text.insert(at, character);
        }
        let other = serde_json::from_str::<serde_json::Value>(&text);
        match parse(&text) {
            Ok(document) => match other {
                Ok(other) => {
                    let ours: serde_json::Value = serde_json::from_str(document.root().raw()).unwrap();
                    assert_eq!(ours, other, "{text}");
                }
                // The other parser has no number that large; ours keeps every digit.
                Err(error) => assert!(error.to_string().contains("out of range"), "{error}: {text}"),
            },
            Err(ParseErrorKind::DuplicateMember | ParseErrorKind::NumberRange) => {}
            Err(kind) => assert!(other.is_err(), "{kind}: {text}"),
        }
    }
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "1",
    "-0.5e3",
    "0",
    "true",
    "false",
    "null",
    "\"a\"",
    "\"b\":",
    "\"a\":1",
    "\"long name of a member\":",
    "\"\\u00e9\"",
    "\"x\\\"y\"",
    "{\"k\":",
    "[1,",
    "{}",
    "[]",
    "\"é🎉\"",
    "1e5",
    "\\",
    "\"",
];

#[test]
fn an_error_of_a_typed_read_never_repeats_the_value() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Open,
    }
    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is never read")]
    struct Input {
        kind: Kind,
        address: Option<std::net::Ipv4Addr>,
        count: Option<std::num::NonZeroU8>,
        pair: Option<(u8, u8)>,
    }
    for (text, expected) in [
        (r#"{"kind":"hunter2"}"#, "expected one of open"),
        (r#"{"kind":"open","hunter2":1}"#, "an unknown member, expected kind, address, count, pair"),
        (r#"{"kind":"open","address":"hunter2"}"#, "a value is not accepted by the type that reads it"),
        (r#"{"kind":"open","count":0}"#, "expected a nonzero u8"),
        (r#"{"kind":"open","pair":[1]}"#, "expected a tuple of size 2"),
        (r#"{}"#, "the member kind is missing"),
    ] {
        let document = Document::parse(text, &Limits::DEFAULT).unwrap();
        let error = super::from_value::<Input>(document.root()).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
    }
}
