//! Case 22: nothing but messages on stdout, and a reader that no line can end. The kind of fault: a stray
//! line, from either side, that ends the conversation.

use callgate_protocol::Revision;

use crate::cases::harness::child::Child;
use crate::cases::harness::{at, call, error_code, is_error, request};

/// Requirements: STDIO-01, STDIO-02, STDIO-03.
#[test]
fn a_handler_that_prints_does_not_reach_the_conversation() {
    let mut child = Child::start(Revision::V2026_07_28);
    for id in 1..=3 {
        let answer = child.ask(&call(&id.to_string(), "prints", "{}"));
        assert!(!is_error(&answer), "{answer}");
    }
    let end = child.end();
    assert!(end.status.success() && end.rest.is_empty(), "{end:?}");
    // What was printed is not lost: a person who looks for it finds it where logs are.
    assert!(end.errors.contains("Server 1.2 started"), "{end:?}");
}

/// Requirements: STDIO-01, BASE-12, BASE-13, BASE-25, TRN-01.
#[test]
fn every_stray_line_is_answered_or_ignored_and_the_next_request_served() {
    let mut child = Child::start(Revision::V2026_07_28);
    let strays: [(&[u8], Option<i64>); 14] = [
        (b"Server 1.2 started", Some(-32700)),
        (b"\x1b[32mINFO\x1b[0m ready", Some(-32700)),
        (b"", None),
        (b"   \t", None),
        (b"{}", Some(-32600)),
        (b"[]", Some(-32600)),
        (b"42", Some(-32600)),
        (b"\"hi\"", Some(-32600)),
        (b"null", Some(-32600)),
        (b"{\"jsonrpc\":\"2.0\"}", Some(-32600)),
        (b"\xff\xff\xff\xff", Some(-32700)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"met", Some(-32700)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard/of\"}", None),
        (b"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", None),
    ];
    for (at_line, (line, code)) in strays.into_iter().enumerate() {
        child.write(line);
        child.write(b"\n");
        if code.is_some() {
            let answer = child.receive();
            assert_eq!(error_code(&answer), code, "{:?}: {answer}", String::from_utf8_lossy(line));
            assert!(at(&answer, &["id"]).is_none(), "no id could be read: {answer}");
        }
        // Had the line been answered although it must not be, this would not be the next message.
        let id = format!("\"after-{at_line}\"");
        let answer = child.ask(&request(&id, "tools/list", ""));
        assert_eq!(at(&answer, &["id"]).as_deref(), Some(&*id), "{answer}");
    }
    let end = child.end();
    assert!(end.status.success() && end.rest.is_empty(), "{end:?}");
}

/// Requirements: STDIO-01.
#[test]
fn line_ends_of_both_kinds_are_read() {
    let mut child = Child::start(Revision::V2026_07_28);
    let message = request("1", "tools/list", "");
    child.wrote(&message);
    child.write(format!("{message}\r\n").as_bytes());
    assert_eq!(at(&child.receive(), &["id"]).as_deref(), Some("1"));
    assert!(child.end().status.success());
}
