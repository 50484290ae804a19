use callgate_protocol::json::{Document, Limits};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::{ContractDigest, Digest, DigestBuilder, canonical};

fn document(text: &str) -> Document {
    Document::parse(text, &Limits::DEFAULT).unwrap()
}

fn form(text: &str) -> String {
    canonical(document(text).root())
}

fn digest(text: &str) -> Digest {
    Digest::of_json(document(text).root())
}

#[test]
fn the_example_of_rfc_8785_has_the_form_that_the_rfc_shows() {
    // RFC 8785, section 3.2.2: the input of the example and its canonical form in 3.2.3.
    let input = "{\n\"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],\n\
        \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n\
        \"literals\": [null, true, false]\n}";
    // The first number has one digit more than a double keeps: the RFC rounds it, we do not.
    let expected = "{\"literals\":[null,true,false],\
        \"numbers\":[333333333.33333329,1e+30,4.5,0.002,1e-27],\
        \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    assert_eq!(form(input), expected);
}

#[test]
fn member_names_are_ordered_by_utf_16_code_units() {
    // RFC 8785, section 3.2.3, the sorting example.
    let input = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
        "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let document = document(&form(input));
    let order: Vec<_> =
        document.root().members().map(|(_, name)| name.as_str().unwrap().into_owned()).collect();
    assert_eq!(
        order,
        [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh",
        ]
    );
}

#[test]
fn numbers_have_the_form_of_rfc_8785_where_a_double_is_exact() {
    // RFC 8785, appendix B, the lines whose decimal is the number itself.
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0e5", "0"),
        ("5e-324", "5e-324"),
        ("-5E-324", "-5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("295147905179352830000", "295147905179352830000"),
        ("9.999999999999997e22", "9.999999999999997e+22"),
        ("1e23", "1e+23"),
        ("1.0000000000000001e23", "1.0000000000000001e+23"),
        ("999999999999999700000", "999999999999999700000"),
        ("1e21", "1e+21"),
        ("100000000000000000000", "100000000000000000000"),
        ("0.000001", "0.000001"),
        ("9.999999999999997e-7", "9.999999999999997e-7"),
        ("333333333.3333332", "333333333.3333332"),
        ("-0.0000033333333333333333", "-0.0000033333333333333333"),
        ("1424953923781206.2", "1424953923781206.2"),
    ] {
        assert_eq!(form(text), expected, "{text}");
    }
}

#[test]
fn numbers_beyond_two_to_the_53_keep_their_digits() {
    assert_eq!(form("9007199254740993"), "9007199254740993");
    assert_ne!(digest("9007199254740992"), digest("9007199254740993"));
    assert_ne!(digest("18446744073709551615"), digest("18446744073709551616"));
    assert_ne!(digest("0.1"), digest("0.10000000000000000001"));
}

#[test]
fn spellings_of_one_value_have_one_digest() {
    for (one, other) in [
        ("1", "1.0"),
        ("1", "1e0"),
        ("1", "0.1E+1"),
        ("100", "1e2"),
        ("{\"a\":1,\"b\":[2]}", " { \"b\" : [ 2.0 ] , \"\\u0061\" : 10e-1 } "),
        ("\"\\/\\u00e9\"", "\"/é\""),
    ] {
        assert_eq!(digest(one), digest(other), "{one} {other}");
    }
}

#[test]
fn different_values_have_different_digests() {
    let values = [
        "null",
        "false",
        "true",
        "0",
        "1",
        "\"1\"",
        "\"\"",
        "[]",
        "{}",
        "[1]",
        "[[1]]",
        "[1,1]",
        "{\"1\":1}",
        "{\"a\":{}}",
        "{\"a\":[]}",
        "\"null\"",
        "-1",
        "0.1",
        "1e1",
        "[null]",
        "{\"a\":null}",
    ];
    for (at, one) in values.iter().enumerate() {
        for other in values.iter().skip(at + 1) {
            assert_ne!(digest(one), digest(other), "{one} {other}");
        }
    }
}

