//! One request over HTTP, from its bytes to what is to be answered.
//!
//! The era is decided here, by the metadata of the message itself and by nothing else; what is not
//! modern goes to the compatibility profile in one branch, and the modern path knows nothing more of
//! it. It must never let a request reach the endpoint whose headers say something else than its body.
//! The response future makes an exchange for each request and polls it.

mod era;

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use callgate_core::port::{Credentials, Transport};
use callgate_core::refusal::Code;
use callgate_protocol::error::push_error;
use callgate_protocol::json::Memory;
use callgate_protocol::meta::{Era, RequestMeta, classify};
use callgate_protocol::{ErrorCode, Id, Message, Method, Request, decode_with};
use http::{HeaderMap, Response, StatusCode};
use tokio_util::sync::ReusableBoxFuture;

use super::Shared;
use super::agreement::{Mismatch, check_method_and_name, check_version};
use super::body::Body;
use super::head::{Accepts, Mirrors, Parameters};
use super::response::Budget;
use crate::endpoint::{Answered, Endpoint, From, Opening, Subscription};
use crate::legacy::http::Posted;
use crate::outbox::{Framing, Outbox, OutboxLimits};
use crate::respond;

use era::{PostedEra, expectation, notification_era, of_header, refuse_legacy, refuse_meta};

/// What the response future and the exchange both need to know of one request.
pub(super) struct Ticket {
    pub(super) outbox: Outbox,
    left: Mutex<Left>,
}

/// What an exchange leaves for whoever makes the response.
#[derive(Default)]
struct Left {
    /// The id of the request, once it is known.
    id: Option<Id>,
    /// The header map of the request, emptied. The response has fewer fields, so its map need not grow.
    head: HeaderMap,
    /// What the message leaves for the next one on the connection.
    memory: Memory,
}

impl Ticket {
    /// The answer to a request that the end of the server overtook.
    pub(super) fn expired(&self) -> Reply {
        let message = "The server is shutting down and did not finish this request";
        self.failed(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    fn failed(&self, status: StatusCode, message: &str) -> Reply {
        Reply::error(status, ErrorCode::InternalError, message, self.left().id.as_ref())
    }

    /// An empty header map for the response.
    pub(super) fn take_head(&self) -> HeaderMap {
        std::mem::take(&mut self.left().head)
    }

    /// Leaves what the request no longer needs.
    fn leave(&self, mut headers: HeaderMap, memory: Memory) {
        headers.clear();
        let mut left = self.left();
        left.head = headers;
        left.memory = memory;
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is to be answered.
pub(super) enum Reply {
    /// The response of a method.
    Answered(Answered),
    /// An error before a method ran.
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The JSON-RPC error.
        text: String,
    },
    /// A notification was taken.
    Accepted,
    /// A subscription is open. Boxed, because every other reply is small.
    Listening(Box<Subscription>),
    /// The compatibility profile has answered.
    Whole(Box<Response<Body>>),
}

impl Reply {
    fn error(status: StatusCode, code: ErrorCode, message: &str, id: Option<&Id>) -> Self {
        let mut text = String::new();
        push_error(&mut text, id, code, message, None);
        Self::Refused { status, text }
    }

    fn bad_request(code: ErrorCode, message: &str, id: Option<&Id>) -> Self {
        Self::error(StatusCode::BAD_REQUEST, code, message, id)
    }

    /// The message in it, if it has one.
    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Answered(answered) => Some(answered.into_text()),
            Self::Refused { text, .. } => Some(text),
            Self::Accepted | Self::Listening(_) | Self::Whole(_) => None,
        }
    }
}

/// A request that is being answered, and the place where it is. Dropping it cancels the request.
///
/// The place outlives the request: the next one on the connection is put there.
pub(super) struct Line {
    exchange: ReusableBoxFuture<'static, Reply>,
    pub(super) ticket: Arc<Ticket>,
}

impl Line {
    /// Makes a request from what it needs to know of its ticket, in the place of an earlier one where there is one.
    pub(super) fn open<F>(
        spare: Option<Self>,
        limits: OutboxLimits,
        exchange: impl FnOnce(Arc<Ticket>) -> F,
    ) -> Self
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        if let Some(mut line) = spare {
            // Nobody else has a ticket whose request is over.
            if let Some(ticket) = Arc::get_mut(&mut line.ticket) {
                ticket.outbox.clear();
                let left = ticket.left.get_mut().unwrap_or_else(PoisonError::into_inner);
                left.id = None;
                line.exchange.set(exchange(Arc::clone(&line.ticket)));
                return line;
            }
        }
        let ticket =
            Arc::new(Ticket { outbox: Outbox::new(limits, Framing::Events), left: Mutex::default() });
        Self { exchange: ReusableBoxFuture::new(exchange(Arc::clone(&ticket))), ticket }
    }

    /// An empty buffer for the text of the next request, if an earlier one has left it.
    pub(super) fn take_text(&self) -> Vec<u8> {
        self.ticket.left().memory.take_text()
    }

    /// Polls it. A panic is an answer too: the client must not wait for one that never comes.
    pub(super) fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Reply> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.exchange.poll(context)));
        polled.unwrap_or_else(|_panic| {
            tracing::error!("a request ended in a panic");
            Poll::Ready(self.ticket.failed(StatusCode::INTERNAL_SERVER_ERROR, "Internal error"))
        })
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line")
    }
}

/// A body that has arrived, with what came before it.
pub(super) struct Posting {
    pub(super) shared: Arc<Shared>,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Vec<u8>,
    pub(super) budget: Budget,
    pub(super) transport: Transport,
    pub(super) accepts: Accepts,
    pub(super) ticket: Arc<Ticket>,
}

