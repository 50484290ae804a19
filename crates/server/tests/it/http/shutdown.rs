//! The graceful end.

use std::time::Duration;

use super::fixture::Fixture;
use super::wire::{Call, Connection, events};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Requirements: SUB-06.
#[tokio::test]
async fn the_end_answers_accepted_requests_and_closes_subscriptions_with_their_result() {
    let fixture = Fixture::new().await;
    let mut waiting = Connection::open(fixture.address).await;
    let mut streaming = Connection::open(fixture.address).await;
    let mut subscribed = Connection::open(fixture.address).await;
    let mut idle = Connection::open(fixture.address).await;
    waiting.write(&Call::tool("wait", r#"{"ms":300}"#).bytes()).await;
    streaming.write(&Call::listening_tool("say_and_wait", r#"{"ms":300}"#).bytes()).await;
    idle.write(&Call::tool("echo", r#"{"text":"hi"}"#).bytes()).await;
    assert_eq!(idle.answer().await.status, 200);
    let listen = Call::modern("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    subscribed.write(&listen.with("\"id\":1", "\"id\":\"s\"").bytes()).await;
    subscribed.head().await;
    subscribed.chunk().await.unwrap();
    fixture.seen.reach(|seen| seen.started(), 3).await;

    fixture.shutdown.begin();
    let closing = events(&String::from_utf8(subscribed.chunk().await.unwrap()).unwrap());
    assert_eq!(closing[0]["id"], "s");
    assert_eq!(closing[0]["result"]["resultType"], "complete");
    assert_eq!(closing[0]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert_eq!(subscribed.chunk().await, None, "the stream ends whole");
    assert!(subscribed.is_closed().await && idle.is_closed().await);
    let answer = waiting.answer().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("300"), "{answer:?}");
    assert!(waiting.is_closed().await);
    let events = streaming.answer().await.events();
    assert_eq!(events.last().unwrap()["result"]["structuredContent"], 300);
    let address = fixture.address;
    fixture.end().await;
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn what_does_not_end_within_the_bound_is_answered_with_an_error_and_cancelled() {
    let fixture = Fixture::with(|options| options.limits.shutdown_grace = Duration::from_millis(100)).await;
    let mut waiting = Connection::open(fixture.address).await;
    let mut streaming = Connection::open(fixture.address).await;
    waiting.write(&Call::tool("wait", r#"{"ms":600000}"#).bytes()).await;
    streaming.write(&Call::listening_tool("say_and_wait", r#"{"ms":600000}"#).bytes()).await;
    fixture.seen.reach(|seen| seen.started(), 2).await;
    fixture.shutdown.begin();
    let answer = waiting.answer().await;
    insta::assert_snapshot!("overtaken_by_the_end", answer.show());
    let events = streaming.answer().await.events();
    assert_eq!(events.last().unwrap()["error"]["code"], -32603);
    assert_eq!(events.last().unwrap()["id"], 1);
    let seen = std::sync::Arc::clone(&fixture.seen);
    fixture.end().await;
    assert_eq!(seen.cancelled(), 2);
}

#[tokio::test]
async fn a_second_pull_ends_the_waiting_at_once() {
    let fixture = Fixture::with(|options| options.limits.shutdown_grace = Duration::from_secs(600)).await;
    let mut waiting = Connection::open(fixture.address).await;
    waiting.write(&Call::tool("wait", r#"{"ms":600000}"#).bytes()).await;
    fixture.seen.reach(|seen| seen.started(), 1).await;
    fixture.shutdown.begin();
    fixture.shutdown.force();
    assert_eq!(waiting.answer().await.status, 503);
    fixture.end().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_cannot_hold_up_the_end() {
    let fixture = Fixture::with(|options| {
        options.limits.shutdown_grace = Duration::from_millis(50);
        options.limits.linger = Duration::from_millis(50);
    })
    .await;
    let mut deaf = Connection::open(fixture.address).await;
    deaf.write(&Call::listening_tool("chatter", "{}").bytes()).await;
    fixture.seen.reach(|seen| seen.started(), 1).await;
    // Until the buffers of both sides are full.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let seen = std::sync::Arc::clone(&fixture.seen);
    timeout(Duration::from_secs(10), fixture.end()).await.expect("the end is held up");
    assert_eq!(seen.cancelled(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_pulls_the_handle_and_a_second_one_ends_the_waiting() {
    let signalled = callgate_server::Shutdown::on_signal().unwrap();
    let fixture = Fixture::new().await;
    let mut waiting = Connection::open(fixture.address).await;
    waiting.write(&Call::tool("wait", r#"{"ms":200}"#).bytes()).await;
    fixture.seen.reach(|seen| seen.started(), 1).await;
    let terminate = || {
        let pid = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    };
    assert!(!signalled.is_begun());
    terminate();
    timeout(Duration::from_secs(5), signalled.begun()).await.expect("the signal is not heard");
    // What was accepted is answered although the process was told to end.
    fixture.shutdown.begin();
    assert_eq!(waiting.answer().await.status, 200);
    fixture.end().await;
}
