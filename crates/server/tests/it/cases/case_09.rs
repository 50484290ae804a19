//! Case 9: depth. The kind of fault: a walker that recurses, in a schema, a value or a message, and takes
//! the process with it.

use crate::cases::fixture::{self, register};
use crate::cases::harness::http::{Post, post};
use crate::cases::harness::{call, error_code, is_error};

const LEVELS: usize = 1_700;

fn nested(before: &str, after: &str) -> String {
    format!("{}{{\"type\":\"string\"}}{}", before.repeat(LEVELS), after.repeat(LEVELS))
}

/// Requirements: BASE-43.
#[test]
fn a_deep_schema_is_refused_with_its_tool_and_the_process_lives() {
    let shapes = [
        nested(r#"{"type":"object","properties":{"a":"#, "}}"),
        nested(r#"{"items":"#, "}"),
        nested(r#"{"allOf":["#, "]}"),
        nested(r#"{"not":"#, "}"),
        nested(r#"{"additionalProperties":"#, "}"),
        nested(r#"{"$defs":{"d":"#, "}}"),
        nested(r#"{"if":"#, "}"),
        nested(r#"{"default":"#, "}"),
    ];
    for shape in shapes {
        let input = format!(r#"{{"type":"object","properties":{{"deep":{shape}}}}}"#);
        let faults = register("the_deep_one", &input, None).unwrap_err();
        assert!(faults.iter().any(|fault| fault.contains("inputSchema")), "{faults:?}");
        assert!(register("the_deep_one", r#"{"type":"object"}"#, Some(&shape)).is_err());
    }
    assert!(register("other", r#"{"type":"object"}"#, None).is_ok());
}

/// Requirements: BASE-43.
#[test]
fn a_deep_message_is_refused_and_the_next_one_served() {
    let server = fixture::http();
    let brackets = "[".repeat(100_000);
    let reply = Post::of(server.address, "{}").body(brackets.as_str()).send(server.address);
    assert_eq!(reply.status, 400);
    assert!(matches!(error_code(&reply.response()), Some(-32600 | -32700)), "{reply:?}");
    let value = format!("{}1{}", "[".repeat(LEVELS), "]".repeat(LEVELS));
    let reply = post(server.address, &call("7", "booleans", &format!("{{\"raw\":{value}}}")));
    assert_eq!((reply.status, error_code(&reply.response())), (400, Some(-32600)), "{reply:?}");
    let fine = post(server.address, &call("8", "booleans", r#"{"raw":[[[1]]]}"#)).response();
    assert!(!is_error(&fine));
}

/// Requirements: BASE-43, STDIO-01.
#[test]
fn a_deep_line_on_stdio_is_answered_and_the_next_one_served() {
    let mut child = crate::cases::harness::child::Child::start(callgate_protocol::Revision::V2026_07_28);
    child.write(format!("{}\n", "[".repeat(100_000)).as_bytes());
    assert!(error_code(&child.receive()).is_some());
    let answer = child.ask(&call("8", "booleans", r#"{"raw":[[[1]]]}"#));
    assert!(!is_error(&answer));
    assert!(child.end().status.success());
}

/// A recursive schema meets a value as deep as a message may be.
///
/// Requirements: BASE-43.
#[test]
fn a_recursive_schema_judges_the_deepest_value() {
    let server = fixture::http();
    for depth in [1, 20, 50] {
        let value = format!("{}[]{}", "[".repeat(depth), "]".repeat(depth));
        let answer = post(server.address, &call("1", "tree", &format!("{{\"root\":{value}}}"))).response();
        assert!(!is_error(&answer), "{depth}: {answer}");
    }
}
