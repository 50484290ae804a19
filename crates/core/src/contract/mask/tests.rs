use callgate_protocol::json::{self, Document};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::{Mask, Masks, Step, Unmaskable, mark};
use crate::contract::{Contract, Definition, Effect};
use crate::limits::Limits;

fn definition(output: &str, masked: &[(&str, usize)]) -> Definition {
    let mut definition = Definition::new("accounts", Effect::Read, r#"{"type":"object"}"#);
    definition.output_schema = Some(output.to_owned());
    definition.masked = masked.iter().map(|(path, keep)| Mask::new(*path, *keep)).collect();
    definition
}

fn contract(output: &str, masked: &[(&str, usize)]) -> Result<Contract, Vec<String>> {
    Contract::new(&definition(output, masked), &Limits::default())
        .map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn applied(output: &str, masked: &[(&str, usize)], result: &str) -> Result<String, Unmaskable> {
    let contract = contract(output, masked).unwrap();
    let document = Document::parse(result, &json::Limits::DEFAULT).unwrap();
    let text = contract.masks.as_ref().unwrap().apply(&document)?;
    Ok(text.unwrap_or_else(|| result.to_owned()))
}

const ROWS: &str = r##"{
    "type": "object",
    "properties": {
        "rows": { "type": "array", "items": { "$ref": "#/$defs/row" } },
        "owner": { "anyOf": [{ "$ref": "#/$defs/owner" }, { "type": "null" }] }
    },
    "$defs": {
        "row": { "type": "object", "properties": { "account": { "type": "string" }, "n": { "type": "integer" } } },
        "owner": { "type": "object", "properties": { "a/b": { "type": ["string", "null"] } } }
    }
}"##;

#[test]
fn the_mark_has_one_length_whatever_the_string() {
    for (text, keep_last, expected) in [
        ("DE02120300000000202051", 4, "•••• 2051"),
        ("42424242", 4, "•••• 4242"),
        ("4242424", 4, "•••• ••••"),
        ("", 4, "•••• ••••"),
        ("", 0, "••••"),
        ("a long secret", 0, "••••"),
        ("äöüß💡x", 3, "•••• ß💡x"),
    ] {
        assert_eq!(mark(text, keep_last), expected, "{text:?}");
    }
}

#[test]
fn strings_at_the_places_are_replaced_and_every_other_byte_stays() {
    let masked = [("/rows/*/account", 4), ("/owner/a~1b", 0)];
    assert_eq!(
        applied(
            ROWS,
            &masked,
            r#"{ "owner": {"a/b":"x\"\u00e9"}, "rows": [ {"account":"DE021203","n":1.50}, {"account":null}, {"n":9007199254740993} ] }"#
        )
        .unwrap(),
        r#"{ "owner": {"a/b":"••••"}, "rows": [ {"account":"•••• 1203","n":1.50}, {"account":null}, {"n":9007199254740993} ] }"#
    );
    assert_eq!(applied(ROWS, &masked, r#"{"rows":null}"#).unwrap(), r#"{"rows":null}"#);
}

#[test]
fn what_cannot_be_masked_is_refused_wherever_it_stands() {
    let masked = [("/rows/*/account", 0)];
    for result in [
        r#"{"rows":[{"account":1234}]}"#,
        r#"{"rows":[{"account":{"iban":"DE02"}}]}"#,
        r#"{"rows":[{"account":["DE02"]}]}"#,
        r#"{"rows":["DE02"]}"#,
        r#"{"rows":{"account":"DE02"}}"#,
        r#""DE02""#,
    ] {
        assert_eq!(applied(ROWS, &masked, result), Err(Unmaskable), "{result}");
    }
}

#[test]
fn a_path_that_leads_to_no_string_of_the_schema_is_a_fault() {
    for (path, expected) in [
        ("/rows/account", "nothing at \"account\""),
        ("/rows/*/iban", "nothing at \"iban\""),
        ("rows", "no JSON pointer"),
        ("/rows/*/n", "must be a string"),
        ("/rows", "must be a string"),
    ] {
        let faults = contract(ROWS, &[(path, 0)]).unwrap_err();
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{path}: {faults:?}");
    }
    let faults = contract(ROWS, &[("/rows/*/account", 0), ("/rows/*/account", 4)]).unwrap_err();
    assert!(faults[0].contains("masked twice"), "{faults:?}");
    let faults = contract(ROWS, &[("/rows/*/account", 9)]).unwrap_err();
    assert!(faults[0].contains("keep at most 8"), "{faults:?}");
    assert!(contract(ROWS, &[("/rows/*/account", 8)]).is_ok());
    let mut bare = definition(ROWS, &[("/rows/*/account", 0)]);
    bare.output_schema = None;
    assert!(Contract::new(&bare, &Limits::default()).is_err());
    let limits = Limits { masked_fields: 1, ..Limits::default() };
    let two = definition(ROWS, &[("/rows/*/account", 0), ("/owner/a~1b", 0)]);
    assert!(Contract::new(&two, &limits).is_err());
    assert!(Contract::new(&definition(ROWS, &[("/owner/a~1b", 0)]), &limits).is_ok());
}

#[test]
fn a_keyword_that_no_mark_can_satisfy_is_a_fault_at_its_place() {
    let of =
        |keyword: &str| format!(r#"{{"type":"object","properties":{{"a":{{"type":"string",{keyword}}}}}}}"#);
    for (keyword, keep_last) in [
        (r#""pattern":"^[A-Z]{2}[0-9]+$""#, 4),
        (r#""format":"email""#, 0),
        (r#""enum":["a","b"]"#, 0),
        (r#""enum":["•••• ••••"]"#, 4),
        (r#""const":"a""#, 0),
        (r#""minLength":10"#, 4),
        (r#""maxLength":3"#, 0),
    ] {
        let faults = contract(&of(keyword), &[("/a", keep_last)]).unwrap_err();
        let name = keyword.split('"').nth(1).unwrap();
        let place = format!("outputSchema/properties/a/{name}: ");
        assert!(faults.iter().any(|fault| fault.starts_with(&place)), "{keyword}: {faults:?}");
    }
    for (keyword, keep_last) in [
        (r#""pattern":"^•{4} [0-9•]{4}$""#, 4),
        (r#""enum":["••••"]"#, 0),
        (r#""minLength":9,"maxLength":9"#, 4),
        (r#""format":"of nobody""#, 4),
    ] {
        assert!(contract(&of(keyword), &[("/a", keep_last)]).is_ok(), "{keyword}");
    }
}

#[test]
fn the_digest_covers_the_masks() {
    let digest = |masked: &[(&str, usize)]| contract(ROWS, masked).unwrap().digest();
    let bare = digest(&[]);
    assert_ne!(bare, digest(&[("/rows/*/account", 0)]));
    assert_ne!(digest(&[("/rows/*/account", 4)]), digest(&[("/rows/*/account", 0)]));
}

/// A value with a secret at some of its masked places.
fn row() -> impl Strategy<Value = String> {
    let account = prop_oneof![
        Just("null".to_owned()),
        "[a-z]{1,12}".prop_map(|noise| format!("\"SECRET{noise}SECRET\"")),
        Just(r#""\u0053ECRET\n""#.to_owned()),
    ];
    (account, any::<i64>(), "[a-z]{0,5}")
        .prop_map(|(account, n, space)| format!("{{\"x{space}\": {n},\"account\" :{account} , \"n\":{n}}}"))
}

proptest! {
    #[test]
    fn no_masked_string_is_left_and_the_rest_is_unchanged(rows in proptest::collection::vec(row(), 0..6)) {
        let mut masks = Masks::default();
        let path = [Step::Member("rows".into()), Step::Items, Step::Member("account".into())];
        assert!(masks.insert(&path, 0));
        let text = format!("{{\"rows\":[{}]}}", rows.join(","));
        let document = Document::parse(text.as_str(), &json::Limits::DEFAULT).unwrap();
        let out = masks.apply(&document).unwrap().unwrap_or(text);
        let masked = Document::parse(out, &json::Limits::DEFAULT).unwrap();
        assert!(!masked.text().contains("SECRET") && !masked.text().contains("ECRET"));
        let pairs = document.root().get("rows").unwrap().items().zip(masked.root().get("rows").unwrap().items());
        for (before, after) in pairs {
            for ((name, value), (same, left)) in before.members().zip(after.members()) {
                assert_eq!(name.raw(), same.raw());
                assert_eq!(name.is_str("account") && !value.is_null(), value.raw() != left.raw());
            }
        }
    }
}
