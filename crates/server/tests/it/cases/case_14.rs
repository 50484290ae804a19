//! Case 14: an output schema judges results, never errors. The kind of fault: the tool's own reason lost
//! behind "does not match output schema", and a broken result that leaves the server.

use crate::cases::fixture;
use crate::cases::harness::http::post;
use crate::cases::harness::{at, call, is_error, shown};

fn ask(how: &str) -> String {
    let server = fixture::http();
    post(server.address, &call("1", "contracted", &format!("{{\"how\":\"{how}\"}}"))).response()
}

/// Requirements: TOOL-21, TOOL-23, TOOL-30.
#[test]
fn an_error_of_the_tool_reaches_the_caller_as_it_is() {
    for how in ["error", "error-structured"] {
        let answer = ask(how);
        assert!(is_error(&answer), "{answer}");
        assert_eq!(shown(&answer), "quota reached", "{answer}");
    }
    let structured = at(&ask("error-structured"), &["result", "structuredContent"]);
    assert_eq!(structured.as_deref(), Some(r#"{"error":{"code":"E42"}}"#));
}

/// Requirements: TOOL-20, TOOL-21.
#[test]
fn a_result_that_breaks_the_contract_never_leaves_and_is_named_as_such() {
    for how in ["absent", "wrong-type"] {
        let answer = ask(how);
        assert!(is_error(&answer), "{how}: {answer}");
        assert!(at(&answer, &["result", "structuredContent"]).is_none(), "{how}: {answer}");
        assert!(shown(&answer).contains("output_contract") || shown(&answer).contains("output"), "{answer}");
    }
    assert!(shown(&ask("wrong-type")).contains("/value"), "{}", ask("wrong-type"));
    let good = ask("good");
    assert!(!is_error(&good));
    assert_eq!(at(&good, &["result", "structuredContent"]).as_deref(), Some(r#"{"value":"7"}"#));
    assert_eq!(shown(&good), r#"{"value":"7"}"#);
}
