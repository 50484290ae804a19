//! Streams over HTTP: what belongs to no request, and what a client comes back for.

use std::time::Duration;

use callgate_server::HttpOptions;

use super::client::{Events, Http};
use super::server;
use crate::stdio::child::legacy;

/// Requirements: LEG-06.
#[tokio::test]
async fn a_client_comes_back_for_the_answer_of_a_stream_that_closed() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    let request = legacy(1, "tools/call", r#"{"name":"reconnect"}"#);
    let mut events = Events::of(http.post(&request).await);
    let first = events.next().await.unwrap();
    assert_eq!((&*first.data, &*first.retry), ("", "500"));
    assert_eq!(events.next().await, None);
    let mut resumed = Events::of(http.get(Some(&first.id)).await);
    let answer = resumed.next().await.unwrap();
    assert!(answer.data.contains("after the stream closed"), "{answer:?}");
    assert_ne!(answer.id, first.id);
    assert_eq!(resumed.next().await, None);
    // Whoever lost the answer on the way gets it again, whoever has it does not.
    let mut again = Events::of(http.get(Some(&first.id)).await);
    assert_eq!(again.next().await, Some(answer.clone()));
    let mut none = Events::of(http.get(Some(&answer.id)).await);
    assert_eq!(none.next().await, None);
}

/// The revisions before cannot know that an early end means to come back.
#[tokio::test]
async fn a_stream_of_an_older_revision_stays_open_until_its_answer() {
    for version in ["2025-03-26", "2025-06-18"] {
        let http = Http::open(version, HttpOptions::default()).await;
        let (status, answer) = http.ask(&legacy(1, "tools/call", r#"{"name":"reconnect"}"#)).await;
        assert_eq!(status, 200);
        assert!(answer.contains("after the stream closed"), "{answer}");
    }
}

/// Disconnection is not cancellation in these revisions: the call goes on, and its result can be fetched.
#[tokio::test]
async fn a_broken_stream_can_be_resumed_from_the_last_event_seen() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    let request = legacy(1, "tools/call", r#"{"name":"report","_meta":{"progressToken":1}}"#);
    let mut events = Events::of(http.post(&request).await);
    events.next().await.unwrap();
    let seen = events.next().await.unwrap();
    drop(events);
    let mut resumed = Events::of(http.get(Some(&seen.id)).await);
    let mut ids = vec![seen.id];
    let mut last = None;
    while let Some(event) = resumed.next().await {
        ids.push(event.id.clone());
        last = Some(event);
    }
    assert!(last.unwrap().data.contains("reported"));
    let unique: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
    // Three times progress, five log messages, one answer.
    assert_eq!(ids.len(), 9);
}

#[tokio::test]
async fn an_event_that_is_not_kept_is_refused_and_a_stream_needs_its_accept_header() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    for event in ["77-1", "x", "", "1-", "99999999999999999999-1"] {
        assert_eq!(http.get(Some(event)).await.status().as_u16(), 400, "{event}");
    }
}

#[tokio::test]
async fn changes_are_told_on_the_stream_that_belongs_to_no_request() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let http = Http::open(version, HttpOptions::default()).await;
        let mut events = Events::of(http.get(None).await);
        if version == "2025-11-25" {
            assert_eq!(events.next().await.unwrap().data, "");
        }
        server::change(&http.handle);
        let event = events.next().await.unwrap();
        let expected = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        assert_eq!(event.data, expected, "{version}");
        // The resource changed as well, but nobody asked to hear of it. Now somebody does, on the same stream.
        let subscribe = legacy(1, "resources/subscribe", r#"{"uri":"fixture://note"}"#);
        assert_eq!(http.ask(&subscribe).await.0, 200);
        // The stream takes up the subscription by itself; it is told until it has.
        let notice = async {
            loop {
                http.handle.notify_resource_updated("fixture://note");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let event = tokio::select! {
            event = events.next() => event.unwrap(),
            () = notice => unreachable!("it never ends"),
        };
        let expected = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"fixture://note"}}"#;
        assert_eq!(event.data, expected, "{version}");
    }
}

#[tokio::test]
async fn a_second_stream_takes_the_place_of_the_first() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    let mut first = Events::of(http.get(None).await);
    first.next().await.unwrap();
    let mut second = Events::of(http.get(None).await);
    second.next().await.unwrap();
    assert_eq!(first.next().await, None);
    server::change(&http.handle);
    assert!(second.next().await.unwrap().data.contains("list_changed"));
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let http = Http::open("2025-11-25", HttpOptions::default()).await;
    let mut events = Events::of(http.get(None).await);
    events.next().await.unwrap();
    let request = legacy(1, "tools/call", r#"{"name":"wait","arguments":{"milliseconds":200}}"#);
    let (answer, ()) = tokio::join!(http.ask(&request), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        http.shutdown.begin();
    });
    assert!(answer.1.contains("waited"), "{}", answer.1);
    assert_eq!(events.next().await, None);
}
