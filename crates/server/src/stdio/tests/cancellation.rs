//! Cancellation, and the races between it and the end of a call.

use std::time::Duration;

use super::conversation::{Conversation, call, cancel, code, id, waiting};
use crate::stdio::StdioLimits;

/// Requirements: STDIO-11, CAN-03, CAN-12.
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_dropped_and_nothing_is_sent_for_it() {
    let mut client = Conversation::start(StdioLimits::default());
    let request = waiting("1", 1000).replace(r#""_meta":{"#, r#""_meta":{"progressToken":1,"#);
    client.send(&request).await;
    client.send(&call("2", "echo", r#"{"text":"x"}"#)).await;
    assert_eq!(id(&client.receive().await), "2");
    client.send(&cancel("1")).await;
    client.send(&call("3", "echo", r#"{"text":"x"}"#)).await;
    assert_eq!(id(&client.receive().await), "3");
    assert_eq!(client.seen.counts(), [1, 0, 1]);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(client.end().await.is_empty());
}

/// The id is free again, and the end of the first call does not touch the second.
#[tokio::test(start_paused = true)]
async fn an_id_can_be_used_again_after_its_call_was_cancelled() {
    let mut client = Conversation::start(StdioLimits::default());
    client.send(&waiting("1", 1000)).await;
    client.send(&cancel("1")).await;
    client.send(&waiting("1", 1000)).await;
    client.send(&cancel("1.0")).await;
    client.send(&waiting("1e0", 1000)).await;
    let answer = client.receive().await;
    assert_eq!((id(&answer), code(&answer)), ("1e0", None));
    assert_eq!(client.seen.counts(), [3, 1, 2]);
    assert!(client.end().await.is_empty());
}

/// Requirements: CAN-12.
#[tokio::test(start_paused = true)]
async fn cancellations_that_name_nothing_are_ignored() {
    let mut client = Conversation::start(StdioLimits::default());
    client.send(&waiting("1", 100)).await;
    for id in ["2", "\"1\"", "null", "[1]", "{}", "true", "1.5"] {
        client.send(&cancel(id)).await;
    }
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#).await;
    assert_eq!(id(&client.receive().await), "1");
    // It has ended.
    client.send(&cancel("1")).await;
    client.send(&call("9", "echo", r#"{"text":"x"}"#)).await;
    assert_eq!(id(&client.receive().await), "9");
    assert!(client.end().await.is_empty());
}

/// A call of five milliseconds is cancelled after zero to ten, a thousand times, all at once.
///
/// Requirements: CAN-12, STDIO-11.
#[tokio::test(start_paused = true)]
async fn a_thousand_races_between_cancel_and_finish_leave_at_most_one_answer_each() {
    const RACES: usize = 1000;
    let mut client = Conversation::start(StdioLimits { calls: RACES, ..StdioLimits::default() });
    for race in 0..RACES {
        client.send(&waiting(&race.to_string(), 5)).await;
    }
    for millisecond in 0..=10 {
        for race in (0..RACES).filter(|race| race % 11 == millisecond) {
            client.send(&cancel(&race.to_string())).await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let seen = std::sync::Arc::clone(&client.seen);
    let mut answered: Vec<usize> =
        client.end().await.iter().map(|message| id(message).parse().unwrap()).collect();
    let count = answered.len();
    answered.sort_unstable();
    answered.dedup();
    assert_eq!(answered.len(), count, "an id was answered twice");
    // Those that were cancelled well before their end have no answer, those well after have one.
    assert!(answered.iter().all(|race| race % 11 >= 3), "a cancelled call was answered");
    assert!((0..RACES).filter(|race| race % 11 >= 8).all(|race| answered.binary_search(&race).is_ok()));
    let [started, finished, dropped] = seen.counts();
    assert_eq!((started, finished + dropped), (RACES, RACES));
    assert!(finished >= count, "{finished} {count}");
}

/// One after the other, with the end of the call and the cancellation in the same moment.
///
/// Requirements: CAN-12.
#[tokio::test(start_paused = true)]
async fn a_cancellation_in_the_moment_of_the_end_never_ends_the_server() {
    let mut client = Conversation::start(StdioLimits::default());
    for round in 0..200 {
        client.send(&waiting(&round.to_string(), 5)).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        client.send(&cancel(&round.to_string())).await;
        client.send(&call("\"after\"", "echo", r#"{"text":"x"}"#)).await;
        let mut message = client.receive().await;
        if id(&message) == round.to_string() {
            message = client.receive().await;
        }
        assert_eq!(id(&message), "\"after\"");
    }
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_place_can_be_cancelled() {
    let mut client = Conversation::start(StdioLimits { calls: 1, ..StdioLimits::default() });
    client.send(&waiting("1", 100)).await;
    client.send(&waiting("2", 100)).await;
    client.send(&waiting("3", 100)).await;
    client.send(&cancel("2")).await;
    assert_eq!(id(&client.receive().await), "1");
    assert_eq!(id(&client.receive().await), "3");
    assert_eq!(client.seen.counts(), [2, 2, 0]);
    assert!(client.end().await.is_empty());
}
