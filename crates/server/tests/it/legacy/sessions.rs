//! `Mcp-Session-Id` over HTTP.

use std::time::Duration;

use callgate_server::{HttpOptions, LegacyLimits};
use reqwest::header::HeaderValue;

use super::client::{Http, hello};
use crate::stdio::child::{code_of, id_of, legacy, parse};

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
async fn the_version_header_must_name_the_revision_of_the_session_once() {
    let http = Http::open("2025-06-18", HttpOptions::default()).await;
    let with = |versions: &'static [&'static str]| {
        let mut headers = http.headers();
        for version in versions {
            headers.append("mcp-protocol-version", HeaderValue::from_static(version));
        }
        http.post_with(PING, headers)
    };
    // Without the header the session says which revision is spoken.
    for versions in [&[][..], &["2025-06-18"], &[" 2025-06-18 "]] {
        assert_eq!(with(versions).await.status().as_u16(), 200, "{versions:?}");
    }
    let wrong: [&[&str]; 6] = [
        &["2025-11-25"],
        &["2025-03-26"],
        &["2024-11-05"],
        &["x"],
        &["2025-06-18", "2025-06-18"],
        &["2025-06-18", "2025-11-25"],
    ];
    for versions in wrong {
        let response = with(versions).await;
        assert_eq!(response.status().as_u16(), 400, "{versions:?}");
        let answer = response.text().await.unwrap();
        assert_eq!(code_of(&answer), Some(-32600), "{answer}");
    }
}

/// Requirements: BASE-12.
#[tokio::test]
async fn a_refused_request_hears_its_id() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    let held = http.headers();
    let unknown = HeaderValue::from_static("00000000000000000000000000000000");
    let with = |name: &'static str, value: HeaderValue| {
        let mut headers = held.clone();
        headers.append(name, value);
        headers
    };
    let mut ended = held.clone();
    ended.insert("mcp-session-id", unknown.clone());
    for (headers, status) in [
        (ended, 404),
        (with("mcp-protocol-version", HeaderValue::from_static("2025-06-18")), 400),
        (with("mcp-protocol-version", HeaderValue::from_static("x")), 400),
        (with("mcp-session-id", unknown), 400),
        (with("accept", HeaderValue::from_static("application/json")), 406),
    ] {
        let response = http.post_with(&legacy(77, "ping", "{}"), headers).await;
        assert_eq!(response.status().as_u16(), status);
        let answer = response.text().await.unwrap();
        assert_eq!((id_of(&answer).as_str(), code_of(&answer)), ("77", Some(-32600)), "{answer}");
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let headers = with("mcp-protocol-version", HeaderValue::from_static("x"));
    let answer = http.post_with(notification, headers).await.text().await.unwrap();
    assert!(parse(&answer).root().get("id").is_none(), "{answer}");
}

#[tokio::test]
async fn sessions_are_bounded_in_number_and_ended_ones_make_room() {
    let mut http = Http::start(options(|limits| limits.sessions = 3)).await;
    for _ in 0..3 {
        http.initialize("2025-11-25").await;
        assert_eq!(http.ask(PING).await.0, 200);
    }
    let held = http.session.take();
    let response = http.post(&legacy(9, "initialize", &hello("2025-11-25", "{}"))).await;
    assert_eq!(response.status().as_u16(), 503);
    let wait: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    // As long as the first session may still be idle, less what the test has taken.
    assert!((1..=1800).contains(&wait) && wait > 1700, "{wait}");
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
async fn whoever_only_sends_initialize_keeps_nobody_out() {
    let mut http = Http::start(options(|limits| limits.sessions = 3)).await;
    http.initialize("2025-11-25").await;
    assert_eq!(http.ask(PING).await.0, 200);
    let used = http.session.clone();
    let first = http.initialize("2025-11-25").await;
    for _ in 0..10 {
        http.initialize("2025-11-25").await;
    }
    assert_eq!(http.ask(PING).await.0, 200);
    for (session, status) in [(used, 200), (Some(first), 404)] {
        http.session = session;
        assert_eq!(http.ask(PING).await.0, status);
    }
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
        ("text/*;q=0.5, */*;q=0.1, application/*;q=1.0", 200),
        ("*/*;q=0, application/json, text/event-stream", 200),
        ("application/json", 406),
        ("text/event-stream", 406),
        ("*/*;q=0", 406),
        ("application/json, text/event-stream;q=0", 406),
        ("application/json; q=0.000, text/event-stream", 406),
        ("*/*, text/event-stream;q=0", 406),
    ] {
        assert_eq!(http.ask_accepting(accept, PING).await, status, "{accept}");
    }
}
