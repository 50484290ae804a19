//! A service that misbehaves in every way that one can, and what a caller is told.

use std::time::Duration;

use callgate_testkit::service::{Behaviour, Service};
use serde_json::json;

use super::{TICKET_GET, files, served};

const CALL: &str = r#"{"reference":"T-1"}"#;

#[tokio::test]
async fn each_way_to_fail_is_told_apart_without_a_word_of_the_service() {
    let service = Service::start().await;
    let source = "max_response_bytes = 4096\nmax_decoded_bytes = 8192";
    let served = served(&service, source, &TICKET_GET.replace("timeout_ms = 2000", "timeout_ms = 500")).await;
    let canary = r#"{"message":"CANARY"}"#;
    let html = Behaviour::Answer(200, "Content-Type: text/html\r\n".into(), b"<b>CANARY</b>".to_vec());
    let brotli =
        Behaviour::Answer(200, "Content-Type: application/json\r\nContent-Encoding: br\r\n".into(), vec![1]);
    let not_packed = Behaviour::Answer(
        200,
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n".into(),
        b"{\"subject\":\"x\"}".to_vec(),
    );
    let moved = Behaviour::Answer(302, format!("Location: {}/elsewhere\r\n", service.url()), Vec::new());
    let huge = json!({"subject": "x".repeat(8192)}).to_string();
    for (name, behaviour, code, says) in [
        ("hang", Behaviour::Hang, "timeout", "did not"),
        ("hang in body", Behaviour::HangInBody, "timeout", "did not"),
        ("close", Behaviour::Close, "source_unavailable", "broke off"),
        ("reset", Behaviour::Reset, "source_unavailable", "broke off"),
        ("truncate", Behaviour::Truncate, "source_unavailable", "broke off"),
        ("grow", Behaviour::Grow, "output_too_large", "larger"),
        ("huge", Behaviour::json(huge), "output_too_large", "larger"),
        ("bomb", Behaviour::packed(&vec![b' '; 1 << 20]), "output_too_large", "larger"),
        ("brotli", brotli, "output_invalid", "cannot be read"),
        ("not packed", not_packed, "output_invalid", "cannot be read"),
        ("redirect", moved, "tool_failed", "points elsewhere"),
        ("html", html, "output_invalid", "expects"),
        ("no json", Behaviour::json("{\"subject\":"), "output_invalid", "expects"),
        ("empty", Behaviour::json(""), "output_invalid", "expects"),
        ("no content", Behaviour::status(204), "output_invalid", "expects"),
        ("other type", Behaviour::json(r#"{"subject":7}"#), "output_invalid", "/subject"),
        ("missing", Behaviour::json("{}"), "output_invalid", "subject"),
        ("400", Behaviour::failure(400, canary), "tool_failed", "does not accept the request"),
        ("401", Behaviour::failure(401, canary), "source_unavailable", "credential of this server"),
        ("403", Behaviour::failure(403, canary), "tool_failed", "does not permit"),
        ("404", Behaviour::failure(404, canary), "tool_failed", "knows nothing"),
        ("409", Behaviour::failure(409, canary), "tool_failed", "another state"),
        ("418", Behaviour::failure(418, canary), "tool_failed", "failed"),
        ("422", Behaviour::failure(422, canary), "tool_failed", "check the arguments"),
        ("429", Behaviour::failure(429, canary), "rate_limited", "no more requests"),
        ("500", Behaviour::failure(500, canary), "tool_failed", "failed"),
        ("502", Behaviour::failure(502, canary), "source_unavailable", "not available"),
        ("503", Behaviour::failure(503, canary), "source_unavailable", "not available"),
        ("504", Behaviour::failure(504, canary), "timeout", "did not finish"),
        ("599", Behaviour::failure(599, canary), "tool_failed", "failed"),
    ] {
        service.behave("/tickets/T-1", behaviour);
        let text = served.error("ticket_get", CALL).await;
        assert!(text.contains(code) && text.contains(says), "{name}: {text}");
        assert!(!text.contains("CANARY") && !text.contains("127.0.0.1"), "{name}: {text}");
    }
    assert!(
        !service.requests().iter().any(|request| request.contains("elsewhere")),
        "a redirect was followed"
    );
}

#[tokio::test]
async fn a_packed_body_is_unpacked() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::packed(br#"{"subject":"packed"}"#));
    let served = served(&service, "", TICKET_GET).await;
    assert_eq!(served.structured("ticket_get", CALL).await, json!({"subject": "packed"}));
}

#[tokio::test]
async fn a_service_that_is_not_there_was_never_connected_to() {
    let service = Service::start().await;
    let files = files(&service, "", TICKET_GET);
    drop(service);
    let text = files.serve().await.error("ticket_get", CALL).await;
    assert!(text.contains("source_unavailable") && text.contains("cannot be reached"), "{text}");
}

#[tokio::test]
async fn a_service_says_when_to_come_back() {
    let service = Service::start().await;
    let wait = Behaviour::Answer(429, "Retry-After: 17\r\n".into(), Vec::new());
    service.behave("/tickets/T-1", wait);
    let served = served(&service, "", TICKET_GET).await;
    let text = served.error("ticket_get", CALL).await;
    assert!(text.contains("17"), "{text}");
}

#[tokio::test]
async fn a_caller_who_leaves_takes_the_exchange_along() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::Hang);
    let served = served(&service, "", &TICKET_GET.replace("timeout_ms = 2000", "timeout_ms = 60000")).await;
    let call = served.answer("ticket_get", CALL);
    assert!(tokio::time::timeout(Duration::from_millis(300), call).await.is_err());
    assert!(service.is_left(Duration::from_secs(10)).await, "the service still waits for its client");
}

