//! Case 6: arguments that arrive as text. The kind of fault: a silent coercion, and an answer that names
//! only one of several faults.

use crate::cases::fixture;
use crate::cases::harness::http::post;
use crate::cases::harness::{call, is_error, shown};

/// Requirements: TOOL-23, TOOL-25.
#[test]
fn every_stringified_field_is_named_with_the_type_that_was_expected() {
    let server = fixture::http();
    let arguments = r#"{"n":"5","flag":"false","list":"[\"a\"]","o":"{}"}"#;
    let answer = post(server.address, &call("1", "typed", arguments)).response();
    assert!(is_error(&answer), "{answer}");
    let text = shown(&answer);
    for (pointer, expected) in [("/n", "integer"), ("/flag", "boolean"), ("/list", "array"), ("/o", "object")]
    {
        assert!(text.contains(pointer) && text.contains(expected), "{pointer} {expected}: {text}");
    }
    // What was sent is not repeated: it may be anything.
    assert!(!text.contains("false\\\"") && !text.contains("[\\\"a\\\"]"), "{text}");
}

#[test]
fn no_text_is_taken_for_a_number() {
    let server = fixture::http();
    for text in ["5", "0x10", "1,000", " 5 ", "1e3", "9007199254740993", ""] {
        let answer = post(server.address, &call("1", "typed", &format!("{{\"n\":\"{text}\"}}"))).response();
        assert!(is_error(&answer) && shown(&answer).contains("/n"), "{text}: {answer}");
    }
    let typed = r#"{"n":5,"flag":false,"list":["a"],"o":{}}"#;
    let answer = post(server.address, &call("1", "typed", typed)).response();
    assert_eq!((is_error(&answer), shown(&answer).as_str()), (false, typed));
}
