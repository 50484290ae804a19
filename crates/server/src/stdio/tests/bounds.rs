//! Every bound of a connection, at the bound and beyond it.

use std::time::Duration;

use super::conversation::{Conversation, call, code, id, waiting};
use crate::stdio::StdioLimits;

#[tokio::test(start_paused = true)]
async fn a_line_beyond_the_bound_is_refused_and_the_next_one_is_served() {
    let limits = StdioLimits { line_bytes: 1000, ..StdioLimits::default() };
    let mut client = Conversation::start(limits);
    let frame = call("1", "echo", r#"{"text":""}"#).len();
    for (length, expected) in [(1000, None), (1001, Some(-32600)), (300_000, Some(-32600)), (1000, None)] {
        let text = "x".repeat(length - frame);
        client.send(&call("1", "echo", &format!(r#"{{"text":"{text}"}}"#))).await;
        let answer = client.receive().await;
        assert_eq!(code(&answer), expected, "{length}");
    }
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_bound_wait_and_are_all_answered() {
    let limits = StdioLimits { calls: 4, ..StdioLimits::default() };
    let mut client = Conversation::start(limits);
    for number in 0..10 {
        client.send(&waiting(&number.to_string(), 100)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(client.seen.counts(), [4, 0, 0]);
    let mut answered = Vec::new();
    for _ in 0..10 {
        answered.push(id(&client.receive().await).to_owned());
    }
    answered.sort();
    assert_eq!(answered, (0..10).map(|number| number.to_string()).collect::<Vec<_>>());
}

/// Nothing more is read once as many calls wait as may, so that the client's writes block.
#[tokio::test(start_paused = true)]
async fn a_client_that_asks_without_end_is_not_read() {
    let limits = StdioLimits { calls: 1, waiting: 2, ..StdioLimits::default() };
    let mut client = Conversation::start(limits);
    let line = waiting("1", 10_000);
    let flood = async {
        for number in 0.. {
            let line = line.replacen("\"id\":1", &format!("\"id\":{number}"), 1);
            client.send(&line).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(500), flood).await.is_err());
    assert_eq!(client.seen.counts(), [1, 0, 0]);
    // What was read is answered, one after the other.
    for _ in 0..5 {
        client.receive().await;
    }
    assert_eq!(client.seen.counts()[1], 5);
}

/// A client that does not read stops being read.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_costs_a_bounded_amount() {
    let limits = StdioLimits { output_bytes: 64 << 10, ..StdioLimits::default() };
    let mut client = Conversation::start(limits);
    let line = call("1", "echo", &format!(r#"{{"text":"{}"}}"#, "x".repeat(10_000)));
    let mut sent = 0;
    let flood = async {
        loop {
            client.send(&line).await;
            sent += line.len();
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(5), flood).await.is_err());
    // Both pipes, one piece that was read, and the output.
    assert!(sent < 2 << 20, "{sent}");
    // Once it reads, it gets everything.
    for _ in 0..sent / line.len() {
        assert_eq!(code(&client.receive().await), None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_accepted_calls_only_as_long_as_it_may() {
    for pull in [true, false] {
        let limits = StdioLimits { drain: Duration::from_secs(5), ..StdioLimits::default() };
        let mut client = Conversation::start(limits);
        client.send(&waiting("1", 3_000)).await;
        client.send(&waiting("2", 60_000)).await;
        client.send(&call("3", "echo", r#"{"text":"x"}"#)).await;
        assert_eq!(id(&client.receive().await), "3");
        let (since, seen) = (tokio::time::Instant::now(), std::sync::Arc::clone(&client.seen));
        let rest = if pull {
            client.shutdown.begin();
            let (rest, ended) = client.rest().await;
            ended.unwrap();
            rest
        } else {
            client.end().await
        };
        assert_eq!(rest.iter().map(id).collect::<Vec<_>>(), ["1"]);
        assert_eq!(since.elapsed().as_secs(), 5);
        assert_eq!(seen.counts(), [2, 1, 1]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_cancels_what_it_asked() {
    let mut client = Conversation::start(StdioLimits::default());
    client.send(&waiting("1", 60_000)).await;
    client.send(&call("2", "echo", r#"{"text":"x"}"#)).await;
    assert_eq!(id(&client.receive().await), "2");
    let seen = std::sync::Arc::clone(&client.seen);
    drop(client);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(seen.counts(), [1, 0, 1]);
}
