//! Subscriptions on standard streams.

use super::child::{META, Server, id_of, legacy, modern, parse};

fn listen(id: u32, notifications: &str) -> String {
    modern(id, "subscriptions/listen", &format!(r#""notifications":{notifications}"#))
}

fn method(text: &str) -> String {
    parse(text)
        .root()
        .get("method")
        .and_then(|method| Some(method.as_str()?.into_owned()))
        .unwrap_or_default()
}

fn subscription(text: &str) -> String {
    let message = parse(text);
    let params = message.root().get("params").or(message.root().get("result")).unwrap();
    params.path(["_meta", "io.modelcontextprotocol/subscriptionId"]).unwrap().raw().to_owned()
}

/// Requirements: SUB-01, SUB-02, SUB-03, SUB-06.
#[test]
fn each_subscription_hears_what_it_asked_for_and_ends_with_its_result() {
    let mut server = Server::start_with(&["300"]);
    server.send(listen(1, r#"{"toolsListChanged":true}"#));
    server.send(listen(2, r#"{"resourceSubscriptions":["fixture://note"]}"#));
    server.send(listen(3, r#"{"promptsListChanged":true}"#));
    for id in ["1", "2", "3"] {
        let first = server.receive();
        assert_eq!(method(&first), "notifications/subscriptions/acknowledged");
        assert_eq!(subscription(&first), id);
    }
    let mut heard = [server.receive(), server.receive()];
    heard.sort_by_key(|text| subscription(text));
    assert_eq!(heard.each_ref().map(|text| subscription(text)), ["1", "2"]);
    let methods = heard.each_ref().map(|text| method(text));
    assert_eq!(methods, ["notifications/tools/list_changed", "notifications/resources/updated"]);
    server.end_input();
    let (mut rest, _, status) = server.finish();
    rest.sort();
    assert_eq!(rest.iter().map(|text| id_of(text)).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(rest.iter().all(|text| text.contains(r#""resultType":"complete""#)));
    assert_eq!(rest.iter().map(|text| subscription(text)).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(status.success());
}

/// Requirements: STDIO-11, CAN-03.
#[test]
fn nothing_is_sent_for_a_subscription_that_was_cancelled() {
    let mut server = Server::start_with(&["400"]);
    server.send(listen(1, r#"{"toolsListChanged":true}"#));
    server.receive();
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    server.send(listen(2, r#"{"toolsListChanged":true}"#));
    assert_eq!(subscription(&server.receive()), "2");
    let changed = server.receive();
    assert_eq!(
        (method(&changed), subscription(&changed)),
        ("notifications/tools/list_changed".into(), "2".into())
    );
    server.end_input();
    let (rest, ..) = server.finish();
    assert_eq!(rest.iter().map(|text| id_of(text)).collect::<Vec<_>>(), ["2"]);
}

/// Requirements: STDIO-07, CAN-03.
#[test]
fn a_modern_client_is_never_sent_a_request() {
    let mut server = Server::start();
    let declared = META.replace(r#"clientCapabilities":{}"#, r#"clientCapabilities":{"elicitation":{}}"#);
    server.send(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask","_meta":{declared}}}}}"#
    ));
    let answer = server.receive();
    assert_eq!(id_of(&answer), "1");
    assert!(answer.contains(r#""resultType":"input_required""#), "{answer}");
    let answer = server.ask(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"ask","inputResponses":{{"name":{{"action":"accept","content":{{"name":"Dana"}}}}}},"_meta":{declared}}}}}"#
    ));
    assert!(answer.contains("hello Dana"), "{answer}");
}

/// Requirements: LEG-04.
#[test]
fn a_legacy_client_hears_of_changes_without_a_subscription_id() {
    let mut server = Server::start_with(&["400"]);
    let hello =
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
    server.ask(&legacy(1, "initialize", hello));
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for (id, uri) in [(2, "fixture://note"), (3, "fixture://other")] {
        let answer = server.ask(&legacy(id, "resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#)));
        assert!(answer.contains(r#""result":{}"#), "{answer}");
    }
    server.ask(&legacy(4, "resources/unsubscribe", r#"{"uri":"fixture://other"}"#));
    let mut heard = [server.receive(), server.receive()];
    heard.sort();
    assert_eq!(
        heard,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"fixture://note"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ]
    );
    server.end_input();
    let (rest, ..) = server.finish();
    assert!(rest.is_empty(), "{rest:?}");
}
