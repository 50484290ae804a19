//! `initialize`, and batches.

use callgate_protocol::Revision;

use super::client::{Client, Http, Over, hello};
use crate::stdio::child::{Server, code_of, id_of, legacy, parse};

/// Requirements: LEG-01.
#[tokio::test]
async fn an_unknown_revision_is_answered_with_the_latest_that_begins_with_initialize() {
    let mut stdio = Server::start();
    let http = Http::start(callgate_server::HttpOptions::default()).await;
    for version in ["1999-01-01", "2026-07-28", "", "2025-11-25"] {
        let request = legacy(1, "initialize", &hello(version, "{}"));
        for answer in [stdio.ask(&request), http.ask(&request).await.1] {
            assert!(answer.contains(r#""protocolVersion":"2025-11-25""#), "{version}: {answer}");
        }
    }
    // The transport of the oldest revision is not served.
    let request = legacy(1, "initialize", &hello("2024-11-05", "{}"));
    assert!(stdio.ask(&request).contains(r#""protocolVersion":"2024-11-05""#));
    assert!(http.ask(&request).await.1.contains(r#""protocolVersion":"2025-11-25""#));
}

#[tokio::test]
async fn a_malformed_initialize_is_refused_and_opens_nothing() {
    let mut stdio = Server::start();
    let http = Http::start(callgate_server::HttpOptions::default()).await;
    for params in [
        "{}",
        r#"{"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#,
        r#"{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":7},"clientInfo":{"name":"t","version":"1"}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t"}}"#,
    ] {
        let request = legacy(1, "initialize", params);
        assert_eq!(code_of(&stdio.ask(&request)), Some(-32602), "{params}");
        assert_eq!(code_of(&stdio.ask(&legacy(2, "resources/subscribe", "{}"))), Some(-32600), "{params}");
        let response = http.post(&request).await;
        assert_eq!(response.status().as_u16(), 400, "{params}");
        assert!(!response.headers().contains_key("mcp-session-id"), "{params}");
        assert_eq!(code_of(&response.text().await.unwrap()), Some(-32602), "{params}");
    }
}

const BATCH: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}},{"jsonrpc":"2.0","id":3,"method":5},{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}]"#;

fn judge_batch(answer: &str) {
    let answer = parse(answer);
    let mut ids = Vec::new();
    for member in answer.root().items() {
        let id = member.get("id").unwrap().raw();
        let code = member.path(["error", "code"]).and_then(|code| code.as_i64());
        ids.push((id.to_owned(), code));
    }
    ids.sort();
    let expected =
        [("\"two\"", None), ("1", None), ("1", Some(-32600)), ("3", Some(-32600)), ("4", Some(-32600))];
    assert_eq!(ids, expected.map(|(id, code)| (id.to_owned(), code)), "{}", answer.text());
}

#[tokio::test]
async fn a_batch_is_taken_where_the_revision_has_batches_and_answered_together() {
    let mut stdio = Server::start();
    stdio.ask(&legacy(0, "initialize", &hello("2025-03-26", "{}")));
    judge_batch(&receive_array(&mut stdio, BATCH));
    let http = Http::open("2025-03-26", callgate_server::HttpOptions::default()).await;
    let (status, answer) = http.ask(BATCH).await;
    assert_eq!(status, 200);
    judge_batch(&answer);
    // Nothing to answer.
    http.accept(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#).await;
    for (batch, code) in [
        ("[]", -32600),
        ("[1", -32700),
        ("[1]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping","id":2}]"#, -32600),
    ] {
        let (_, answer) = http.ask(batch).await;
        assert!(answer.contains(&code.to_string()), "{batch}: {answer}");
    }
    let too_many = format!("[{}]", vec![r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#; 65].join(","));
    let (status, answer) = http.ask(&too_many).await;
    assert_eq!((status, code_of(&answer)), (400, Some(-32600)), "{answer}");
}

#[tokio::test]
async fn a_batch_that_is_json_and_no_message_is_an_invalid_request_over_either_transport() {
    let twice = r#"[{"jsonrpc":"2.0","id":1,"method":"ping","id":2}]"#;
    let mut stdio = Server::start();
    stdio.ask(&legacy(0, "initialize", &hello("2025-03-26", "{}")));
    let answer = receive_array(&mut stdio, twice);
    assert_eq!(code_of(&answer), Some(-32600), "{answer}");
    let mut options = callgate_server::HttpOptions::default();
    options.limits.message = options.limits.message.with_depth(6);
    let http = Http::open("2025-03-26", options).await;
    // The bounds of a message are those that the endpoint was given.
    let deep = |levels: usize| {
        let params = format!("{}1{}", r#"{"x":"#.repeat(levels), "}".repeat(levels));
        format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}]"#)
    };
    assert_eq!(http.ask(&deep(3)).await.0, 200);
    for batch in [twice, &deep(8)] {
        let (status, answer) = http.ask(batch).await;
        assert_eq!((status, code_of(&answer)), (400, Some(-32600)), "{answer}");
    }
}

#[tokio::test]
async fn a_batch_is_refused_where_the_revision_has_none() {
    for version in ["2025-06-18", "2025-11-25"] {
        let mut stdio = Server::start();
        stdio.ask(&legacy(0, "initialize", &hello(version, "{}")));
        assert_eq!(code_of(&stdio.ask(BATCH)), Some(-32600));
        let http = Http::open(version, callgate_server::HttpOptions::default()).await;
        let (status, answer) = http.ask(BATCH).await;
        assert_eq!((status, code_of(&answer)), (400, Some(-32600)), "{answer}");
    }
}

/// The harness takes each line for one message; a batch is an array of them.
fn receive_array(server: &mut Server, batch: &str) -> String {
    server.send(batch);
    server.receive_line()
}

/// Requirements: CAN-12.
#[tokio::test]
async fn a_cancelled_request_is_not_answered_and_the_next_one_is() {
    for over in [Over::Stdio, Over::Http] {
        let mut client = Client::open(over, Revision::V2025_11_25, "{}").await;
        // Cancelling what is not running is no fault.
        for id in ["1", "99", "\"x\"", "null", "[]"] {
            let params = format!(r#"{{"requestId":{id}}}"#);
            let text = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
            client.notify(&text).await;
        }
        client.notify(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#).await;
        assert!(client.ask("ping", "{}").await.contains("result"));
    }
    let mut stdio = Server::start();
    stdio.ask(&legacy(0, "initialize", &hello("2025-11-25", "{}")));
    stdio.send(legacy(1, "tools/call", r#"{"name":"wait","arguments":{"milliseconds":20000}}"#));
    stdio.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(id_of(&stdio.ask(&legacy(2, "ping", "{}"))), "2");
    stdio.end_input();
    let (rest, errors, _) = stdio.finish();
    assert!(rest.is_empty(), "{rest:?}");
    assert!(errors.contains("dropped"), "{errors}");
}
