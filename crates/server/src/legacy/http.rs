//! The compatibility profile over Streamable HTTP, as 2025-03-26, 2025-06-18 and 2025-11-25 define it.
//!
//! It must never let one principal use the session of another, never take a session for an authentication,
//! and never answer for a session that has ended. The HTTP transport hands over what its exchange has found
//! to be legacy. A client that goes away does not cancel its request here: "Disconnection SHOULD NOT be
//! interpreted as the client cancelling its request", so a request runs in a task of its own, and what it
//! says is kept for a while for a client that comes back.

mod accept;
mod call;
mod caller;
mod client;
mod reader;
mod registry;
mod streams;

use std::sync::Arc;

use callgate_core::port::Transport;
use callgate_protocol::{ErrorCode, Id, Message, Method, Notification, Request, Revision, json};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use super::{LegacyLimits, Session, refuse_without_session, split_batch};
use crate::endpoint::Endpoint;
use crate::http::{Body, error_response, event_stream_response, json_response};
use crate::shutdown::Shutdown;
use accept::accepts;
use caller::Caller;
use client::Client;
use registry::{Full, Registry};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The oldest revision that has Streamable HTTP.
const FLOOR: Revision = Revision::V2025_03_26;

const WRONG_VERSION: &str =
    "Invalid request: `MCP-Protocol-Version` must be sent once and name the version that was agreed on";

/// All legacy clients of one HTTP service.
pub(crate) struct Sessions {
    endpoint: Arc<Endpoint>,
    shutdown: Shutdown,
    limits: LegacyLimits,
    /// The bounds of one message.
    message: json::Limits,
    registry: Registry,
}

/// What a legacy client has posted.
pub(crate) enum Posted {
    /// One message.
    Message(Message),
    /// The text of a batch.
    Batch(Vec<u8>),
}

impl Posted {
    /// The id to answer with, where what was posted is a request.
    fn request_id(&self) -> Option<&Id> {
        match self {
            Self::Message(Message::Request(request)) => Some(request.id()),
            Self::Message(Message::Notification(_) | Message::Response(_)) | Self::Batch(_) => None,
        }
    }
}

/// What is answered instead.
type Refused = Response<Body>;