#[tokio::test]
async fn a_connection_that_is_closed_between_two_calls_does_not_fail_the_second() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::CloseAfter(r#"{"subject":"x"}"#.into()));
    let served = served(&service, "", TICKET_GET).await;
    for _ in 0..5 {
        served.structured("ticket_get", CALL).await;
        // The end of the connection is on its way; a client that writes into it would lose the request.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(service.requests().len(), 5);
}

#[tokio::test]
async fn places_for_requests_are_bounded() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::Hang);
    let served =
        served(&service, "concurrency = 1", &TICKET_GET.replace("timeout_ms = 2000", "timeout_ms = 4000"))
            .await;
    let (first, second) = tokio::join!(served.error("ticket_get", CALL), served.error("ticket_get", CALL));
    let mut texts = [first, second];
    texts.sort();
    assert!(texts[0].contains("busy") && texts[1].contains("timeout"), "{texts:?}");
}

#[tokio::test]
async fn a_literal_address_of_version_six_is_reached_when_the_file_names_it() {
    let service = Service::start_at("[::1]:0").await;
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"six"}"#));
    let files = files(&service, "", TICKET_GET);
    let toml = std::fs::read_to_string(files.at("callgate.toml")).unwrap();
    files.write("callgate.toml", &toml.replace("[\"127.0.0.1\"]", "[\"::1\"]"));
    assert_eq!(files.report(), "");
    assert_eq!(files.serve().await.structured("ticket_get", CALL).await, json!({"subject": "six"}));
}

#[tokio::test]
async fn a_name_that_leads_into_this_machine_is_refused_unless_the_file_names_it() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"inside"}"#));
    let files = files(&service, "", TICKET_GET);
    let toml = std::fs::read_to_string(files.at("callgate.toml")).unwrap();
    let port = service.port();
    let named = toml
        .replace(&format!("http://127.0.0.1:{port}"), &format!("http://localhost:{port}"))
        .replace("[\"127.0.0.1\"]", "[\"localhost\"]");
    files.write("callgate.toml", &named);
    assert_eq!(files.serve().await.structured("ticket_get", CALL).await, json!({"subject": "inside"}));
    let outside = named.replace("http://localhost", "https://localhost").replace("[\"localhost\"]", "[]");
    files.write("callgate.toml", &outside);
    let before = service.connections();
    let text = files.serve().await.error("ticket_get", CALL).await;
    assert!(text.contains("source_unavailable") && text.contains("may be reached"), "{text}");
    assert_eq!(service.connections(), before, "it was connected to");
}

#[tokio::test]
async fn a_message_of_the_service_is_shown_only_where_the_file_asks_for_it() {
    let service = Service::start().await;
    let long = "é".repeat(600);
    service.behave("/tickets/T-1", Behaviour::failure(422, json!({"error": {"text": long}}).to_string()));
    let tool = TICKET_GET.replace("request = {", "response = { error = \"/error/text\" }\nrequest = {");
    let served = served(&service, "", &tool).await;
    let text = served.error("ticket_get", CALL).await;
    assert!(text.contains(&format!("The service says: {} (cut)", "é".repeat(500))), "{text}");
}
