//! Tools that change something over HTTP: what each end of an exchange leaves in the ledger, and what a repeated call
//! does then.

use std::time::Duration;

use callgate_testkit::service::{Behaviour, Service};
use serde_json::{Value, json};

use super::files;
use crate::served::{Files, Served};

const CREATE: &str = r#"
[store]
kind = "sqlite"
path = "store.db"

[policy]
files = ["all.cedar"]

[tool.ticket_create]
description = "Creates a support ticket for the caller's company. It does not close or change other tickets. Returns its reference."
effect = "append"
source = "crm"
timeout_ms = 1000
idempotency = { key = "request" }
unknown = "person"
confirm = ["subject"]

[tool.ticket_create.request]
method = "POST"
path = "/tickets"
idempotency_header = "Idempotency-Key"
body = { subject = "{subject}", company = "{tenant}" }

[tool.ticket_create.input]
subject = { type = "string", description = "What it is about", maxLength = 100, required = true }

[tool.ticket_create.output]
reference = { type = "string", description = "The reference of the new ticket", required = true }
"#;

/// A file with the tool, and a policy that lets everybody call it.
fn with(service: &Service, tool: &str) -> Files {
    let files = files(service, "", tool);
    files.write("all.cedar", "permit(principal, action, resource);\n");
    files
}

async fn create(served: &Served, key: &str, subject: &str) -> Value {
    let meta = json!({"dev.callgate/idempotencyKey": key});
    let mut answer = served.call_with("ticket_create", json!({"subject": subject}), meta, &[]).await;
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].take()
}

fn effect(result: &Value) -> &str {
    result["_meta"]["dev.callgate/receipt"]["effect"].as_str().unwrap_or_default()
}

