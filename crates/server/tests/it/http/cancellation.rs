//! A client that goes away takes its request along.

use std::time::Duration;

use super::fixture::Fixture;
use super::wire::{Call, Connection};
use tokio::time::sleep;

/// Requirements: HTTP-22, HTTP-24, CAN-04.
#[tokio::test]
async fn a_client_that_vanishes_while_a_json_answer_is_pending_cancels_its_call() {
    let fixture = Fixture::new().await;
    for round in 1..=10 {
        let mut connection = Connection::open(fixture.address).await;
        connection.write(&Call::tool("wait", r#"{"ms":600000}"#).bytes()).await;
        fixture.seen.reach(|seen| seen.started(), round).await;
        drop(connection);
        fixture.seen.reach(|seen| seen.cancelled(), round).await;
    }
    assert_eq!(fixture.seen.finished(), 0);
    fixture.end().await;
}

/// Requirements: HTTP-22, HTTP-24, CAN-04.
#[tokio::test]
async fn a_client_that_closes_a_stream_cancels_its_call() {
    let fixture = Fixture::new().await;
    for round in 1..=10 {
        let mut connection = Connection::open(fixture.address).await;
        connection.write(&Call::listening_tool("say_and_wait", r#"{"ms":600000}"#).bytes()).await;
        connection.head().await;
        connection.chunk().await.unwrap();
        drop(connection);
        fixture.seen.reach(|seen| seen.cancelled(), round).await;
    }
    fixture.end().await;
}

/// Requirements: CAN-12, CAN-04.
#[tokio::test]
async fn a_thousand_races_between_cancel_and_finish_leave_the_server_well() {
    let fixture = Fixture::new().await;
    let race = |round: u64| {
        let (address, listening) = (fixture.address, round.is_multiple_of(2));
        async move {
            let arguments = r#"{"ms":5}"#;
            let call = if listening {
                Call::listening_tool("say_and_wait", arguments)
            } else {
                Call::tool("wait", arguments)
            };
            let mut connection = Connection::open(address).await;
            connection.write(&call.bytes()).await;
            sleep(Duration::from_micros(round * 10)).await;
        }
    };
    for batch in 0..10 {
        futures_util::future::join_all((0..100).map(|at| race(batch * 100 + at))).await;
    }
    let ended = |seen: &super::fixture::Seen| seen.finished() + seen.cancelled();
    // A connection that was closed before its request was read never started anything.
    let answer = Call::tool("echo", r#"{"text":"hi"}"#).send(fixture.address).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let started = fixture.seen.started();
    fixture.seen.reach(ended, started).await;
    assert!(fixture.seen.cancelled() > 0 && fixture.seen.finished() > 0, "{:?}", fixture.seen);
    fixture.end().await;
}

/// Requirements: CAN-03.
#[tokio::test]
async fn a_cancellation_by_notification_is_taken_and_stops_nothing() {
    let fixture = Fixture::new().await;
    let mut connection = Connection::open(fixture.address).await;
    connection.write(&Call::tool("wait", r#"{"ms":200}"#).bytes()).await;
    fixture.seen.reach(|seen| seen.started(), 1).await;
    // Another client's request may have the same id: over HTTP the id alone names nobody.
    let cancel =
        Call::raw(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
            .header("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(cancel.send(fixture.address).await.status, 202);
    let answer = connection.answer().await;
    assert_eq!(answer.status, 200);
    assert!(!answer.body.contains("notifications/cancelled"));
    assert_eq!((fixture.seen.finished(), fixture.seen.cancelled()), (1, 0));
    fixture.end().await;
}
