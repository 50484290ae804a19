//! Responses without a stream: results, errors, and the refusals of the transport itself.
//!
//! It must never answer with plain text: a client that cannot read an answer cannot correct itself.
//! The service, the exchange and the compatibility profile call it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::error::push_error;
use callgate_protocol::{ErrorCode, Id};
use futures_util::Stream;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::body::Body;
use crate::endpoint::{Answered, Published};
use crate::respond;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// One JSON message.
pub(crate) fn json_response(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::json(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// The response of a method; its end may be shared with other answers, and is not copied. `head` is an empty
/// header map. A caller whose credential was refused is told what `protection` asks for.
pub(crate) fn answered_response(
    status: StatusCode,
    answered: Answered,
    mut head: HeaderMap,
    protection: impl FnOnce() -> Arc<Published>,
) -> Response<Body> {
    let Answered { text, rest, challenge, .. } = answered;
    head.insert(CONTENT_TYPE, JSON);
    if let Some(challenge) = challenge {
        head.insert(WWW_AUTHENTICATE, challenge.header(protection().protection.as_ref()));
    }
    let mut response = Response::new(Body::whole(text, rest));
    *response.status_mut() = status;
    *response.headers_mut() = head;
    response
}

/// The protected-resource metadata. Clients may keep it for a while; it changes with the configuration.
pub(super) fn metadata(document: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::whole(String::new(), document));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

/// A JSON-RPC error. Without an id the member is left out.
pub(crate) fn error_response(
    status: StatusCode,
    code: ErrorCode,
    message: &str,
    id: Option<&Id>,
) -> Response<Body> {
    let mut text = String::new();
    push_error(&mut text, id, code, message, None);
    json_response(status, text)
}

/// A stream of server-sent events. Each item is one event or several, already framed. Dropping the body
/// drops the stream.
pub(crate) fn event_stream_response(
    events: impl Stream<Item = String> + Send + 'static,
    interval: std::time::Duration,
) -> Response<Body> {
    events_response(Body::of_events(Box::pin(events), interval))
}

pub(super) fn events_response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    // Nothing on the way may keep or rewrite a stream, nor wait for it to be complete.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// A notification was accepted.
pub(super) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// A refusal of the transport, before any message is known.
pub(super) fn invalid(status: StatusCode, message: &str) -> Response<Body> {
    error_response(status, ErrorCode::InvalidRequest, message, None)
}

pub(super) fn method_not_allowed() -> Response<Body> {
    let mut response =
        invalid(StatusCode::METHOD_NOT_ALLOWED, "Invalid request: messages are sent with POST");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

pub(super) fn body_too_long() -> Response<Body> {
    invalid(StatusCode::PAYLOAD_TOO_LARGE, "Invalid request: the body is longer than the bound")
}

pub(super) fn body_too_slow() -> Response<Body> {
    invalid(StatusCode::REQUEST_TIMEOUT, "Invalid request: the body did not arrive in time")
}

pub(super) fn body_broken() -> Response<Body> {
    invalid(StatusCode::BAD_REQUEST, "Invalid request: the body ended before it was complete")
}

pub(super) fn out_of_memory() -> Response<Body> {
    let message = "The server holds as many request bodies as it may; try again";
    let mut response =
        error_response(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::InternalError, message, None);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// An address has asked more often than it may; it is told when to come back.
pub(super) fn too_often(wait: Duration) -> Response<Body> {
    let wait = Duration::from_millis(u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX));
    let refusal = Refusal::new(Code::RateLimited, "this address has asked as often as it may for now");
    let answered = respond::to_error(None, &refusal.with_retry_after(wait));
    let mut response = json_response(StatusCode::TOO_MANY_REQUESTS, answered.into_text());
    // In whole seconds, rounded up: who waits as told must not come too early.
    let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
