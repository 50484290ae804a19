//! Modern and legacy clients of one process, and the order of their first messages.

use super::child::{Server, code_of, id_of, legacy, modern};

const HELLO: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;

#[test]
fn a_notification_as_the_first_message_does_not_end_the_server() {
    for first in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
    ] {
        let mut server = Server::start();
        server.send(first);
        assert!(server.call(1, "echo", r#"{"text":"x"}"#).contains("structuredContent"));
        assert_eq!(code_of(&server.ask(&modern(2, "server/discover", ""))), None);
        server.send(first);
        assert_eq!(id_of(&server.ask(&legacy(3, "initialize", HELLO))), "3");
    }
}

/// A client probes with `server/discover`, gives up, cancels it, and begins as clients did before.
#[test]
fn cancelling_a_probe_and_falling_back_to_initialize_works() {
    let mut server = Server::start();
    assert_eq!(code_of(&server.ask(&modern(0, "server/discover", ""))), None);
    server.send(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"slow"}}"#,
    );
    let hello = server.ask(&legacy(1, "initialize", HELLO));
    assert!(hello.contains(r#""protocolVersion":"2025-11-25""#), "{hello}");
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let list = server.ask(&legacy(2, "tools/list", "{}"));
    assert!(list.contains(r#""name":"echo""#) && !list.contains("resultType"), "{list}");
}

/// Nothing of a modern request is taken from the session beside it, and the other way round.
#[test]
fn modern_requests_and_a_legacy_session_do_not_know_of_each_other() {
    let mut server = Server::start();
    let hello = HELLO.replace(r#""capabilities":{}"#, r#""capabilities":{"elicitation":{},"roots":{}}"#);
    server.ask(&legacy(1, "initialize", &hello));
    server.ask(&legacy(2, "logging/setLevel", r#"{"level":"debug"}"#));
    // The session declared elicitation, this request did not.
    let refused = server.call(3, "ask", "{}");
    assert_eq!(code_of(&refused), Some(-32021), "{refused}");
    // The session wants log messages, this request does not.
    let answer = server.call(4, "report", "{}");
    assert_eq!(id_of(&answer), "4", "{answer}");
    // The method does not choose the era.
    let refused = server.ask(&modern(5, "initialize", &HELLO[1..HELLO.len() - 1]));
    assert_eq!(code_of(&refused), Some(-32601), "{refused}");
    let refused = server.ask(&modern(6, "ping", ""));
    assert_eq!(code_of(&refused), Some(-32601), "{refused}");
    assert!(server.ask(&legacy(7, "ping", "{}")).contains(r#""result":{}"#));
    // A revision that is not served is named, whatever the session speaks.
    let other = modern(8, "tools/list", "").replace("2026-07-28", "2025-11-25");
    let refused = server.ask(&other);
    assert_eq!(code_of(&refused), Some(-32022), "{refused}");
}

#[test]
fn before_initialize_only_ping_is_answered_to_a_legacy_client() {
    let mut server = Server::start();
    assert!(server.ask(&legacy(1, "ping", "{}")).contains(r#""result":{}"#));
    assert_eq!(code_of(&server.ask(&legacy(2, "resources/subscribe", r#"{"uri":"a:b"}"#))), Some(-32600));
    assert_eq!(code_of(&server.ask(&legacy(3, "tools/list", "{}"))), Some(-32602));
}
