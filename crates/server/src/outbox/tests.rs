//! The bounds of an outbox, with time that the test moves.

use std::time::Duration;

use callgate_core::port::{LogLevel, Peer as _};
use callgate_protocol::json::{Document, Limits};
use callgate_protocol::meta::RequestMeta;
use tokio::time::advance;

use super::{Framing, Outbox, OutboxLimits};

const LIMITS: OutboxLimits = OutboxLimits { queued: 4, bytes: 1000, per_second: 6 };

fn outbox(meta: &str) -> Outbox {
    outbox_with(meta, LIMITS)
}

fn outbox_with(meta: &str, limits: OutboxLimits) -> Outbox {
    let params = format!(
        r#"{{"_meta":{{{meta}"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}"#
    );
    let document = Document::parse(params, &Limits::DEFAULT).unwrap();
    let outbox = Outbox::new(limits, Framing::Lines);
    outbox.listen(&RequestMeta::read(Some(document.root())).unwrap());
    outbox
}

const BOTH: &str = r#""progressToken":"p","io.modelcontextprotocol/logLevel":"warning","#;

fn count(text: Option<String>) -> usize {
    text.map_or(0, |text| text.lines().count())
}

#[tokio::test(start_paused = true)]
async fn what_was_not_asked_for_is_not_said() {
    let deaf = outbox("");
    deaf.progress(1.0, None, None);
    deaf.log(LogLevel::Emergency, None, "1");
    assert_eq!(deaf.take(), None);
    let outbox = outbox(BOTH);
    outbox.log(LogLevel::Notice, None, "1");
    assert_eq!(outbox.take(), None);
    outbox.log(LogLevel::Warning, Some("l\"og"), "{\"a\":\n1}");
    outbox.progress(0.5, Some(2.0), Some("half\nway"));
    let lines = outbox.take().unwrap();
    assert_eq!(
        lines.lines().collect::<Vec<_>>(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"l\"og","data":{"a": 1}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":0.5,"total":2,"message":"half\nway"}}"#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn progress_that_does_not_increase_is_not_said() {
    let outbox = outbox(BOTH);
    for progress in [1.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 1.5] {
        outbox.progress(progress, Some(f64::NAN), None);
    }
    let said = outbox.take().unwrap();
    assert!(said.contains("\"progress\":1}") && said.contains("\"progress\":1.5}"), "{said}");
    assert_eq!(said.lines().count(), 2);
}

#[tokio::test(start_paused = true)]
async fn at_the_bound_of_the_queue_log_messages_are_dropped_and_the_newest_progress_is_kept() {
    let outbox = outbox(BOTH);
    for _ in 0..5 {
        outbox.log(LogLevel::Error, None, "1");
    }
    outbox.progress(1.0, None, None);
    outbox.progress(2.0, None, None);
    assert_eq!(count(outbox.take()), 4, "one log message and all progress found no room");
    let held = outbox.take().unwrap();
    assert!(held.contains("\"progress\":2}") && !held.contains("\"progress\":1}"), "{held}");
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_kept_second_by_second_and_the_end_does_not_wait_for_it() {
    let outbox = outbox(BOTH);
    let mut said = 0;
    for progress in 0..10 {
        outbox.progress(f64::from(progress), None, None);
        said += count(outbox.take());
    }
    assert_eq!(said, 6);
    advance(Duration::from_millis(999)).await;
    assert_eq!(outbox.take(), None);
    advance(Duration::from_millis(1)).await;
    assert!(outbox.take().unwrap().contains("\"progress\":9}"));
    for progress in 10..20 {
        outbox.progress(f64::from(progress), None, None);
    }
    let last = outbox.finish().unwrap();
    assert!(last.ends_with("\"progress\":19}}\n"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn bytes_are_bounded_too() {
    let log = |length: usize| {
        let outbox = outbox_with(BOTH, OutboxLimits { queued: 100, bytes: 300, per_second: 100 });
        outbox.log(LogLevel::Error, None, &format!("\"{}\"", "x".repeat(length)));
        outbox.take().map_or(0, |text| text.len())
    };
    let envelope = log(1) - 1;
    assert_eq!(log(300 - envelope), 300);
    assert_eq!(log(301 - envelope), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cleared_outbox_knows_nothing_of_the_request_before() {
    let mut outbox = outbox(BOTH);
    outbox.progress(1.0, None, None);
    outbox.clear();
    outbox.progress(2.0, None, None);
    outbox.log(LogLevel::Error, None, "1");
    assert_eq!(outbox.finish(), None);
}
