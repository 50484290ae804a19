//! What one message asks for, as work: a modern call, a subscription, a call of a legacy client.
//!
//! It must never read the state of the connection; what a call needs it takes with it. The connection makes
//! the work and decides when it runs.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use callgate_core::port::{Answer, Credentials, Transport};
use callgate_protocol::error::push_error;
use callgate_protocol::meta::RequestMeta;
use callgate_protocol::{ErrorCode, Id, Request};
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::flights::Work;
use super::wire::Wire;
use crate::endpoint::{Endpoint, From, Opening};
use crate::legacy::{Channel, Session};
use crate::outbox::{Framing, Outbox, OutboxLimits};

/// Bounds of what one call says before its result. Messages leave with the next write, so few ever wait.
pub(crate) const OUTBOX: OutboxLimits = OutboxLimits { queued: 64, bytes: 256 << 10, per_second: 200 };

/// Every request on the standard streams comes from whoever started the process.
pub(super) fn sender() -> From<'static> {
    From { credentials: Credentials::new(Transport::Stdio, None), headers: None }
}

/// A request of 2026-07-28 other than `subscriptions/listen`.
pub(super) fn modern(endpoint: Arc<Endpoint>, wire: Arc<Wire>, request: Request) -> Work {
    let id = request.id().clone();
    guarded(id, async move {
        let meta = match RequestMeta::read(request.params()) {
            Ok(meta) => meta,
            Err(error) => return Some(Endpoint::refuse_meta(request.id(), &error).into_text()),
        };
        let outbox = Outbox::new(OUTBOX, Framing::Lines);
        outbox.listen(&meta);
        let mut answer = pin!(endpoint.answer(&request, &meta, sender(), &outbox));
        let answered = poll_fn(|context| {
            let answered = answer.as_mut().poll(context);
            if let Some(lines) = if answered.is_ready() { outbox.finish() } else { outbox.take() } {
                wire.lines(&lines);
            }
            answered
        });
        Some(answered.await.into_text())
    })
}

/// A `subscriptions/listen` of 2026-07-28. It ends with its closing result when `closing` is cancelled.
pub(super) fn subscription(
    endpoint: Arc<Endpoint>,
    wire: Arc<Wire>,
    closing: CancellationToken,
    request: Request,
) -> Work {
    let id = request.id().clone();
    guarded(id, async move {
        let meta = match RequestMeta::read(request.params()) {
            Ok(meta) => meta,
            Err(error) => return Some(Endpoint::refuse_meta(request.id(), &error).into_text()),
        };
        let mut subscription = match endpoint.listen(&request, &meta, sender(), Opening::First).await {
            Ok(subscription) => subscription,
            Err(refusal) => return Some(refusal.into_text()),
        };
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled() => return Some(subscription.close()),
                // Nothing after the closing result.
                message = subscription.next() => wire.message(&message?),
            }
            // A slow reader delays its own notices; the hub keeps the last change of each kind.
            tokio::select! {
                () = closing.cancelled() => {}
                () = wire.room() => {}
            }
        }
    })
}

/// A request of a legacy client whose session is open.
pub(super) fn legacy(
    endpoint: Arc<Endpoint>,
    wire: Arc<Wire>,
    session: Arc<Session>,
    request: Request,
) -> Work {
    let id = request.id().clone();
    guarded(id, async move { Some(session.answer(&endpoint, &request, sender(), &*wire).await) })
}

/// What a legacy client is told outside its requests.
pub(super) fn notices(endpoint: Arc<Endpoint>, wire: Arc<Wire>, session: Arc<Session>) -> Work {
    Box::pin(async move {
        session.notices(&endpoint, sender(), &*wire).await;
        None
    })
}

/// Work that ends with an error when it panics. The gate catches panics of tools; this catches the rest, so
/// that one request never ends the connection.
fn guarded(id: Id, work: impl Future<Output = Option<String>> + Send + 'static) -> Work {
    Box::pin(AssertUnwindSafe(work).catch_unwind().map(move |ended| {
        ended.unwrap_or_else(|_panic| {
            tracing::error!("a request ended with a panic");
            let mut text = String::new();
            push_error(&mut text, Some(&id), ErrorCode::InternalError, "Internal error", None);
            Some(text)
        })
    }))
}

impl Channel for Wire {
    fn lines(&self, lines: &str) {
        Wire::lines(self, lines);
    }

    fn message(&self, text: &str) {
        Wire::message(self, text);
    }

    fn room(&self) -> Answer<'_, ()> {
        Answer::later(Wire::room(self))
    }

    fn close_stream(&self) {
        // There is one stream, and it is never closed before the end.
    }
}
