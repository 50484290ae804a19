//! Case 5: an integer is a number without a fraction, however it is written. The kind of fault: a check
//! of the language's type instead of the value, and a fraction or a digit that is lost on the way.

use crate::cases::fixture;
use crate::cases::harness::http::post;
use crate::cases::harness::{call, is_error, shown};

/// Requirements: TOOL-23, TOOL-25.
#[test]
fn whole_numbers_reach_the_handler_and_nothing_else_does() {
    let server = fixture::http();
    let ask =
        |value: &str| post(server.address, &call("1", "integer", &format!("{{\"n\":{value}}}"))).response();
    for (value, received) in [
        ("5", "5"),
        ("5.0", "5"),
        ("5e0", "5"),
        ("1E2", "100"),
        ("120e-1", "12"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.000", "9007199254740993"),
        ("9223372036854775807", "9223372036854775807"),
    ] {
        let answer = ask(value);
        assert!(!is_error(&answer), "{value}: {answer}");
        assert_eq!(shown(&answer), received, "{value}");
    }
    for value in ["5.7", "0.5", "\"5\"", "true", "null", "0", "-1", "5.0000000000000000000001", "[5]"] {
        let answer = ask(value);
        assert!(is_error(&answer), "{value}: {answer}");
        assert!(shown(&answer).contains("/n"), "{value}: {answer}");
    }
}

/// A number that no integer type holds is named as such, and is never taken for infinity.
#[test]
fn a_number_beyond_the_handlers_range_is_refused_in_words() {
    let server = fixture::http();
    for value in ["1e400", "9223372036854775808", "1e1000000"] {
        let answer = post(server.address, &call("1", "integer", &format!("{{\"n\":{value}}}"))).response();
        assert!(is_error(&answer), "{value}: {answer}");
    }
}

/// Requirements: TOOL-25.
#[test]
fn digits_beyond_2_53_survive_the_schema_as_well() {
    let server = fixture::http();
    let ask =
        |value: &str| post(server.address, &call("1", "exact", &format!("{{\"n\":{value}}}"))).response();
    assert_eq!(shown(&ask("9007199254740993")), r#"{"n":9007199254740993}"#);
    assert!(is_error(&ask("9007199254740994")), "one above the maximum");
    assert!(is_error(&ask("9007199254740992")), "one below the minimum");
}