/// Decodes and answers one body.
pub(super) async fn post(posting: Posting) -> Reply {
    let Posting { shared, headers, bytes, budget, transport, accepts, ticket } = posting;
    let _held_until_answered = budget;
    let mirrors = Mirrors::of(&headers);
    if let Some(sessions) = &shared.legacy
        && mirrors.session.is_present()
        && is_batch(&bytes)
    {
        let sessions = Arc::clone(sessions);
        return Reply::Whole(Box::new(sessions.post(Posted::Batch(bytes), headers, transport).await));
    }
    let caller = Credentials::new(transport, mirrors.authorization());
    let limits = &shared.limits.message;
    let mut memory = std::mem::take(&mut ticket.left().memory);
    let message = match decode_with(bytes, &mut memory, limits) {
        Ok(message) => message,
        Err(error) => {
            let mut text = String::new();
            error.push(&mut text);
            let status = StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
            return for_callers(&shared, caller, None, Reply::Refused { status, text }).await;
        }
    };
    let era = match &message {
        Message::Request(request) => match classify(request.params(), expectation(&mirrors)) {
            Ok(Era::Modern(meta)) => {
                ticket.left().id = Some(request.id().clone());
                let from = Sender { mirrors: &mirrors, headers: &headers, transport, accepts };
                let reply = modern(&shared, request, &meta, from, &ticket).await;
                if matches!(reply, Reply::Refused { .. }) {
                    return for_callers(&shared, caller, Some(request.id()), reply).await;
                }
                if let Message::Request(request) = message {
                    request.leave(&mut memory, limits);
                }
                ticket.leave(headers, memory);
                return reply;
            }
            Ok(Era::Legacy) => PostedEra::Legacy,
            Err(error) => PostedEra::Refused(refuse_meta(&of_header(error, &mirrors), Some(request.id()))),
        },
        Message::Notification(notification) => notification_era(notification, &mirrors),
        Message::Response(_) if mirrors.session.is_present() => PostedEra::Legacy,
        Message::Response(_) => PostedEra::Refused(Reply::bad_request(
            ErrorCode::InvalidRequest,
            "Invalid request: this server sends no requests and takes no responses",
            None,
        )),
    };
    let reply = match (era, &shared.legacy) {
        (PostedEra::Modern, _) => Reply::Accepted,
        (PostedEra::Refused(reply), _) => reply,
        (PostedEra::Legacy, Some(sessions)) => {
            let sessions = Arc::clone(sessions);
            let response = sessions.post(Posted::Message(message), headers, transport).await;
            return Reply::Whole(Box::new(response));
        }
        (PostedEra::Legacy, None) => refuse_legacy(&message),
    };
    let id = match &message {
        Message::Request(request) => Some(request.id()),
        Message::Notification(_) | Message::Response(_) => None,
    };
    for_callers(&shared, caller, id, reply).await
}

/// A reply that no method gave. Methods authenticate their callers; this is only for those who may call
/// here, too.
async fn for_callers(shared: &Shared, caller: Credentials<'_>, id: Option<&Id>, reply: Reply) -> Reply {
    let published = shared.endpoint.published();
    match Endpoint::authenticate(&published, caller).await {
        Ok(_) => reply,
        Err(refusal) => Reply::Answered(respond::to_error(id, &refusal)),
    }
}

/// Who sent a modern request.
struct Sender<'r> {
    mirrors: &'r Mirrors<'r>,
    headers: &'r HeaderMap,
    transport: Transport,
    accepts: Accepts,
}

async fn modern(
    shared: &Shared,
    request: &Request,
    meta: &RequestMeta<'_>,
    sender: Sender<'_>,
    ticket: &Ticket,
) -> Reply {
    let id = Some(request.id());
    let credentials = Credentials::new(sender.transport, sender.mirrors.authorization());
    if let Err(error) = check_version(sender.mirrors, meta) {
        return mismatched(shared, request, credentials, &error).await;
    }
    if let Err(error) = meta.revision() {
        return refuse_meta(&error, id);
    }
    if let Err(error) = check_method_and_name(sender.mirrors, request) {
        return mismatched(shared, request, credentials, &error).await;
    }
    let parameters = Parameters(sender.headers);
    let from = From { credentials, headers: Some(&parameters) };
    if request.known_method() == Some(Method::SubscriptionsListen) {
        if !sender.accepts.events {
            let message = "Invalid request: a subscription needs `Accept: text/event-stream`";
            return Reply::error(StatusCode::NOT_ACCEPTABLE, ErrorCode::InvalidRequest, message, id);
        }
        return match shared.endpoint.listen(request, meta, from, Opening::First).await {
            Ok(subscription) => Reply::Listening(Box::new(subscription)),
            Err(answered) => Reply::Answered(answered),
        };
    }
    if sender.accepts.events {
        ticket.outbox.listen(meta);
    }
    Reply::Answered(shared.endpoint.answer(request, meta, from, &ticket.outbox).await)
}

/// Refuses a request whose headers say something else than its body. A call leaves a record of that.
async fn mismatched(
    shared: &Shared,
    request: &Request,
    credentials: Credentials<'_>,
    mismatch: &Mismatch,
) -> Reply {
    let message = mismatch.to_string();
    if request.known_method() == Some(Method::ToolsCall) {
        let refused = shared.endpoint.refuse_call(request, credentials, Code::HeaderMismatch, &message).await;
        return Reply::Answered(refused);
    }
    Reply::bad_request(ErrorCode::HeaderMismatch, &message, Some(request.id()))
}

/// True when the first character that counts opens an array.
fn is_batch(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}
