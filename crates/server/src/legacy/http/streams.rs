//! The streams of one session: what was said on each, kept for a client that comes back for it.
//!
//! It must never give one event two ids or two streams one id, and never keep more than its bounds: what was
//! sent goes first, then what nobody reads. Requests write streams, readers read them.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use crate::legacy::LegacyLimits;

/// The stream for what belongs to no request.
pub(super) const STANDALONE: u64 = 0;

/// The id of an event, as the client sends it back.
pub(super) fn parse_event(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.trim_ascii().split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

/// All streams of one session.
pub(super) struct Streams {
    streams: BTreeMap<u64, Box<Stored>>,
    next: u64,
    bytes: usize,
    events: usize,
    bytes_max: usize,
    events_max: usize,
    streams_max: usize,
    total: Arc<AtomicUsize>,
    total_max: usize,
}

/// One stream.
#[derive(Default)]
struct Stored {
    events: VecDeque<Event>,
    /// The number of the newest event.
    last: u64,
    /// The number of the newest event that a reader took.
    sent: u64,
    /// Requests that are not answered yet.
    outstanding: usize,
    /// Answers that wait to be given without a stream.
    answers: Vec<String>,
    is_streaming: bool,
    /// The tool asked that the client come back for the rest.
    is_interrupted: bool,
    is_done: bool,
    /// Which reader is the newest; an older one ends.
    reader: u64,
    is_read: bool,
    waker: Option<Waker>,
}

struct Event {
    number: u64,
    text: String,
}

/// What a request that waits for its answer learns.
pub(super) enum Progress {
    /// All answers are there and nothing was streamed.
    Answers(Vec<String>),
    /// There is something to be streamed.
    Streams,
}

impl Streams {
    pub(super) fn new(limits: &LegacyLimits, total: Arc<AtomicUsize>) -> Self {
        let mut streams = BTreeMap::new();
        let standalone = Stored { is_streaming: true, outstanding: 1, ..Stored::default() };
        streams.insert(STANDALONE, Box::new(standalone));
        Self {
            streams,
            next: STANDALONE + 1,
            bytes: 0,
            events: 0,
            bytes_max: limits.replay_bytes,
            events_max: limits.replay_events,
            streams_max: limits.streams,
            total,
            total_max: limits.replay_bytes_total,
        }
    }

    /// A new stream for so many requests, and for answers that are known already.
    pub(super) fn begin(&mut self, outstanding: usize, answers: Vec<String>) -> u64 {
        while self.streams.len() >= self.streams_max {
            let ended = self.streams.iter().find(|(_, stored)| stored.is_done && !stored.is_read);
            let Some((&oldest, _)) = ended else { break };
            self.remove(oldest);
        }
        let stream = self.next;
        self.next += 1;
        self.streams.insert(stream, Box::new(Stored { outstanding, answers, ..Stored::default() }));
        stream
    }

    pub(super) fn has(&self, stream: u64) -> bool {
        self.streams.contains_key(&stream)
    }

    /// The number of the newest event of a stream.
    pub(super) fn last_event(&self, stream: u64) -> u64 {
        self.streams.get(&stream).map_or(0, |stored| stored.last)
    }

    /// Puts a message on a stream.
    pub(super) fn push(&mut self, stream: u64, text: String) {
        self.start_streaming(stream);
        self.store(stream, text);
    }

    /// True when so much of a stream waits for its reader that a notice is better dropped. What was sent and
    /// is kept for replay does not count.
    pub(super) fn is_crowded(&self, stream: u64) -> bool {
        let Some(stored) = self.streams.get(&stream) else { return true };
        let waiting = stored.events.iter().rev().take_while(|event| event.number > stored.sent);
        let (events, bytes) =
            waiting.fold((0, 0), |(events, bytes), event| (events + 1, bytes + event.text.len()));
        events > self.events_max / 2 || bytes > self.bytes_max / 2
    }

    /// Takes the answer of one request: an event where there is a stream already, else kept for the response.
    pub(super) fn answer(&mut self, stream: u64, text: String) {
        let Some(stored) = self.streams.get_mut(&stream) else { return };
        if stored.is_streaming {
            self.store(stream, text);
        } else {
            stored.answers.push(text);
        }
    }

    /// Notes that one request of a stream has ended.
    pub(super) fn end_one(&mut self, stream: u64) {
        let Some(stored) = self.streams.get_mut(&stream) else { return };
        stored.outstanding = stored.outstanding.saturating_sub(1);
        stored.is_done = stored.outstanding == 0;
        stored.wake();
    }

    /// Makes a stream of what waits for its answers.
    pub(super) fn start_streaming(&mut self, stream: u64) {
        let Some(stored) = self.streams.get_mut(&stream) else { return };
        if !stored.is_streaming {
            stored.is_streaming = true;
            let answers = std::mem::take(&mut stored.answers);
            stored.wake();
            for answer in answers {
                self.store(stream, answer);
            }
        }
    }

    /// Ends the response of a stream before the stream has ended; the client comes back.
    pub(super) fn interrupt(&mut self, stream: u64) {
        self.start_streaming(stream);
        if let Some(stored) = self.streams.get_mut(&stream) {
            stored.is_interrupted = true;
            stored.wake();
        }
    }

    /// What has become of the requests of a stream.
    pub(super) fn poll_progress(&mut self, stream: u64, context: &Context<'_>) -> Poll<Progress> {
        let Some(stored) = self.streams.get_mut(&stream) else {
            return Poll::Ready(Progress::Answers(Vec::new()));
        };
        if stored.is_streaming {
            return Poll::Ready(Progress::Streams);
        }
        if stored.is_done {
            let answers = std::mem::take(&mut stored.answers);
            self.remove(stream);
            return Poll::Ready(Progress::Answers(answers));
        }
        stored.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// A new reader of a stream takes the place of the one before.
    pub(super) fn attach(&mut self, stream: u64) -> u64 {
        let Some(stored) = self.streams.get_mut(&stream) else { return 0 };
        stored.reader += 1;
        stored.is_read = true;
        stored.wake();
        stored.reader
    }

    /// The client has come back for the rest of a stream.
    pub(super) fn go_on(&mut self, stream: u64) {
        if let Some(stored) = self.streams.get_mut(&stream) {
            stored.is_interrupted = false;
        }
    }

    /// A reader has gone.
    pub(super) fn detach(&mut self, stream: u64, reader: u64) {
        if let Some(stored) = self.streams.get_mut(&stream)
            && stored.reader == reader
        {
            stored.is_read = false;
            stored.waker = None;
        }
    }

    /// The events after `after` for a reader, already framed; nothing at the end of the response.
    pub(super) fn poll_events(
        &mut self,
        stream: u64,
        reader: u64,
        after: &mut u64,
        context: &Context<'_>,
    ) -> Poll<Option<String>> {
        let Some(stored) = self.streams.get_mut(&stream) else { return Poll::Ready(None) };
        if stored.reader != reader {
            return Poll::Ready(None);
        }
        let mut framed = String::new();
        for event in stored.events.iter().filter(|event| event.number > *after) {
            push_event(&mut framed, stream, event.number, &event.text);
        }
        if !framed.is_empty() {
            *after = stored.last;
            stored.sent = stored.sent.max(stored.last);
            self.trim();
            return Poll::Ready(Some(framed));
        }
        if stored.is_done || stored.is_interrupted {
            return Poll::Ready(None);
        }
        stored.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Forgets everything; every reader ends.
    pub(super) fn close(&mut self) {
        for (_, stored) in std::mem::take(&mut self.streams) {
            stored.wake();
        }
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
        self.events = 0;
    }

    fn store(&mut self, stream: u64, text: String) {
        let Some(stored) = self.streams.get_mut(&stream) else { return };
        stored.last += 1;
        self.bytes += text.len();
        self.events += 1;
        self.total.fetch_add(text.len(), Ordering::Relaxed);
        stored.events.push_back(Event { number: stored.last, text });
        stored.wake();
        self.trim();
    }

    /// Keeps the bounds: events that were sent go first, the oldest first; then those that nobody reads; and
    /// beyond the bound of this session the oldest of all, but never the only one.
    fn trim(&mut self) {
        let own = |streams: &Self| streams.bytes > streams.bytes_max || streams.events > streams.events_max;
        let all = |streams: &Self| streams.total.load(Ordering::Relaxed) > streams.total_max;
        while own(self) || all(self) {
            let is_sent =
                |stored: &Stored| stored.events.front().is_some_and(|event| event.number <= stored.sent);
            let is_unread = |stored: &Stored| !stored.is_read && !stored.events.is_empty();
            let oldest = |test: &dyn Fn(&Stored) -> bool| {
                self.streams.iter().find(|(_, stored)| test(stored)).map(|(stream, _)| *stream)
            };
            let victim =
                oldest(&is_sent).or_else(|| oldest(&is_unread).filter(|_| self.events > 1)).or_else(|| {
                    oldest(&|stored| !stored.events.is_empty()).filter(|_| self.events > 1 && own(self))
                });
            let Some(victim) = victim else { return };
            self.pop(victim);
        }
    }

    fn pop(&mut self, stream: u64) {
        let Some(stored) = self.streams.get_mut(&stream) else { return };
        let Some(event) = stored.events.pop_front() else { return };
        if event.number > stored.sent {
            tracing::warn!("an event of a legacy stream was dropped before its client took it");
        }
        self.bytes -= event.text.len();
        self.events -= 1;
        self.total.fetch_sub(event.text.len(), Ordering::Relaxed);
    }

    fn remove(&mut self, stream: u64) {
        while self.streams.get(&stream).is_some_and(|stored| !stored.events.is_empty()) {
            if let Some(stored) = self.streams.get_mut(&stream) {
                // What ends with its stream was not lost before its time.
                stored.sent = stored.last;
            }
            self.pop(stream);
        }
        self.streams.remove(&stream);
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.close();
    }
}

impl Stored {
    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

/// Appends one event. JSON text has no line break of its own inside strings; one between its parts is left
/// out.
fn push_event(out: &mut String, stream: u64, number: u64, text: &str) {
    // Writing to a string cannot fail.
    let _infallible = write!(out, "id: {stream}-{number}\ndata: ");
    out.extend(text.split(['\n', '\r']));
    out.push_str("\n\n");
}

/// The event without content that 2025-11-25 wants first, so that a client knows where to come back.
pub(super) fn priming_event(stream: u64, after: u64, retry: std::time::Duration) -> String {
    format!("id: {stream}-{after}\nretry: {}\ndata: \n\n", retry.as_millis())
}
