//! `Mcp-Session-Id` over HTTP.

use std::time::Duration;

use callgate_server::{HttpOptions, LegacyLimits};
use reqwest::header::{HeaderMap, HeaderValue};

use super::client::{Http, hello};
use crate::stdio::child::{code_of, legacy, parse};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn options(change: impl FnOnce(&mut LegacyLimits)) -> HttpOptions {
    let mut options = HttpOptions::default();
    change(&mut options.legacy_limits);
    options
}

/// Requirements: LEG-01.
#[tokio::test]
async fn session_ids_are_visible_ascii_and_never_the_same() {
    let mut http = Http::start(HttpOptions::default()).await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        let id = http.initialize("2025-11-25").await;
        assert_eq!(id.len(), 32);
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        ids.push(id);
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 50);
    http.accept(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
}

/// Requirements: LEG-02.
#[tokio::test]
async fn a_deleted_session_is_gone() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    assert_eq!(http.ask(PING).await.0, 200);
    let wait = legacy(5, "tools/call", r#"{"name":"wait","arguments":{"milliseconds":30000}}"#);
    let (response, status) = tokio::join!(http.post(&wait), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        http.delete().await
    });
    assert_eq!(status, 204);
    // What was running has ended without an answer.
    assert_eq!(response.text().await.unwrap(), "");
    let (status, answer) = http.ask(PING).await;
    assert_eq!((status, code_of(&answer)), (404, Some(-32600)), "{answer}");
    assert_eq!(http.get(None).await.status().as_u16(), 404);
    assert_eq!(http.delete().await, 404);
}

#[tokio::test]
async fn a_request_without_a_session_or_with_a_wrong_one_is_refused() {
    let mut http = Http::open("2025-11-25", HttpOptions::default()).await;
    let session = http.session.take();
    for request in [legacy(1, "tools/list", "{}"), legacy(1, "resources/subscribe", "{}")] {
        let (status, answer) = http.ask(&request).await;
        assert_eq!(status, 400, "{answer}");
        assert!(code_of(&answer).is_some(), "{answer}");
    }
    http.session = Some("0".repeat(32));
    assert_eq!(http.ask(PING).await.0, 404);
    http.session = session;
    assert_eq!(http.ask(PING).await.0, 200);
}

#[tokio::test]
async fn the_version_header_must_name_a_revision_that_is_served() {
    let http = Http::open("2025-06-18", HttpOptions::default()).await;
    let with = |version: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-session-id", HeaderValue::from_str(http.session.as_ref().unwrap()).unwrap());
        headers.insert("mcp-protocol-version", HeaderValue::from_static(version));
        http.post_with(PING, headers)
    };
    for (version, status) in [("2025-06-18", 200), ("2025-11-25", 200), ("2024-11-05", 400), ("x", 400)] {
        assert_eq!(with(version).await.status().as_u16(), status, "{version}");
    }
    // Without the header the session says which revision is spoken.
    assert_eq!(http.ask(PING).await.0, 200);
}

#[tokio::test]
async fn sessions_are_bounded_in_number_and_ended_ones_make_room() {
    let mut http = Http::start(options(|limits| limits.sessions = 3)).await;
    for _ in 0..3 {
        http.initialize("2025-11-25").await;
    }
    let held = http.session.take();
    let response = http.post(&legacy(9, "initialize", &hello("2025-11-25", "{}"))).await;
    assert_eq!(response.status().as_u16(), 503);
    assert!(response.headers().contains_key("retry-after"));
    assert!(!response.headers().contains_key("mcp-session-id"));
    let answer = response.text().await.unwrap();
    assert_eq!(code_of(&answer), Some(-32603), "{answer}");
    assert!(parse(&answer).root().get("id").is_some(), "{answer}");
    // The sessions that are there are served, and one that ends makes room.
    http.session = held;
    assert_eq!(http.ask(PING).await.0, 200);
    assert_eq!(http.delete().await, 204);
    http.initialize("2025-11-25").await;
}

#[tokio::test]
async fn an_idle_session_ends_and_makes_room() {
    let limits = |limits: &mut LegacyLimits| {
        limits.sessions = 1;
        limits.idle = Duration::from_millis(50);
    };
    let mut http = Http::start(options(limits)).await;
    http.initialize("2025-11-25").await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(http.ask(PING).await.0, 404);
    http.initialize("2025-11-25").await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    http.initialize("2025-11-25").await;
    // A session whose stream somebody reads is not idle.
    let stream = http.get(None).await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(http.ask(PING).await.0, 200);
    drop(stream);
}

#[tokio::test]
async fn two_requests_in_flight_with_one_id_are_both_answered() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    let slow = legacy(1, "tools/call", r#"{"name":"wait","arguments":{"milliseconds":300}}"#);
    let (first, second) = tokio::join!(http.ask(&slow), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        http.ask(PING).await
    });
    assert_eq!(code_of(&first.1), None, "{}", first.1);
    assert_eq!(code_of(&second.1), Some(-32600), "{}", second.1);
}

#[tokio::test]
async fn requests_in_flight_are_bounded() {
    let http = Http::open("2025-11-25", options(|limits| limits.requests = 2)).await;
    let slow = |id| {
        let request = legacy(id, "tools/call", r#"{"name":"wait","arguments":{"milliseconds":300}}"#);
        let http = &http;
        async move { code_of(&http.ask(&request).await.1) }
    };
    let third = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        slow(3).await
    };
    assert_eq!(tokio::join!(slow(1), slow(2), third), (None, None, Some(-32603)));
    assert_eq!(slow(4).await, None);
}

#[tokio::test]
async fn a_client_must_accept_both_forms_of_an_answer() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    for (accept, status) in [
        ("application/json, text/event-stream", 200),
        ("text/event-stream;q=0.5, application/json", 200),
        ("*/*", 200),
        ("application/*, text/*", 200),
        ("application/json", 406),
        ("text/event-stream", 406),
    ] {
        assert_eq!(http.ask_accepting(accept, PING).await, status, "{accept}");
    }
}
