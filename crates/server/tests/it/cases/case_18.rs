//! Case 18: the right channel for each error. The kind of fault: what the model could mend as a protocol
//! error, what it could not as a result, and a text that tells what it must not.

use callgate_protocol::Revision;

use crate::cases::fixture;
use crate::cases::harness::child::Child;
use crate::cases::harness::http::post;
use crate::cases::harness::{call, error_code, is_error, request, shown};

fn protocol_errors() -> Vec<(&'static str, String)> {
    vec![
        ("unknown tool", call("1", "no_such_tool", "{}")),
        ("name in another case", call("1", "Typed", "{}")),
        ("empty name", call("1", "", "{}")),
        ("no name", request("1", "tools/call", r#""arguments":{}"#)),
        ("a name that is no text", request("1", "tools/call", r#""name":7,"arguments":{}"#)),
        ("arguments that are no object", call("1", "typed", "[]")),
        ("arguments that are a text", call("1", "typed", "\"{}\"")),
    ]
}

fn tool_errors() -> Vec<(&'static str, String)> {
    vec![
        ("missing required argument", call("1", "optional", "{}")),
        ("wrong type", call("1", "typed", r#"{"n":"5"}"#)),
        ("unknown argument", call("1", "optional", r#"{"q":"x","z":1}"#)),
        ("the handler panics", call("1", "panics", "{}")),
        ("the handler takes too long", call("1", "sleeps_too_long", "{}")),
        ("the backend fails", call("1", "fails", "{}")),
    ]
}

fn judge_protocol(what: &str, answer: &str) {
    assert_eq!(error_code(answer), Some(-32602), "{what}: {answer}");
}

fn judge_tool(what: &str, answer: &str) {
    assert!(is_error(answer), "{what}: {answer}");
    let text = shown(answer);
    assert!(!text.trim().is_empty(), "{what}: {answer}");
    for secret in fixture::SECRETS {
        assert!(!answer.contains(secret), "{what} tells {secret}: {answer}");
    }
    for trace in ["panicked at", "thread '", ".rs:", "src/", "stack backtrace", "RUST_BACKTRACE"] {
        assert!(!answer.contains(trace), "{what} shows {trace}: {answer}");
    }
}

/// Requirements: TOOL-23, TOOL-25, TOOL-28, TOOL-30.
#[test]
fn each_error_takes_its_channel_over_http() {
    let server = fixture::http();
    for (what, message) in protocol_errors() {
        let reply = post(server.address, &message);
        judge_protocol(what, &reply.response());
    }
    for (what, message) in tool_errors() {
        let reply = post(server.address, &message);
        assert_eq!(reply.status, 200, "{what}: {reply:?}");
        judge_tool(what, &reply.response());
    }
    // Every failure was one call's own.
    assert!(!is_error(&post(server.address, &call("9", "optional", r#"{"q":"x"}"#)).response()));
}

/// Requirements: TOOL-23, STDIO-03.
#[test]
fn each_error_takes_its_channel_over_stdio() {
    let mut child = Child::start(Revision::V2026_07_28);
    for (what, message) in protocol_errors() {
        judge_protocol(what, &child.ask(&message));
    }
    for (what, message) in tool_errors() {
        judge_tool(what, &child.ask(&message));
    }
    assert!(!is_error(&child.ask(&call("9", "optional", r#"{"q":"x"}"#))));
    assert!(child.end().status.success());
}

/// Which failure it was is told by a stable code, for a model and for a program.
#[test]
fn a_call_out_of_time_and_a_failing_backend_have_their_own_codes() {
    let server = fixture::http();
    for (tool, code) in
        [("sleeps_too_long", "timeout"), ("fails", "tool_failed"), ("panics", "tool_panicked")]
    {
        let answer = post(server.address, &call("1", tool, "{}")).response();
        assert!(shown(&answer).starts_with(code), "{tool}: {answer}");
        assert!(answer.contains(&format!(r#""dev.callgate/refusal":{{"code":"{code}""#)), "{tool}: {answer}");
    }
}

/// A validation error says what to mend, so that a model can.
#[test]
fn the_text_of_a_validation_error_names_every_place() {
    let server = fixture::http();
    let answer = post(server.address, &call("1", "typed", r#"{"n":"5","flag":1}"#)).response();
    let text = shown(&answer);
    assert!(text.contains("/n") && text.contains("/flag"), "{text}");
    assert!(text.contains("integer") && text.contains("boolean"), "{text}");
}
