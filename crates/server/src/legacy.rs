//! The compatibility profile: clients of the four revisions that begin with `initialize`.
//!
//! Each legacy request is turned into the 2026-07-28 request that means the same, answered by the endpoint
//! as any other, and its answer is turned back. So both eras pass the same gate, and the modern path never
//! knows that this module exists. It must never let a legacy session answer for a modern request, never send
//! a member that the client's revision lacks, and never hold more for a client than its [`LegacyLimits`].
//! Both transports call it: stdio keeps one [`Session`] for the process, HTTP a bounded number of them.
//!
//! # What is lost on the way down
//! - `resultType`, `ttlMs`, `cacheScope` and the modern keys of `_meta` are left out.
//! - `structuredContent` goes to 2025-06-18 and later, and only when it is an object, as those revisions
//!   require; the text block with the same JSON is always there. `outputSchema` goes with it, when its type
//!   is `object`.
//! - Icons need 2025-11-25; titles, `_meta` of definitions and blocks, and resource links 2025-06-18;
//!   annotations of tools and audio 2025-03-26. A block that the revision lacks becomes a text that says so.
//! - A question that is asked in a result is put to the client as a request, and the tool runs again with the
//!   answers, as it does for a modern client.
//! - The revision 2024-11-05 is served over stdio; its HTTP+SSE transport is not.

mod exchange;
mod handshake;
pub(crate) mod http;
mod notices;
mod question;
mod render;
mod session;
mod translate;

use std::time::Duration;

use callgate_core::port::Answer;
use callgate_protocol::error::push_error;
use callgate_protocol::json::{Document, Kind, Limits};
use callgate_protocol::{DecodeError, ErrorCode, Message, Method, Request, Revision, decode};

use crate::protection::Challenge;
pub(crate) use session::Session;

/// Bounds of what legacy clients may hold.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LegacyLimits {
    /// Sessions over HTTP in the whole process. Default: 1,024; beyond it the oldest session goes whose client
    /// did not come back after `initialize`, and if there is none, `initialize` is refused with 503. A session
    /// without streams costs about two KiB.
    pub sessions: usize,
    /// Sessions of one principal over HTTP, which then makes room or waits in the same way. Default: 512, half of
    /// them, so that one principal cannot keep all others out.
    pub sessions_per_principal: usize,
    /// How long a session without a request and without a stream stays. Default: 30 minutes.
    pub idle: Duration,
    /// How long a session stays whose client has not come back after `initialize`, if that is less. Default: 60
    /// seconds; a client sends `notifications/initialized` at once.
    pub unused: Duration,
    /// Requests of one session that run at the same time over HTTP. Default: 64.
    pub requests: usize,
    /// Questions that one client has not answered yet. Default: 32.
    pub questions: usize,
    /// How long a client may take to answer a question. Default: 5 minutes, because people answer them.
    pub question_timeout: Duration,
    /// How often one call may ask again. Default: 16.
    pub rounds: usize,
    /// Resources that one session may subscribe to. Default: 128, as for one modern subscription.
    pub subscriptions: usize,
    /// The longest URI of such a resource, in bytes. Default: 2,048.
    pub uri_bytes: usize,
    /// Bytes of events that one session keeps for a client that comes back with `Last-Event-ID`. Default:
    /// 2 MiB, more than the largest result; the oldest events go first.
    pub replay_bytes: usize,
    /// Such bytes in the whole process. Default: 64 MiB.
    pub replay_bytes_total: usize,
    /// Events that one session keeps. Default: 512.
    pub replay_events: usize,
    /// Streams that one session keeps. Default: 80, those of all requests in flight and some that ended.
    pub streams: usize,
    /// Messages in one batch of 2025-03-26. Default: 64.
    pub batch: usize,
    /// How long a client should wait before it comes back, as the `retry` field tells it. Default: 500 ms.
    pub retry: Duration,
    /// Silence on a stream after which a comment is sent, and after which a request that runs is answered
    /// with a stream. Default: 15 seconds.
    pub keep_alive: Duration,
}

