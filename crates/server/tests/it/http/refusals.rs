//! Every malformed input gets a JSON-RPC error with the right code and status.

use super::fixture::Fixture;
use super::wire::{Call, META};

fn echo() -> Call {
    Call::tool("echo", r#"{"text":"hi"}"#)
}

/// One refusal: its name, what is sent, and the status and code that come back.
type Case = (&'static str, Call, u16, i64);

fn cases() -> Vec<Case> {
    let list = || Call::modern("tools/list", "");
    vec![
        ("no JSON", echo().body("{"), 400, -32700),
        ("an empty body", echo().body("").also("Content-Length", "0"), 400, -32700),
        (
            "invalid UTF-8",
            echo().body(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}".to_vec()),
            400,
            -32700,
        ),
        (
            "UTF-8 that is cut",
            echo().body("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"読".as_bytes()[..36].to_vec()),
            400,
            -32700,
        ),
        (
            "a batch",
            echo().body(format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}]"#)),
            400,
            -32600,
        ),
        ("an empty batch", echo().body("[]"), 400, -32600),
        ("a string", echo().body("\"hi\""), 400, -32600),
        ("another jsonrpc", list().with("\"2.0\"", "\"1.0\""), 400, -32600),
        ("no jsonrpc", list().with("\"jsonrpc\":\"2.0\",", ""), 400, -32600),
        ("a null id", list().with("\"id\":1", "\"id\":null"), 400, -32600),
        ("an id that is a fraction", list().with("\"id\":1", "\"id\":1.5"), 400, -32600),
        ("an id that is an object", list().with("\"id\":1", "\"id\":{}"), 400, -32600),
        ("a method that is a number", list().with("\"tools/list\"", "7"), 400, -32600),
        (
            "parameters that are an array",
            echo().body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#),
            400,
            -32602,
        ),
        ("a member twice", list().with("\"id\":1", "\"id\":1,\"id\":2"), 400, -32600),
        ("neither request nor response", echo().body(r#"{"jsonrpc":"2.0","id":1}"#), 400, -32600),
        ("a response", echo().body(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), 400, -32600),
        (
            "too deep",
            list().with("\"params\":{", &format!("\"params\":{{\"a\":{}{},", "[".repeat(70), "]".repeat(70))),
            400,
            -32600,
        ),
        (
            "no metadata",
            Call::raw(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
                .header("MCP-Protocol-Version", "2026-07-28")
                .header("Mcp-Method", "tools/list"),
            400,
            -32602,
        ),
        (
            "no revision in the metadata",
            list().with("\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",", ""),
            400,
            -32602,
        ),
        (
            "no capabilities in the metadata",
            list().with(",\"io.modelcontextprotocol/clientCapabilities\":{}", ""),
            400,
            -32602,
        ),
        (
            "capabilities that are an array",
            list().with("clientCapabilities\":{}", "clientCapabilities\":[]"),
            400,
            -32602,
        ),
        (
            "a version that only the header names",
            Call::raw(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
                .header("MCP-Protocol-Version", "1999-01-01"),
            400,
            -32022,
        ),
        (
            "a revision that is not served",
            list().header("MCP-Protocol-Version", "2027-01-01").with("2026-07-28", "2027-01-01"),
            400,
            -32022,
        ),
        ("an unknown method", Call::modern("tools/forget", ""), 404, -32601),
        ("initialize with modern metadata", Call::modern("initialize", ""), 404, -32601),
        ("ping with modern metadata", Call::modern("ping", ""), 404, -32601),
        (
            "logging/setLevel with modern metadata",
            Call::modern("logging/setLevel", "\"level\":\"info\""),
            404,
            -32601,
        ),
        (
            "resources/subscribe with modern metadata",
            Call::modern("resources/subscribe", "\"uri\":\"a:b\""),
            404,
            -32601,
        ),
        (
            "malformed parameters of a known method",
            Call::modern("tools/call", "\"name\":7").header("Mcp-Name", "7"),
            400,
            -32602,
        ),
        ("no content type", echo().without("Content-Type"), 415, -32600),
        ("another content type", echo().header("Content-Type", "text/plain"), 415, -32600),
        ("another charset", echo().header("Content-Type", "application/json; charset=latin1"), 415, -32600),
        ("a compressed body", echo().header("Content-Encoding", "gzip"), 415, -32600),
        ("no kind of answer that we have", echo().header("Accept", "text/html"), 406, -32600),
        (
            "a refused kind of answer",
            echo().header("Accept", "application/json;q=0, text/event-stream; q=0.000"),
            406,
            -32600,
        ),
        (
            "a subscription without events",
            Call::modern("subscriptions/listen", "\"notifications\":{}").header("Accept", "application/json"),
            406,
            -32600,
        ),
        ("another path", echo().line("POST /other HTTP/1.1"), 404, -32600),
        ("GET", echo().line("GET /mcp HTTP/1.1").body(""), 405, -32600),
        ("DELETE", echo().line("DELETE /mcp HTTP/1.1").body(""), 405, -32600),
        ("PUT", echo().line("PUT /mcp HTTP/1.1"), 405, -32600),
    ]
}

/// Requirements: HTTP-01, HTTP-12, HTTP-28, HTTP-29, BASE-12, BASE-13, BASE-15, BASE-49, BASE-50, VER-01, TRN-01.
#[tokio::test]
async fn every_malformed_input_gets_a_json_rpc_error_with_its_code_and_status() {
    let fixture = Fixture::new().await;
    let mut all = String::new();
    for (name, call, status, code) in cases() {
        let answer = call.send(fixture.address).await;
        assert_eq!((answer.status, answer.code()), (status, Some(code)), "{name}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
        all.push_str(&format!("=== {name}\n{}\n", answer.show()));
    }
    assert_eq!(fixture.seen.started(), 0, "nothing ran");
    insta::assert_snapshot!("refusals", all);
    fixture.end().await;
}

/// Requirements: BASE-12, BASE-25, HTTP-11, HTTP-12.
#[tokio::test]
async fn a_notification_is_accepted_without_a_body_or_refused_by_its_status() {
    let fixture = Fixture::new().await;
    let notification = |method: &str| {
        Call::raw(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":1}}}}"#))
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method)
    };
    for method in ["notifications/cancelled", "notifications/unheard_of"] {
        let answer = notification(method).send(fixture.address).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{answer:?}");
        assert_eq!(answer.header("content-type"), None);
    }
    let cancelled = || notification("notifications/cancelled");
    let refused = [
        (cancelled().header("Mcp-Method", "tools/call"), -32020),
        (cancelled().also("Mcp-Method", "notifications/cancelled"), -32020),
        (cancelled().header("MCP-Protocol-Version", "2027-01-01"), -32022),
        (cancelled().also("MCP-Protocol-Version", "2026-07-28"), -32020),
        (cancelled().body(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#), -32602),
    ];
    for (call, code) in refused {
        let answer = call.send(fixture.address).await;
        assert_eq!((answer.status, answer.code()), (400, Some(code)), "{answer:?}");
        assert!(!answer.body.contains("\"id\""), "{answer:?}");
    }
    fixture.end().await;
}

/// Requirements: BASE-06, BASE-07, HTTP-13.
#[tokio::test]
async fn a_request_is_answered_with_one_json_object() {
    let fixture = Fixture::new().await;
    for id in ["1", "\"a\\u00e9\"", "9007199254740993", "-0", "\"\""] {
        let answer = echo().with("\"id\":1", &format!("\"id\":{id}")).send(fixture.address).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!(answer.body.contains(&format!("\"id\":{id},\"result\":{{")), "{answer:?}");
        assert!(answer.body.contains(r#""structuredContent":{"text":"hi"}"#), "{answer:?}");
    }
    fixture.end().await;
}

/// Requirements: TRN-01.
#[tokio::test]
async fn text_survives_any_split_of_its_bytes() {
    let fixture = Fixture::new().await;
    let text = "読—🎉é";
    let call = Call::tool("echo", &format!(r#"{{"text":"{text}"}}"#));
    let mut connection = super::wire::Connection::open(fixture.address).await;
    for byte in call.bytes() {
        connection.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    let answer = connection.answer().await;
    assert!(answer.body.contains(text), "{answer:?}");
    let mut chunked = call.clone().header("Transfer-Encoding", "chunked");
    chunked.body =
        call.body.iter().flat_map(|byte| [b"1\r\n".as_slice(), &[*byte], b"\r\n"].concat()).collect();
    chunked.body.extend_from_slice(b"0\r\n\r\n");
    let answer = chunked.send(fixture.address).await;
    assert!(answer.body.contains(text), "{answer:?}");
    fixture.end().await;
}

/// Requirements: HTTP-13.
#[tokio::test]
async fn a_client_that_takes_one_kind_of_answer_gets_that_kind() {
    let fixture = Fixture::new().await;
    for accept in ["application/json", "*/*", "application/*;q=0.5", "Application/JSON , text/event-stream"] {
        let answer = echo().header("Accept", accept).send(fixture.address).await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accept}");
    }
    assert_eq!(echo().without("Accept").send(fixture.address).await.status, 200);
    let events = echo().header("Accept", "text/event-stream").send(fixture.address).await.events();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["result"]["structuredContent"]["text"], "hi");
    let silent = Call::listening_tool("count", r#"{"count":3}"#).header("Accept", "application/json");
    let answer = silent.send(fixture.address).await;
    assert_eq!(answer.header("content-type"), Some("application/json"), "no stream for who takes none");
    fixture.end().await;
}

/// Requirements: BASE-27.
#[tokio::test]
async fn requests_on_one_connection_know_nothing_of_each_other() {
    let fixture = Fixture::new().await;
    let mut connection = super::wire::Connection::open(fixture.address).await;
    for _ in 0..3 {
        connection.write(&echo().bytes()).await;
        assert_eq!(connection.answer().await.status, 200);
        // Nothing is taken over from the request before.
        connection.write(&echo().without("MCP-Protocol-Version").bytes()).await;
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.code()), (400, Some(-32020)), "{answer:?}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn the_health_of_the_server_is_told_without_a_call() {
    let fixture = Fixture::new().await;
    let answer = Call::raw("").line("GET /healthz HTTP/1.1").send(fixture.address).await;
    insta::assert_snapshot!("healthz", answer.show());
    fixture.end().await;
}

/// The right channel for each kind of fault: what the client got wrong about the protocol is an error, what
/// the tool could not do is a result that the model sees.
#[tokio::test]
async fn each_fault_of_a_call_comes_back_on_its_channel() {
    let fixture = Fixture::new().await;
    let errors = [
        Call::tool("no_such_tool", "{}"),
        Call::modern("tools/call", r#""arguments":{}"#),
        Call::modern("tools/call", r#""name":null,"arguments":{}"#),
    ];
    for call in errors {
        let answer = call.send(fixture.address).await;
        assert_eq!(answer.code(), Some(-32602), "{answer:?}");
    }
    let results = [
        Call::tool("echo", "{}"),
        Call::tool("echo", r#"{"text":7}"#),
        Call::tool("echo", r#"{"text":"hi","more":1}"#),
        Call::tool("panics", "{}"),
    ];
    for call in results {
        let answer = call.send(fixture.address).await;
        let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, &body["result"]["isError"]), (200, &true.into()), "{answer:?}");
        let text = body["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Next: "), "it says what to do: {text}");
        assert!(!text.contains("secret"), "{text}");
    }
    fixture.end().await;
}
