//! The future of one response: it reads the body, runs the exchange, and decides between one JSON
//! message and a stream.
//!
//! It must never buffer more than the bounds allow, and never let the exchange outlive it except inside
//! the body that it gives away. The service makes one for each request.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use callgate_core::port::Transport;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::Shared;
use super::activity::InFlight;
use super::body::Body;
use super::exchange::{Line, Posting, Reply, post};
use super::head::Accepts;
use super::pages::allow;
use super::refusal::{
    accepted, answered_response, body_broken, body_too_long, body_too_slow, events_response, json_response,
    out_of_memory,
};
use super::stream::{CallSource, Source, last_events};
use crate::outbox::{OutboxLimits, push_event};

/// Bodies up to this length count nothing towards the bytes held by all connections together; the bound
/// on connections is enough for them.
const SMALL_BODY: usize = 16 << 10;

pin_project! {
    /// The response to one request. Dropping it cancels the request.
    pub struct ResponseFuture<B> {
        #[pin]
        state: State<B>,
        guard: Option<InFlight>,
        // The listed origin of the page that asks.
        page: Option<HeaderValue>,
    }
}

pin_project! {
    #[project = StateProjection]
    #[project_replace = Taken]
    enum State<B> {
        Reading { #[pin] body: B, reading: Reading, buffer: Buffer },
        Running { running: Running },
        Ready { response: Response<Body> },
        Done,
    }
}

/// What is known before the body.
pub(super) struct Reading {
    pub(super) shared: Arc<Shared>,
    pub(super) headers: HeaderMap,
    pub(super) transport: Transport,
    pub(super) accepts: Accepts,
    /// The length that the client announced; a hint, not a promise.
    pub(super) announced: u64,
}

/// The body, as far as it has come.
struct Buffer {
    bytes: Vec<u8>,
    budget: Budget,
    /// Made when the body does not come at once.
    timer: Option<Pin<Box<Sleep>>>,
    /// What an earlier request on this connection has left.
    spare: Option<Line>,
}

/// The share of one request in the bytes that all long bodies may take.
pub(super) struct Budget {
    shared: Arc<Shared>,
    taken: usize,
}

impl Budget {
    /// Takes what a body of this length needs; false when there is no more.
    fn grow_to(&mut self, length: usize) -> bool {
        if length <= SMALL_BODY || length <= self.taken {
            return true;
        }
        let more = length - self.taken;
        let before = self.shared.buffered.fetch_add(more, Ordering::Relaxed);
        self.taken = length;
        before + more <= self.shared.limits.buffered_bytes
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.shared.buffered.fetch_sub(self.taken, Ordering::Relaxed);
        }
    }
}

/// An exchange that has not replied yet.
struct Running {
    shared: Arc<Shared>,
    line: Line,
    accepts: Accepts,
    /// Made when the exchange does not reply at once.
    expired: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl<B: http_body::Body> ResponseFuture<B> {
    pub(super) fn ready(response: Response<Body>, guard: Option<InFlight>) -> Self {
        Self { state: State::Ready { response }, guard, page: None }
    }

    pub(super) fn of_legacy(
        shared: &Arc<Shared>,
        answer: impl Future<Output = Response<Body>> + Send + 'static,
        guard: Option<InFlight>,
    ) -> Self {
        let answer = async move { Reply::Whole(Box::new(answer.await)) };
        let line = Line::open(None, shared.outbox_limits(), |_ticket| answer);
        let accepts = Accepts { json: true, events: true };
        let running = Running { shared: Arc::clone(shared), line, accepts, expired: None };
        Self { state: State::Running { running }, guard, page: None }
    }

    pub(super) fn reading(reading: Reading, body: B, guard: Option<InFlight>) -> Self {
        let capacity = usize::try_from(reading.announced).unwrap_or(SMALL_BODY).min(SMALL_BODY);
        let budget = Budget { shared: Arc::clone(&reading.shared), taken: 0 };
        let spare = guard.as_ref().and_then(InFlight::take_spare);
        let mut bytes = spare.as_ref().map_or_else(Vec::new, Line::take_text);
        bytes.reserve(capacity);
        let buffer = Buffer { bytes, budget, timer: None, spare };
        Self { state: State::Reading { body, reading, buffer }, guard, page: None }
    }

    /// The same response, which a page of this origin may read.
    pub(super) fn readable_by(mut self, page: Option<HeaderValue>) -> Self {
        self.page = page;
        self
    }
}

impl Shared {
    fn outbox_limits(&self) -> OutboxLimits {
        OutboxLimits {
            queued: self.limits.notices_queued,
            bytes: self.limits.notices_bytes,
            per_second: self.limits.notices_per_second,
        }
    }
}

impl<B> Future for ResponseFuture<B>
where
    B: http_body::Body<Data = Bytes>,
{
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let response = match this.state.as_mut().project() {
                StateProjection::Reading { body, reading, buffer } => {
                    match ready!(buffer.fill(body, &reading.shared, context)) {
                        Ok(()) => {
                            if let Taken::Reading { reading, buffer, .. } =
                                this.state.as_mut().project_replace(State::Done)
                            {
                                this.state.set(State::Running { running: reading.start(buffer) });
                            }
                            continue;
                        }
                        Err(refused) => refused,
                    }
                }
                StateProjection::Running { running } => {
                    let reply = ready!(running.poll_reply(context));
                    let Taken::Running { running } = this.state.as_mut().project_replace(State::Done) else {
                        continue;
                    };
                    match reply {
                        Some(reply) => {
                            let is_stream = matches!(reply, Reply::Listening(_) | Reply::Whole(_));
                            let response = running.respond(reply);
                            // No next request comes soon on a connection that streams.
                            if let Some(guard) = this.guard.as_ref().filter(|_| !is_stream) {
                                guard.leave_spare(running.line);
                            }
                            response
                        }
                        None => running.stream(),
                    }
                }
                StateProjection::Ready { .. } => {
                    let Taken::Ready { response } = this.state.as_mut().project_replace(State::Done) else {
                        continue;
                    };
                    response
                }
                // A future is not polled after it has given its output.
                StateProjection::Done => return Poll::Pending,
            };
            this.state.set(State::Done);
            let guard = this.guard.take();
            let mut response = response;
            if let Some(page) = this.page.take() {
                allow(&mut response, page);
            }
            response.body_mut().guard(guard);
            return Poll::Ready(Ok(response));
        }
    }
}