/// The keys that the service got, in order.
fn keys(service: &Service) -> Vec<String> {
    let requests = service.requests();
    let lines = requests.iter().flat_map(|request| request.lines());
    lines.filter_map(|line| line.strip_prefix("idempotency-key: ")).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_is_done_once_and_gets_the_same_answer() {
    let service = Service::start().await;
    service.behave("/tickets", Behaviour::failure(201, r#"{"reference":"T-7"}"#));
    let files = with(&service, CREATE);
    let served = files.serve_with_store().await;
    assert_eq!(files.report(), "");
    let first = create(&served, "k-1", "Printer").await;
    assert_eq!((effect(&first), &first["structuredContent"]), ("committed", &json!({"reference": "T-7"})));
    service.behave("/tickets", Behaviour::failure(201, r#"{"reference":"T-8"}"#));
    let second = create(&served, "k-1", "Printer").await;
    assert_eq!((effect(&second), &second["structuredContent"]), ("committed", &json!({"reference": "T-7"})));
    let receipt = |result: &Value, member: &str| result["_meta"]["dev.callgate/receipt"][member].clone();
    assert_eq!(receipt(&second, "firstCall"), receipt(&first, "call"), "{second}");
    let other = create(&served, "k-1", "Scanner").await;
    assert!(other.to_string().contains("idempotency_conflict"), "{other}");
    let sent = keys(&service);
    assert_eq!((sent.len(), sent[0].starts_with("sha256:")), (1, true), "{sent:?}");
    assert!(!sent[0].contains("k-1"), "the key of the caller is not its own business");
    create(&served, "k-2", "Printer").await;
    assert_ne!(keys(&service)[1], sent[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_of_an_exchange_leaves_what_it_proves() {
    let html = Behaviour::Answer(201, "Content-Type: text/html\r\n".into(), b"<b>done</b>".to_vec());
    let moved = |status| Behaviour::Answer(status, "Location: /elsewhere\r\n".into(), Vec::new());
    let cases = [
        ("201", Behaviour::failure(201, r#"{"reference":"T-7"}"#), "committed"),
        ("201 that is no JSON", html, "committed"),
        ("201 with another body", Behaviour::failure(201, r#"{"reference":7}"#), "committed"),
        ("201 that is empty", Behaviour::status(201), "committed"),
        ("truncate", Behaviour::Truncate, "unknown"),
        ("hang", Behaviour::Hang, "unknown"),
        ("hang in body", Behaviour::HangInBody, "unknown"),
        ("close", Behaviour::Close, "unknown"),
        ("reset", Behaviour::Reset, "unknown"),
        ("grow", Behaviour::Grow, "unknown"),
        ("bomb", Behaviour::packed(&vec![b' '; 16 << 20]), "unknown"),
        ("303", moved(303), "unknown"),
        ("307", moved(307), "failed"),
        ("400", Behaviour::status(400), "failed"),
        ("401", Behaviour::status(401), "failed"),
        ("403", Behaviour::status(403), "failed"),
        ("404", Behaviour::status(404), "failed"),
        ("408", Behaviour::status(408), "unknown"),
        ("409", Behaviour::status(409), "unknown"),
        ("422", Behaviour::failure(422, r#"{"error":"no"}"#), "failed"),
        ("429", Behaviour::status(429), "failed"),
        ("500", Behaviour::status(500), "unknown"),
        ("502", Behaviour::status(502), "unknown"),
        ("503", Behaviour::status(503), "unknown"),
        ("504", Behaviour::status(504), "unknown"),
    ];
    let service = Service::start().await;
    let files = with(&service, CREATE);
    let served = files.serve_with_store().await;
    for (name, behaviour, expected) in cases {
        service.behave("/tickets", behaviour);
        let before = service.requests().len();
        let first = create(&served, name, "Printer").await;
        assert_eq!(effect(&first), expected, "{name}: {first}");
        assert_eq!(first["isError"].as_bool().unwrap_or_default(), name != "201", "{name}: {first}");
        assert_eq!(service.requests().len(), before + 1, "{name}: it was sent more than once");
        service.behave("/tickets", Behaviour::failure(201, r#"{"reference":"T-9"}"#));
        let again = create(&served, name, "Printer").await;
        // Only what is proven not to have happened is done when it is asked for again.
        let (sent, code) = match expected {
            "failed" => (2, "T-9"),
            "unknown" => (1, "outcome_unknown"),
            _ if name == "201" => (1, "T-7"),
            _ => (1, "result_not_kept"),
        };
        assert_eq!(service.requests().len(), before + sent, "{name}: {again}");
        assert!(again.to_string().contains(code), "{name}: {again}");
        let keys = keys(&service);
        if expected == "failed" {
            assert_eq!(keys[keys.len() - 1], keys[keys.len() - 2], "{name}: a try has another key");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_there_proves_that_nothing_was_done() {
    let service = Service::start().await;
    let files = with(&service, CREATE);
    drop(service);
    let served = files.serve_with_store().await;
    for _ in 0..2 {
        let result = create(&served, "k", "Printer").await;
        assert_eq!(effect(&result), "failed", "{result}");
        assert!(result.to_string().contains("source_unavailable"), "{result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_leaves_leaves_an_unknown_outcome() {
    let service = Service::start().await;
    service.behave("/tickets", Behaviour::Hang);
    let files = with(&service, &CREATE.replace("timeout_ms = 1000", "timeout_ms = 60000"));
    let served = files.serve_with_store().await;
    let call = create(&served, "k", "Printer");
    assert!(tokio::time::timeout(Duration::from_millis(300), call).await.is_err());
    assert!(service.is_left(Duration::from_secs(10)).await, "the service still waits for its client");
    service.behave("/tickets", Behaviour::failure(201, r#"{"reference":"T-7"}"#));
    let again = create(&served, "k", "Printer").await;
    assert!(again.to_string().contains("outcome_unknown"), "{again}");
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_can_define_its_statuses_and_say_why() {
    let service = Service::start().await;
    let response = "response = { refused = [409], unknown = [400], success = [201], error = \"/error\" }\n";
    let tool = CREATE.replace("unknown = \"person\"\n", &format!("unknown = \"person\"\n{response}"));
    let files = with(&service, &tool);
    let served = files.serve_with_store().await;
    for (status, expected, says) in [
        (409, "failed", "The service says: twice"),
        (400, "unknown", "outcome_unknown"),
        (202, "unknown", "outcome_unknown"),
        (422, "failed", "The service says: twice"),
    ] {
        service.behave("/tickets", Behaviour::failure(status, r#"{"error":"twice"}"#));
        let result = create(&served, &status.to_string(), "Printer").await;
        assert_eq!(effect(&result), expected, "{status}: {result}");
        assert!(result.to_string().contains(says), "{status}: {result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_keeps_the_key_is_asked_what_became_of_a_lost_call() {
    let service = Service::start().await;
    let reconcile = "reconcile = { path = \"/keys\", query = { key = \"{key}\", company = \"{tenant}\" }, absent = [404] }\n";
    let tool = CREATE.replace("unknown = \"person\"\n", &format!("unknown = \"backend\"\n{reconcile}"));
    let files = with(&service, &tool);
    let served = files.serve_with_store().await;
    assert_eq!(files.report(), "");
    for (status, sent, code) in [(500, 1, "outcome_unknown"), (200, 1, "result_not_kept"), (404, 2, "T-9")] {
        let key = status.to_string();
        service.behave("/tickets", Behaviour::Close);
        let before = service.requests().len();
        assert_eq!(effect(&create(&served, &key, "Printer").await), "unknown");
        service.behave("/tickets", Behaviour::failure(201, r#"{"reference":"T-9"}"#));
        service.behave("/keys", Behaviour::status(status));
        let again = create(&served, &key, "Printer").await;
        assert!(again.to_string().contains(code), "{status}: {again}");
        let requests = service.requests();
        let posts = requests[before..].iter().filter(|request| request.starts_with("POST "));
        assert_eq!(posts.count(), sent, "{status}");
        let own = keys(&service).pop().unwrap().replace(':', "%3A");
        let asked = format!("GET /keys?key={own}&company=tenant-a HTTP/1.1");
        assert!(requests[before..].iter().any(|request| request.starts_with(&asked)), "{status}: {asked}");
    }
}

#[test]
fn what_a_changing_tool_does_not_say_is_an_error_that_says_why() {
    let files = Files::new(include_str!("../../files/bad_effects.toml"));
    insta::assert_snapshot!("bad_effects", files.report());
}
