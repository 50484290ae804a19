//! Case 15: structured content is any JSON value. The kind of fault: a value that is refused, cast or
//! dropped because it is no object, and `null` taken for absence.

use callgate_protocol::Revision;

use crate::cases::fixture;
use crate::cases::harness::child::Child;
use crate::cases::harness::http::post;
use crate::cases::harness::{at, call, is_error, shown};

const VALUES: [(&str, &str); 7] = [
    ("gives_array", "[]"),
    ("gives_array", "[1]"),
    ("gives_null", "null"),
    ("gives_boolean", "false"),
    ("gives_integer", "0"),
    ("gives_integer", "9007199254740993"),
    ("gives_string", "\"\""),
];

/// Requirements: TOOL-10, TOOL-20, TOOL-21.
#[test]
fn every_value_is_forwarded_as_it_is() {
    let server = fixture::http();
    for (tool, value) in VALUES {
        let answer = post(server.address, &call("1", tool, &format!("{{\"value\":{value}}}"))).response();
        assert!(!is_error(&answer), "{tool} {value}: {answer}");
        assert_eq!(at(&answer, &["result", "structuredContent"]).as_deref(), Some(value), "{tool}");
        assert_eq!(shown(&answer), value, "{tool}");
    }
}

/// Requirements: TOOL-21.
#[test]
fn null_is_a_value_and_absence_is_none() {
    let server = fixture::http();
    for tool in ["gives_array", "gives_null", "gives_boolean", "gives_integer", "gives_string"] {
        let answer = post(server.address, &call("1", tool, "{}")).response();
        assert!(is_error(&answer), "{tool}: {answer}");
    }
    for tool in ["gives_array", "gives_boolean", "gives_integer", "gives_string"] {
        let answer = post(server.address, &call("1", tool, r#"{"value":null}"#)).response();
        assert!(is_error(&answer), "{tool}: {answer}");
    }
}

/// An older peer knows objects only: it gets the text, and never a value that was cast into an object.
#[test]
fn an_older_client_gets_the_text_and_no_value_that_it_cannot_read() {
    let mut child = Child::start(Revision::V2025_11_25);
    child.ask(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#);
    child.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for (tool, value) in VALUES {
        let answer = child.ask(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"value":{value}}}}}}}"#
        ));
        assert!(!is_error(&answer), "{tool} {value}: {answer}");
        assert!(at(&answer, &["result", "structuredContent"]).is_none(), "{tool} {value}: {answer}");
        assert_eq!(shown(&answer), value, "{tool}");
    }
    let object = child.ask(
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"contracted","arguments":{"how":"good"}}}"#,
    );
    assert_eq!(at(&object, &["result", "structuredContent"]).as_deref(), Some(r#"{"value":"7"}"#));
    assert!(child.end().status.success());
}
