//! What a streamed response is made of: a call that still runs, a subscription, or events of the
//! compatibility profile.
//!
//! It must never produce anything that nobody asks for, so a client that reads slowly slows it down
//! and nothing piles up. The body polls it; the connection's timer cancels it when it is not polled.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use tokio::time::Instant;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::exchange::{Line, Reply, Ticket};
use crate::endpoint::Subscription;
use crate::outbox::push_event;

/// A stream that its body polls and its connection may cancel.
pub(super) struct StreamCell {
    source: Mutex<Option<Source>>,
    start: Instant,
    /// Milliseconds from `start` to the last poll.
    polled: AtomicU64,
}

impl StreamCell {
    pub(super) fn new(source: Source) -> Self {
        Self { source: Mutex::new(Some(source)), start: Instant::now(), polled: AtomicU64::new(0) }
    }

    /// The next events, framed; nothing once the stream has ended or was cancelled.
    pub(super) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<String>> {
        let elapsed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.polled.store(elapsed, Ordering::Relaxed);
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = source.as_mut() else { return Poll::Ready(None) };
        let next = open.poll_next(context);
        if matches!(next, Poll::Ready(None)) {
            *source = None;
        }
        next
    }

    /// Drops what the stream is made of, when it has not been polled for so long.
    pub(super) fn cancel_if_unread(&self, now: Instant, patience: Duration) -> bool {
        let polled = self.start + Duration::from_millis(self.polled.load(Ordering::Relaxed));
        if now < polled + patience {
            return false;
        }
        // A stream that is being polled just now is not stalled.
        let Ok(mut source) = self.source.try_lock() else { return false };
        let cancelled = source.take();
        drop(source);
        cancelled.is_some()
    }
}

impl fmt::Debug for StreamCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamCell")
    }
}

/// What events come from.
pub(super) enum Source {
    /// A request that had something to say before its result.
    Call(CallSource),
    /// A subscription.
    Listen(Subscription),
    /// Events of the compatibility profile.
    Events(Pin<Box<dyn Stream<Item = String> + Send>>),
}

impl Source {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        match self {
            Self::Call(call) => call.poll_next(context),
            Self::Listen(subscription) => subscription.poll_next(context).map(|next| next.map(event)),
            Self::Events(events) => events.as_mut().poll_next(context),
        }
    }
}

fn event(message: String) -> String {
    let mut event = String::with_capacity(message.len() + 8);
    push_event(&mut event, &message);
    event
}

/// A request that is being answered by a stream.
pub(super) struct CallSource {
    /// Gone once it has replied.
    pub(super) line: Option<Line>,
    /// What was said before the stream began.
    pub(super) first: Option<String>,
    pub(super) expired: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl CallSource {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let Some(line) = &mut self.line else { return Poll::Ready(None) };
        let reply = match line.poll_reply(context) {
            Poll::Ready(reply) => reply,
            Poll::Pending => {
                if let Some(said) = line.ticket.outbox.take() {
                    return Poll::Ready(Some(said));
                }
                if self.expired.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                line.ticket.expired()
            }
        };
        let last = last_events(&line.ticket, reply);
        self.line = None;
        Poll::Ready(Some(last))
    }
}

/// What is left to say, and the final response, which ends the stream.
pub(super) fn last_events(ticket: &Ticket, reply: Reply) -> String {
    let mut events = ticket.outbox.finish().unwrap_or_default();
    if let Some(text) = reply.into_text() {
        events.reserve(text.len() + 8);
        push_event(&mut events, &text);
    }
    events
}
