//! Values that try to leave their places.

use super::*;

fn argument(name: &str) -> Piece {
    Piece::Argument(name.to_owned())
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}

fn with<T>(arguments: &str, run: impl FnOnce(&Values<'_>) -> T) -> T {
    let document = Document::parse(arguments, &callgate_protocol::json::Limits::default()).unwrap();
    let principal = Principal::new("dana").with_tenant("tenant/a");
    run(&Values { arguments: document.root(), principal: &principal, key: None })
}

fn path_of(arguments: &str) -> Result<String, String> {
    let segments = [vec![literal("tickets")], vec![literal("T-"), argument("id")], vec![argument("part")]];
    with(arguments, |values| path(&segments, values).map_err(|refusal| refusal.to_string()))
}

#[test]
fn a_value_stays_inside_its_segment() {
    assert_eq!(
        path_of(r#"{"id":"a b?c#d;e&f=ä:@","part":7.0}"#),
        Ok("/tickets/T-a%20b%3Fc%23d%3Be%26f%3D%C3%A4%3A%40/7".into())
    );
    assert_eq!(path_of(r#"{"id":"..","part":true}"#), Ok("/tickets/T-../true".into()));
    for bad in ["..", ".", "", "../..", "a/b", "a\\\\b", "%2f", "%2e%2e", "a\\r\\nb", "a\\u0000"] {
        let refused = path_of(&format!(r#"{{"id":"1","part":"{bad}"}}"#)).unwrap_err();
        assert!(refused.starts_with("invalid_arguments: `part`"), "{bad}: {refused}");
    }
    for missing in [r#"{"id":"1"}"#, r#"{"id":"1","part":null}"#] {
        assert!(path_of(missing).unwrap_err().contains("`part` cannot be sent: it is missing"));
    }
}

#[test]
fn an_identity_that_cannot_be_named_is_not_the_models_to_correct() {
    let refused = with("{}", |values| path(&[vec![Piece::Tenant]], values).unwrap_err());
    assert_eq!(refused.code(), Code::Forbidden);
    assert!(!refused.public().contains("tenant/a"), "{refused}");
}

#[test]
fn a_value_stays_inside_its_parameter() {
    let parameters = [
        Query { name: "q".into(), text: vec![argument("q")] },
        Query { name: "range".into(), text: vec![literal("from%3A"), argument("from")] },
        Query { name: "tag".into(), text: vec![argument("tags")] },
        Query { name: "as".into(), text: vec![Piece::Principal] },
    ];
    let of = |arguments: &str| {
        let mut target = String::from("/x");
        with(arguments, |values| query(&parameters, values, &mut target)).unwrap();
        target
    };
    assert_eq!(
        of(r##"{"q":"a&b=c#d\r\n+","from":1e2,"tags":["x y","z&"]}"##),
        "/x?q=a%26b%3Dc%23d%0D%0A%2B&range=from%3A100&tag=x%20y&tag=z%26&as=dana"
    );
    assert_eq!(of(r#"{"q":null,"tags":[]}"#), "/x?as=dana");
    let mut target = String::new();
    let refused = with(r#"{"tags":[{}]}"#, |values| query(&parameters, values, &mut target)).unwrap_err();
    assert!(refused.to_string().contains("`tags`"), "{refused}");
}

#[test]
fn a_value_stays_inside_its_header() {
    let of = |arguments: &str| {
        let text = Header::Text(vec![literal("v="), argument("a")]);
        with(arguments, |values| {
            header(&text, values).map(|value| value.map(|value| value.to_str().unwrap().to_owned()))
        })
    };
    assert_eq!(of(r#"{"a":"x y"}"#).unwrap(), Some("v=x y".to_owned()));
    assert_eq!(of("{}").unwrap(), None);
    for bad in ["x\\r\\ny: z", "x\\n", "ä", "x\\u0000", "x ", "\\t"] {
        let refused = of(&format!(r#"{{"a":"{bad}"}}"#)).unwrap_err();
        assert!(refused.to_string().contains("`a` cannot be sent"), "{bad}: {refused}");
    }
    assert!(of(&format!(r#"{{"a":"{}"}}"#, "x".repeat(4094))).unwrap().is_some());
    assert!(of(&format!(r#"{{"a":"{}"}}"#, "x".repeat(4095))).is_err());
}

#[test]
fn a_body_keeps_every_digit_and_leaves_out_what_was_not_given() {
    let template = Body::Members(vec![
        ("amount".into(), Body::Value(argument("amount"))),
        (
            "note".into(),
            Body::Text(vec![literal("by \""), Piece::Principal, literal("\": "), argument("note")]),
        ),
        ("who".into(), Body::Value(Piece::Tenant)),
        (
            "list".into(),
            Body::Items(vec![
                Body::Literal("1".into()),
                Body::Value(argument("none")),
                Body::Value(argument("deep")),
            ]),
        ),
        ("none".into(), Body::Value(argument("none"))),
        ("last".into(), Body::Literal("true".into())),
    ]);
    let of = |arguments: &str| with(arguments, |values| body(&template, values).unwrap());
    assert_eq!(
        of(r#"{"amount":9007199254740993.10,"note":"a\"b","deep":{"x":[1.0,null]}}"#),
        r#"{"amount":9007199254740993.10,"note":"by \"dana\": a\"b","who":"tenant/a","list":[1,{"x":[1.0,null]}],"last":true}"#
    );
    assert_eq!(of(r#"{"amount":null}"#), r#"{"amount":null,"who":"tenant/a","list":[1],"last":true}"#);
    assert_eq!(with("{}", |values| body(&Body::Value(argument("a")), values).unwrap()), "null");
}
