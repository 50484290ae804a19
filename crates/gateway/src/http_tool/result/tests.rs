//! Bodies that are not what was declared.

use http::HeaderValue;

use super::*;

fn field(name: &str, source: &str, schema: &str) -> Field {
    let document = Document::parse(schema, &Limits::default()).unwrap();
    let source = match source.strip_prefix("header:") {
        Some(name) => Source::Header(name.parse().unwrap()),
        None => Source::Body(source.split('/').skip(1).map(str::to_owned).collect()),
    };
    Field {
        name: name.to_owned(),
        source,
        nullable: is_nullable(document.root()),
        projection: Projection::of(document.root()),
    }
}

fn selection(fields: Vec<Field>) -> Selection {
    Selection { select: Vec::new(), rows: None, fields, limits: Limits::DEFAULT }
}

fn json() -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))])
}

#[test]
fn only_what_is_declared_gets_through_and_no_digit_changes() {
    let nested = r#"{"type":"object","properties":{"n":{"type":"number"},"gone":{"type":"string"}}}"#;
    let listed = format!(r#"{{"type":"array","items":{nested}}}"#);
    let selection = selection(vec![
        field("amount", "/amount", r#"{"type":"number"}"#),
        field("inner", "/a/b", nested),
        field("list", "/list", &listed),
        field("second", "/list/1/n", r#"{"type":"number"}"#),
        field("etag", "header:etag", r#"{"type":"string"}"#),
        field("maybe", "/null", r#"{"type":["string","null"]}"#),
        field("never", "/null", r#"{"type":"string"}"#),
        field("free", "/free", r#"{"type":"object","additionalProperties":true,"properties":{}}"#),
    ]);
    let mut headers = json();
    headers.insert("etag", HeaderValue::from_static("\"v7\""));
    let body = r#"{"amount":9007199254740993.10,"secret":"CANARY","a":{"b":{"n":1e400,"gone":null,"secret":"CANARY"}},
        "list":[{"n":1,"x":"CANARY"},{"n":2.50}],"null":null,"free":{"any":1}}"#;
    assert_eq!(
        selection.result(&headers, body.as_bytes()).unwrap(),
        r#"{"amount":9007199254740993.10,"inner":{"n":1e400},"list":[{"n":1},{"n":2.50}],"second":2.50,"etag":"\"v7\"","maybe":null,"free":{"any":1}}"#
    );
}

#[test]
fn a_body_that_is_no_json_is_no_result() {
    let selection = selection(vec![field("a", "/a", r#"{"type":"string"}"#)]);
    for (media, body, expected) in [
        (Some("text/html"), "{}", "the media type"),
        (None, "{}", "the media type"),
        (Some("application/json"), "", "no JSON"),
        (Some("application/json"), "{\"a\":", "no JSON"),
        (Some("application/json"), "{\"a\":1,\"a\":2}", "no JSON"),
        (Some("application/json"), "\u{feff}{}", "no JSON"),
        (Some("application/json"), "<html>", "no JSON"),
    ] {
        let media = media.map(|media| (CONTENT_TYPE, HeaderValue::from_static(media)));
        let error = selection.result(&HeaderMap::from_iter(media), body.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{body}: {error}");
    }
    let problem = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/hal+json"))]);
    assert_eq!(selection.result(&problem, b"{\"a\":\"x\"}").unwrap(), r#"{"a":"x"}"#);
}

#[test]
fn rows_are_cut_where_a_bound_is_and_one_that_is_too_large_is_refused() {
    let mut selection = selection(vec![field("a", "/v/a", r#"{"type":"integer"}"#)]);
    let rows = |max_rows, max_bytes| Rows {
        pointer: vec!["data".into()],
        items: "found".into(),
        max_rows,
        max_bytes,
    };
    let body = br#"{"data":[{"v":{"a":1}},{"v":{"a":2}},{"v":{"a":3}}]}"#;
    for (max_rows, max_bytes, expected) in [
        (9, 999, Ok(r#"{"found":[{"a":1},{"a":2},{"a":3}],"truncated":false}"#)),
        (3, 999, Ok(r#"{"found":[{"a":1},{"a":2},{"a":3}],"truncated":false}"#)),
        (2, 999, Ok(r#"{"found":[{"a":1},{"a":2}],"truncated":true}"#)),
        (9, 17, Ok(r#"{"found":[{"a":1},{"a":2}],"truncated":true}"#)),
        (9, 7, Err(Malformed::RowTooLarge)),
    ] {
        selection.rows = Some(rows(max_rows, max_bytes));
        assert_eq!(selection.result(&json(), body), expected.map(str::to_owned), "{max_rows} {max_bytes}");
    }
    selection.rows = Some(rows(9, 999));
    assert_eq!(selection.result(&json(), b"{\"data\":{}}"), Err(Malformed::NotRows));
    assert_eq!(selection.result(&json(), b"{}"), Err(Malformed::Missing("data".into())));
    assert_eq!(selection.empty().unwrap(), r#"{"found":[],"truncated":false}"#);
}
