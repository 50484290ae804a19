//! The body of a response: nothing, one JSON text, or a stream of events.
//!
//! It must never hold more than the next piece, and dropping it must stop whatever fills it. Whoever
//! serves the service polls it.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::activity::InFlight;
use super::stream::{Source, StreamCell};

/// What is sent while a stream has nothing to say, so that nobody on the way takes it for dead.
const COMMENT: &[u8] = b": keep-alive\n\n";

/// The body of a response of [`HttpService`](super::HttpService). Dropping it cancels what it streams.
pub struct Body {
    kind: Kind,
    /// Counts the request as in flight until the body is gone.
    guard: Option<InFlight>,
}

enum Kind {
    Empty,
    /// One text in two parts, the second of which may be shared.
    Whole(Bytes, Bytes),
    Stream(Streaming),
}

struct Streaming {
    cell: Arc<StreamCell>,
    silence: Pin<Box<Sleep>>,
    interval: Duration,
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self { kind: Kind::Empty, guard: None }
    }

    /// One text.
    pub(crate) fn json(text: String) -> Self {
        Self::whole(text, Bytes::new())
    }

    /// One text in two parts.
    pub(super) fn whole(text: String, rest: Bytes) -> Self {
        Self { kind: Kind::Whole(Bytes::from(text), rest), guard: None }
    }

    pub(super) fn of_events(events: Pin<Box<dyn Stream<Item = String> + Send>>, interval: Duration) -> Self {
        Self::stream(Source::Events(events), interval)
    }

    pub(super) fn stream(source: Source, interval: Duration) -> Self {
        let cell = Arc::new(StreamCell::new(source));
        let streaming = Streaming { cell, silence: Box::pin(sleep(interval)), interval };
        Self { kind: Kind::Stream(streaming), guard: None }
    }

    /// Counts the body as a request in flight for as long as it lives.
    pub(super) fn guard(&mut self, guard: Option<InFlight>) {
        self.guard = guard;
        if let (Kind::Stream(streaming), Some(guard)) = (&self.kind, &mut self.guard) {
            guard.watch(&streaming.cell);
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.kind {
            Kind::Empty => Poll::Ready(None),
            Kind::Whole(bytes, rest) => {
                let (bytes, rest) = (std::mem::take(bytes), std::mem::take(rest));
                self.kind = if rest.is_empty() { Kind::Empty } else { Kind::Whole(rest, Bytes::new()) };
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Kind::Stream(streaming) => {
                let next = streaming.poll_next(context);
                if matches!(next, Poll::Ready(None)) {
                    self.kind = Kind::Empty;
                }
                next.map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Whole(bytes, rest) => SizeHint::with_exact((bytes.len() + rest.len()) as u64),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}

impl Streaming {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.cell.poll_next(context) {
            Poll::Ready(Some(events)) => {
                self.silence.as_mut().reset(Instant::now() + self.interval);
                Poll::Ready(Some(Bytes::from(events)))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                if self.silence.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.silence.as_mut().reset(Instant::now() + self.interval);
                Poll::Ready(Some(Bytes::from_static(COMMENT)))
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Empty => "Body::Empty",
            Kind::Whole(..) => "Body::Whole",
            Kind::Stream(_) => "Body::Stream",
        })
    }
}