impl Buffer {
    /// Takes in the body to its end.
    fn fill<B: http_body::Body<Data = Bytes>>(
        &mut self,
        mut body: Pin<&mut B>,
        shared: &Shared,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Response<Body>>> {
        loop {
            match body.as_mut().poll_frame(context) {
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(Err(_broken))) => return Poll::Ready(Err(body_broken())),
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers say nothing that counts.
                    let Ok(data) = frame.into_data() else { continue };
                    let length = self.bytes.len() + data.len();
                    if length > shared.limits.message.bytes {
                        return Poll::Ready(Err(body_too_long()));
                    }
                    if !self.budget.grow_to(length) {
                        return Poll::Ready(Err(out_of_memory()));
                    }
                    self.bytes.extend_from_slice(&data);
                }
                Poll::Pending => {
                    let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(shared.limits.body_timeout)));
                    ready!(timer.as_mut().poll(context));
                    return Poll::Ready(Err(body_too_slow()));
                }
            }
        }
    }
}

impl Reading {
    fn start(self, buffer: Buffer) -> Running {
        let Self { shared, headers, transport, accepts, .. } = self;
        let limits = shared.outbox_limits();
        let Buffer { bytes, budget, spare, .. } = buffer;
        let asked = Arc::clone(&shared);
        let line = Line::open(spare, limits, move |ticket| {
            post(Posting { shared: asked, headers, bytes, budget, transport, accepts, ticket })
        });
        Running { shared, line, accepts, expired: None }
    }
}

impl Running {
    /// The reply, or nothing when a stream has to begin.
    fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        if let Poll::Ready(reply) = self.line.poll_reply(context) {
            return Poll::Ready(Some(reply));
        }
        if self.line.ticket.outbox.has_messages() {
            return Poll::Ready(None);
        }
        let shared = &self.shared;
        let expired = self.expired.get_or_insert_with(|| shared.expiry());
        expired.as_mut().poll(context).map(|()| Some(self.line.ticket.expired()))
    }

    fn respond(&self, reply: Reply) -> Response<Body> {
        match reply {
            Reply::Answered(answered) => {
                let status =
                    StatusCode::from_u16(answered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                // An error status tells more than a stream could.
                let events = status == StatusCode::OK && self.accepts.events;
                if events && self.line.ticket.outbox.has_messages() {
                    let events = last_events(&self.line.ticket, Reply::Answered(answered));
                    return events_response(Body::json(events));
                }
                if events && !self.accepts.json {
                    let text = answered.into_text();
                    let mut event = String::with_capacity(text.len() + 8);
                    push_event(&mut event, &text);
                    return events_response(Body::json(event));
                }
                let head = self.line.ticket.take_head();
                answered_response(status, answered, head, || self.shared.endpoint.published())
            }
            Reply::Refused { status, text } => json_response(status, text),
            Reply::Accepted => accepted(),
            Reply::Listening(subscription) => {
                let interval = self.shared.limits.keep_alive_interval;
                events_response(Body::stream(Source::Listen(*subscription), interval))
            }
            Reply::Whole(response) => *response,
        }
    }

    /// Gives the exchange to a body that goes on with it.
    fn stream(self) -> Response<Body> {
        let source = CallSource {
            first: self.line.ticket.outbox.take(),
            line: Some(self.line),
            expired: self.expired.unwrap_or_else(|| self.shared.expiry()),
        };
        events_response(Body::stream(Source::Call(source), self.shared.limits.keep_alive_interval))
    }
}

impl Shared {
    fn expiry(&self) -> Pin<Box<WaitForCancellationFutureOwned>> {
        Box::pin(self.expired.clone().cancelled_owned())
    }
}

impl<B> fmt::Debug for ResponseFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
