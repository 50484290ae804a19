//! Case 7: `null`, defaults and what is optional. The kind of fault: a value that is filled in, removed or
//! taken for another one on its way to the tool.

use crate::cases::fixture;
use crate::cases::harness::http::post;
use crate::cases::harness::{call, is_error, shown};

/// Requirements: TOOL-25.
#[test]
fn arguments_arrive_as_they_were_sent() {
    let server = fixture::http();
    for arguments in [
        r#"{"q":"x"}"#,
        r#"{"q":"x","limit":null}"#,
        r#"{ "limit" : 3.0, "q":"\u0078" }"#,
        r#"{"page":10,"q":"x"}"#,
    ] {
        let answer = post(server.address, &call("1", "optional", arguments)).response();
        assert_eq!((is_error(&answer), shown(&answer).as_str()), (false, arguments), "{answer}");
    }
    for (arguments, pointer) in [
        (r#"{"q":"x","after":null}"#, "/after"),
        (r#"{"q":"x","limit":"null"}"#, "/limit"),
        (r#"{"q":"x","limit":["null"]}"#, "/limit"),
        (r#"{"q":null}"#, "/q"),
        (r#"{"q":"x","page":null}"#, "/page"),
    ] {
        let answer = post(server.address, &call("1", "optional", arguments)).response();
        assert!(is_error(&answer) && shown(&answer).contains(pointer), "{arguments}: {answer}");
    }
    // A required member that is missing is named, although others have defaults.
    let answer = post(server.address, &call("1", "optional", "{}")).response();
    assert!(is_error(&answer) && shown(&answer).contains('q'), "{answer}");
}

#[test]
fn arguments_that_are_absent_are_an_empty_object_and_null_is_a_fault() {
    let server = fixture::http();
    let absent = crate::cases::harness::request("1", "tools/call", r#""name":"booleans""#);
    let answer = post(server.address, &absent).response();
    assert_eq!((is_error(&answer), shown(&answer).as_str()), (false, "{}"));
    let null = call("1", "booleans", "null");
    let answer = post(server.address, &null).response();
    assert_eq!(crate::cases::harness::error_code(&answer), Some(-32602), "{answer}");
}
