//! The bounds of what is kept for a client that comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use super::{Progress, STANDALONE, Streams, parse_event};
use crate::legacy::LegacyLimits;

fn streams(change: impl FnOnce(&mut LegacyLimits)) -> (Streams, Arc<AtomicUsize>) {
    let mut limits = LegacyLimits::default();
    change(&mut limits);
    let total = Arc::default();
    (Streams::new(&limits, Arc::clone(&total)), total)
}

fn read(streams: &mut Streams, stream: u64, after: u64) -> Option<Vec<u64>> {
    let reader = streams.attach(stream);
    let mut after = after;
    let context = Context::from_waker(Waker::noop());
    let events = streams.poll_events(stream, reader, &mut after, &context);
    streams.detach(stream, reader);
    match events {
        Poll::Pending => Some(Vec::new()),
        Poll::Ready(None) => None,
        Poll::Ready(Some(text)) => Some(
            text.lines()
                .filter_map(|line| line.strip_prefix("id: "))
                .map(|id| parse_event(id).map_or(0, |(_, event)| event))
                .collect(),
        ),
    }
}

#[test]
fn the_oldest_events_that_were_sent_go_first() {
    let (mut streams, total) = streams(|limits| limits.replay_events = 4);
    let one = streams.begin(1, Vec::new());
    for _ in 0..2 {
        streams.push(one, "12345".into());
        streams.push(STANDALONE, "12345".into());
    }
    assert_eq!(read(&mut streams, one, 0), Some(vec![1, 2]));
    // At the bound everything is kept, one beyond it the oldest that was sent is not.
    assert_eq!(read(&mut streams, one, 0), Some(vec![1, 2]));
    streams.push(STANDALONE, "12345".into());
    assert_eq!(read(&mut streams, one, 0), Some(vec![2]));
    assert_eq!(read(&mut streams, STANDALONE, 0), Some(vec![1, 2, 3]));
    assert_eq!(total.load(Ordering::Relaxed), 20);
    drop(streams);
    assert_eq!(total.load(Ordering::Relaxed), 0);
}

#[test]
fn bytes_are_bounded_for_a_session_and_for_all_sessions() {
    let (mut streams, total) = streams(|limits| limits.replay_bytes = 100);
    for _ in 0..1000 {
        streams.push(STANDALONE, "x".repeat(30));
        assert!(total.load(Ordering::Relaxed) <= 100);
    }
    assert_eq!(read(&mut streams, STANDALONE, 0), Some(vec![998, 999, 1000]));
    // One message that is larger than the bound is delivered all the same.
    streams.push(STANDALONE, "x".repeat(500));
    assert_eq!(read(&mut streams, STANDALONE, 1000), Some(vec![1001]));

    let (mut crowded, total) = self::streams(|limits| limits.replay_bytes_total = 50);
    total.fetch_add(40, Ordering::Relaxed);
    crowded.push(STANDALONE, "x".repeat(30));
    crowded.push(STANDALONE, "x".repeat(30));
    assert_eq!(read(&mut crowded, STANDALONE, 0), Some(vec![2]));
}

#[test]
fn streams_are_bounded_and_those_that_ended_make_room() {
    let (mut streams, _) = streams(|limits| limits.streams = 4);
    let running = streams.begin(1, Vec::new());
    let ended: Vec<_> = (0..50)
        .map(|_| {
            let stream = streams.begin(1, Vec::new());
            streams.push(stream, "{}".into());
            streams.end_one(stream);
            stream
        })
        .collect();
    assert!(streams.streams.len() <= 4);
    assert!(streams.has(running));
    assert!(!streams.has(ended[0]));
    assert!(streams.has(ended[49]));
}

#[test]
fn what_is_answered_before_anything_streams_is_no_event() {
    let (mut streams, total) = streams(|_| {});
    let stream = streams.begin(2, vec!["known".into()]);
    let context = Context::from_waker(Waker::noop());
    assert!(streams.poll_progress(stream, &context).is_pending());
    streams.answer(stream, "late".into());
    streams.end_one(stream);
    assert!(streams.poll_progress(stream, &context).is_pending());
    streams.end_one(stream);
    let Poll::Ready(Progress::Answers(answers)) = streams.poll_progress(stream, &context) else {
        unreachable!("nothing was streamed")
    };
    assert_eq!(answers, ["known", "late"]);
    assert!(!streams.has(stream));
    assert_eq!(total.load(Ordering::Relaxed), 0);
}

#[test]
fn notices_are_dropped_for_what_waits_and_never_for_what_is_kept_for_replay() {
    let (mut streams, _) = streams(|limits| limits.replay_events = 8);
    let stream = streams.begin(1, Vec::new());
    for _ in 0..100 {
        assert!(!streams.is_crowded(stream));
        streams.push(stream, "{}".into());
        let last = streams.last_event(stream);
        assert_eq!(read(&mut streams, stream, last - 1), Some(vec![last]));
    }
    for _ in 0..5 {
        assert!(!streams.is_crowded(stream));
        streams.push(stream, "{}".into());
    }
    assert!(streams.is_crowded(stream));
    read(&mut streams, stream, 0);
    assert!(!streams.is_crowded(stream));
}