#[test]
fn a_digest_is_that_of_the_canonical_text_and_reads_back() {
    let value = document(r#"{"b":[1.50,{"z":null,"a":"\n"}],"a":{}}"#);
    let digest = Digest::of_json(value.root());
    assert_eq!(digest, Digest::of_bytes(canonical(value.root()).as_bytes()));
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Digest::of_bytes(b"").to_string(), empty);
    assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    assert_eq!(digest.to_string().parse::<ContractDigest>().unwrap(), ContractDigest(digest));
    assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
    for wrong in ["", "sha256:", &empty[1..], &empty[..70], &empty.to_uppercase(), "sha256:é"] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
}

#[test]
fn parts_cannot_be_mistaken_for_other_parts() {
    let build = |parts: &[(&str, &str)]| {
        let mut builder = DigestBuilder::new("test/1");
        for (name, text) in parts {
            builder.field(name, text);
        }
        builder.finish()
    };
    assert_ne!(build(&[("a", "bc")]), build(&[("ab", "c")]));
    assert_ne!(build(&[("a", "b"), ("c", "d")]), build(&[("a", "bcd")]));
    assert_ne!(build(&[("a", "b"), ("c", "d")]), build(&[("c", "d"), ("a", "b")]));
    assert_ne!(build(&[("a", "")]), build(&[]));
    let one = document("1");
    let mut json = DigestBuilder::new("test/1");
    json.json("a", one.root());
    assert_ne!(json.finish(), build(&[("a", "1")]));
    let mut other = DigestBuilder::new("test/2");
    other.field("a", "1");
    assert_ne!(other.finish(), build(&[("a", "1")]));
}

#[test]
fn deep_values_do_not_use_the_stack() {
    let depth = 100_000;
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let limits = Limits::DEFAULT.with_depth(depth);
    let deep = Document::parse(text.clone(), &limits).unwrap();
    assert_eq!(canonical(deep.root()), text);
}

/// A value, spelled twice in different ways.
fn spelled_twice() -> impl Strategy<Value = (String, String)> {
    let number = (any::<i64>(), 0_usize..4)
        .prop_map(|(number, zeros)| (number.to_string(), format!("{number}{}e-{zeros}", "0".repeat(zeros))));
    let text = any::<String>().prop_map(|text| {
        let plain = serde_json::to_string(&text).unwrap();
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        (plain, format!("\"{escaped}\""))
    });
    let word = prop_oneof![Just("null"), Just("true"), Just("false")]
        .prop_map(|word| (word.to_owned(), format!(" {word}\n")));
    let leaf = prop_oneof![number, text, word];
    leaf.prop_recursive(4, 64, 6, |inner| {
        let array = prop::collection::vec(inner.clone(), 0..6).prop_map(|items| {
            let (one, other): (Vec<_>, Vec<_>) = items.into_iter().unzip();
            (format!("[{}]", one.join(",")), format!("[ {} ]", other.join(" ,\t")))
        });
        let object = prop::collection::vec(inner, 0..6).prop_map(|members| {
            let (one, other): (Vec<_>, Vec<_>) = (0..)
                .zip(members)
                .map(|(at, (one, other))| (format!("\"k{at}\":{one}"), format!("\"\\u006b{at}\" : {other}")))
                .unzip();
            let reversed: Vec<_> = other.into_iter().rev().collect();
            (format!("{{{}}}", one.join(",")), format!("{{ {} }}", reversed.join(" , ")))
        });
        prop_oneof![array, object]
    })
}

proptest! {
    #[test]
    fn however_a_value_is_spelled_its_digest_is_one((one, other) in spelled_twice()) {
        prop_assert_eq!(digest(&one), digest(&other));
        prop_assert_eq!(form(&form(&one)), form(&other));
    }

    #[test]
    fn digests_are_equal_exactly_when_values_are(one in any::<i64>(), other in any::<i64>(), scale in 0_i32..40) {
        let texts = (format!("[{one}e-{scale}]"), format!("[{other}e-{scale}]"));
        prop_assert_eq!(digest(&texts.0) == digest(&texts.1), one == other);
    }
}