impl Sessions {
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        shutdown: Shutdown,
        limits: LegacyLimits,
        message: json::Limits,
    ) -> Self {
        Self { endpoint, shutdown, registry: Registry::new(limits.clone()), limits, message }
    }

    /// Takes what was posted.
    pub(crate) async fn post(
        self: Arc<Self>,
        posted: Posted,
        headers: HeaderMap,
        transport: Transport,
    ) -> Response<Body> {
        let id = posted.request_id();
        if !accepts(&headers, &["application/json", "text/event-stream"]) {
            let message = "Invalid request: `Accept` must name `application/json` and `text/event-stream`";
            return invalid(StatusCode::NOT_ACCEPTABLE, message, id);
        }
        let caller = Caller::of(&headers, transport);
        if let Posted::Message(Message::Request(request)) = &posted
            && Method::of_name(&request.method()) == Some(Method::Initialize)
        {
            return self.open(request, &caller).await;
        }
        let client = match self.find(&headers, &caller, id).await {
            Ok(client) => client,
            Err(Missing::Header) => {
                // Whoever may not call here hears that first, whatever is missing besides.
                return match caller.principal(&self.endpoint, id).await {
                    Ok(_) => refuse_missing(&posted),
                    Err(refused) => refused,
                };
            }
            Err(Missing::Other(refused)) => return refused,
        };
        match posted {
            Posted::Message(Message::Request(request)) => {
                self.answer(client, caller, vec![request], Vec::new(), call::Form::Single).await
            }
            Posted::Message(Message::Notification(notification)) => {
                client.take_notification(&notification);
                accepted()
            }
            Posted::Message(Message::Response(response)) => {
                if client.session().resolve(&response) {
                    accepted()
                } else {
                    invalid(StatusCode::BAD_REQUEST, "Invalid request: nothing of this `id` was asked", None)
                }
            }
            Posted::Batch(text) => self.take_batch(client, caller, text).await,
        }
    }

    /// Opens a stream for what belongs to no request, or goes on with one that broke.
    pub(crate) async fn get(self: Arc<Self>, headers: HeaderMap, transport: Transport) -> Response<Body> {
        let caller = Caller::of(&headers, transport);
        let client = match self.find(&headers, &caller, None).await {
            Ok(client) => client,
            Err(Missing::Header) => return self.missing_session(&caller).await,
            Err(Missing::Other(refused)) => return refused,
        };
        if let Err(refused) = caller.principal(&self.endpoint, None).await {
            return refused;
        }
        if !accepts(&headers, &["text/event-stream"]) {
            let message = "Invalid request: a stream needs `Accept: text/event-stream`";
            return invalid(StatusCode::NOT_ACCEPTABLE, message, None);
        }
        let interval = self.limits.keep_alive;
        let resumed = headers.get(LAST_EVENT).map(|event| event.to_str().ok().and_then(streams::parse_event));
        match resumed {
            None => {
                let after = client.streams().last_event(streams::STANDALONE);
                event_stream_response(self.standalone(client, caller, after), interval)
            }
            Some(Some((streams::STANDALONE, after))) => {
                event_stream_response(self.standalone(client, caller, after), interval)
            }
            Some(Some((stream, after))) if client.streams().has(stream) => {
                event_stream_response(reader::Reader::resume(client, stream, after), interval)
            }
            Some(_) => {
                let message = "Invalid request: the stream of this `Last-Event-ID` is not kept any more";
                invalid(StatusCode::BAD_REQUEST, message, None)
            }
        }
    }

    /// Ends a session.
    pub(crate) async fn delete(self: Arc<Self>, headers: HeaderMap, transport: Transport) -> Response<Body> {
        let caller = Caller::of(&headers, transport);
        match self.find(&headers, &caller, None).await {
            Ok(client) => {
                self.registry.remove(client.id());
                client.close();
                with_status(StatusCode::NO_CONTENT)
            }
            Err(Missing::Header) => self.missing_session(&caller).await,
            Err(Missing::Other(refused)) => refused,
        }
    }

    async fn open(&self, request: &Request, caller: &Caller) -> Response<Body> {
        let id = Some(request.id());
        let limits = self.limits.clone();
        let opened = Session::open(&self.endpoint, request, caller.from(), FLOOR, limits).await;
        let (session, text) = match opened {
            Ok(opened) => opened,
            Err(answered) => return caller::refuse(&self.endpoint, answered),
        };
        let owner = match caller.principal(&self.endpoint, id).await {
            Ok(owner) => owner,
            Err(refused) => return refused,
        };
        let mut random = [0; 16];
        if self.endpoint.pipeline().entropy().fill(&mut random).is_err() {
            return failed(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", id);
        }
        let client = Client::new(client::session_id(&random), session, owner, &self.registry);
        let value = HeaderValue::from_str(client.id());
        match (self.registry.insert(client), value) {
            (Ok(()), Ok(value)) => {
                let mut response = json_response(StatusCode::OK, text);
                response.headers_mut().insert(SESSION, value);
                response
            }
            (Err(Full { room_in }), _) => {
                let message = "The server holds as many sessions as it may; try again later";
                let mut response = failed(StatusCode::SERVICE_UNAVAILABLE, message, id);
                let seconds = room_in.as_secs() + u64::from(room_in.subsec_nanos() > 0);
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                response
            }
            // The id is made of hexadecimal digits.
            (Ok(()), Err(_)) => failed(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", id),
        }
    }

    /// The session that the headers name, if it is this caller's. `id` is that of the request that asks.
    async fn find(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
        id: Option<&Id>,
    ) -> Result<Arc<Client>, Missing> {
        let refuse = |status, message| Missing::Other(invalid(status, message, id));
        if !headers.contains_key(SESSION) {
            return Err(Missing::Header);
        }
        let principal = caller.identity(&self.endpoint, id).await.map_err(Missing::Other)?;
        let mut named = headers.get_all(SESSION).iter();
        let session = match (named.next(), named.next()) {
            (None, _) => return Err(Missing::Header),
            (Some(session), None) => session.to_str().unwrap_or_default(),
            (Some(_), Some(_)) => {
                let message = "Invalid request: `Mcp-Session-Id` must be sent once";
                return Err(refuse(StatusCode::BAD_REQUEST, message));
            }
        };
        let Ok(version) = named_version(headers) else {
            return Err(refuse(StatusCode::BAD_REQUEST, WRONG_VERSION));
        };
        // Somebody else's session looks like none, so that ids cannot be tried.
        let Some(client) = self.registry.find(session, &principal) else {
            let message = "Invalid request: this session has ended; send `initialize` again";
            return Err(refuse(StatusCode::NOT_FOUND, message));
        };
        if version.is_some_and(|version| version != client.session().revision()) {
            return Err(refuse(StatusCode::BAD_REQUEST, WRONG_VERSION));
        }
        Ok(client)
    }

    /// The refusal of something that is no message and names no session.
    async fn missing_session(&self, caller: &Caller) -> Response<Body> {
        match caller.principal(&self.endpoint, None).await {
            Ok(_) => missing_session(None),
            Err(refused) => refused,
        }
    }

    async fn take_batch(&self, client: Arc<Client>, caller: Caller, text: Vec<u8>) -> Response<Body> {
        if !client.session().has_batches() {
            let message = "Invalid request: JSON-RPC batches are not accepted; send each message on its own";
            return invalid(StatusCode::BAD_REQUEST, message, None);
        }
        let members = match split_batch(text, &self.limits, &self.message) {
            Ok(members) => members,
            Err(text) => return json_response(StatusCode::BAD_REQUEST, text),
        };
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for member in members {
            match member {
                Ok(Message::Request(request)) => requests.push(request),
                Ok(Message::Notification(notification)) => client.take_notification(&notification),
                Ok(Message::Response(response)) => {
                    client.session().resolve(&response);
                }
                Err(text) => answers.push(text),
            }
        }
        if requests.is_empty() && answers.is_empty() {
            return accepted();
        }
        self.answer(client, caller, requests, answers, call::Form::Batch).await
    }
}

impl Client {
    fn take_notification(&self, notification: &Notification) {
        if Method::of_name(&notification.method()) == Some(Method::Cancelled) {
            let id = notification.params().and_then(|params| params.get("requestId"));
            // An unknown id is no fault: the request may have ended.
            if let Some(id) = id.and_then(Id::from_value) {
                self.cancel(&id);
            }
        }
    }
}

/// The version header does not name one revision that has sessions here.
struct Unserved;

/// Why there is no session.
enum Missing {
    /// The header was not sent.
    Header,
    /// For another reason.
    Other(Refused),
}

/// The revision that the version header names; nothing without the header, because then the session says
/// which revision is spoken. "If the server receives a request with an invalid or unsupported
/// MCP-Protocol-Version, it MUST respond with 400 Bad Request":
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header>
fn named_version(headers: &HeaderMap) -> Result<Option<Revision>, Unserved> {
    let mut named = headers.get_all(VERSION).iter();
    let version = match (named.next(), named.next()) {
        (None, _) => return Ok(None),
        (Some(version), None) => version.to_str().map_err(|_no_text| Unserved)?,
        (Some(_), Some(_)) => return Err(Unserved),
    };
    Revision::of_name(version.trim_ascii())
        .filter(|revision| *revision >= FLOOR && !revision.is_modern())
        .map(Some)
        .ok_or(Unserved)
}

/// The refusal of something that needs a session and names none.
fn refuse_missing(posted: &Posted) -> Response<Body> {
    match posted {
        Posted::Message(Message::Request(request)) => {
            json_response(StatusCode::BAD_REQUEST, refuse_without_session(request))
        }
        Posted::Message(_) | Posted::Batch(_) => missing_session(None),
    }
}

fn missing_session(id: Option<&Id>) -> Response<Body> {
    invalid(StatusCode::BAD_REQUEST, "Invalid request: `Mcp-Session-Id` is required", id)
}

fn invalid(status: StatusCode, message: &str, id: Option<&Id>) -> Response<Body> {
    error_response(status, ErrorCode::InvalidRequest, message, id)
}

fn failed(status: StatusCode, message: &str, id: Option<&Id>) -> Response<Body> {
    error_response(status, ErrorCode::InternalError, message, id)
}

fn accepted() -> Response<Body> {
    with_status(StatusCode::ACCEPTED)
}

fn with_status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