impl Default for LegacyLimits {
    fn default() -> Self {
        Self {
            sessions: 1024,
            sessions_per_principal: 512,
            idle: Duration::from_secs(30 * 60),
            unused: Duration::from_secs(60),
            requests: 64,
            questions: 32,
            question_timeout: Duration::from_secs(300),
            rounds: 16,
            subscriptions: 128,
            uri_bytes: 2048,
            replay_bytes: 2 << 20,
            replay_bytes_total: 64 << 20,
            replay_events: 512,
            streams: 80,
            batch: 64,
            retry: Duration::from_millis(500),
            keep_alive: Duration::from_secs(15),
        }
    }
}

/// The way to the client for everything that belongs to one request, or to none.
pub(crate) trait Channel: Send + Sync {
    /// Sends notifications: one message a line, each with its newline. They may be dropped when the client
    /// reads too slowly.
    fn lines(&self, lines: &str);

    /// Sends a message that must not be lost.
    fn message(&self, text: &str);

    /// Ready when the client reads fast enough that a notice may be sent with [`Channel::message`].
    fn room(&self) -> Answer<'_, ()>;

    /// The request is being refused for its credential, which a transport with a head says there too.
    fn challenged(&self, _status: u16, _challenge: &Challenge) {}

    /// Closes the stream of the request for now; the client comes back for the rest. Does nothing where the
    /// transport or the revision has no such thing.
    fn close_stream(&self);
}

/// The refusal of a request that has neither metadata of its own nor a session.
pub(crate) fn refuse_without_session(request: &Request) -> String {
    let mut text = String::new();
    let (code, message) = match Method::of_name(&request.method()) {
        Some(method) if method.is_sent_by_client(Revision::LATEST) => (
            ErrorCode::InvalidParams,
            "Invalid params: `_meta` with the protocol version is required, or `initialize` first",
        ),
        Some(Method::Ping) => {
            // Asking whether the server lives is allowed before `initialize`.
            callgate_protocol::error::push_result(&mut text, request.id(), "{}");
            return text;
        }
        Some(_) => (ErrorCode::InvalidRequest, "Invalid request: send `initialize` first"),
        None => (ErrorCode::MethodNotFound, "Method not found"),
    };
    push_error(&mut text, Some(request.id()), code, message, None);
    text
}

/// The messages of a batch, which has the bounds of one message; a member that is no message is given as the error to answer it with. Members
/// that must not be answered are left out.
///
/// # Errors
/// The text to answer with when the line is no batch, is empty, or is too large.
pub(crate) fn split_batch(
    text: Vec<u8>,
    limits: &LegacyLimits,
    message_limits: &Limits,
) -> Result<Vec<Result<Message, String>>, String> {
    let refuse = |error: &DecodeError| {
        let mut text = String::new();
        error.push(&mut text);
        text
    };
    let document =
        Document::parse_bytes(text, message_limits).map_err(|error| refuse(&DecodeError::from(error)))?;
    let batch = document.root();
    if batch.kind() != Kind::Array || batch.is_empty() || batch.len() > limits.batch {
        let message = format!("Invalid request: a batch has 1 to {} messages", limits.batch);
        let mut text = String::new();
        push_error(&mut text, None, ErrorCode::InvalidRequest, &message, None);
        return Err(text);
    }
    let members = batch.items().map(|member| decode(member.raw().as_bytes().to_vec(), message_limits));
    Ok(members
        .filter(|member| !matches!(member, Err(error) if !error.is_answered()))
        .map(|member| member.map_err(|error| refuse(&error)))
        .collect())
}

/// The answers of a batch as one array.
pub(crate) fn join_batch(answers: &[String]) -> String {
    let mut text = String::with_capacity(answers.iter().map(|answer| answer.len() + 1).sum::<usize>() + 1);
    for answer in answers {
        text.push(if text.is_empty() { '[' } else { ',' });
        text.push_str(answer);
    }
    text.push(']');
    text
}
