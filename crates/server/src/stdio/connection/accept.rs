//! What a connection does with one line: which era, which kind of message, and whether it is accepted.
//!
//! It must never choose the era by the method, never answer what is no request, and never let a modern
//! request learn of a legacy session. The connection calls it for each line.

use std::sync::Arc;
use std::task::Context;

use callgate_protocol::error::push_error;
use callgate_protocol::json::Limits;
use callgate_protocol::meta::is_modern;
use callgate_protocol::{ErrorCode, Id, Message, Method, Notification, Request, Revision, decode};
use tokio::io::{AsyncRead, AsyncWrite};

use super::Connection;
use crate::legacy::{self, Session};
use crate::stdio::flights::Kind;
use crate::stdio::wire::push_line;
use crate::stdio::{batch, call};

/// A request that waits for a place.
pub(super) enum Pending {
    /// It carries its own metadata.
    Modern(Request),
    /// It belongs to the legacy client, as it was when the request came.
    Legacy(Arc<Session>, Request),
}

impl Pending {
    pub(super) fn id(&self) -> &Id {
        match self {
            Self::Modern(request) | Self::Legacy(_, request) => request.id(),
        }
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    /// Handles one line; nothing stands for a line that was too long.
    pub(super) fn accept(&mut self, line: Option<Vec<u8>>, context: &mut Context<'_>) {
        let Some(line) = line else {
            let message = format!("Invalid request: a line may have {} bytes", self.limits.line_bytes);
            return self.refuse(None, ErrorCode::InvalidRequest, &message);
        };
        if let Some(session) = self.batching(&line) {
            return self.accept_batch(&session, line, context);
        }
        match decode(line, &Limits::DEFAULT.with_bytes(self.limits.line_bytes)) {
            Ok(message) => self.accept_message(message, context),
            Err(error) => {
                tracing::debug!(%error, "a line is no message");
                // An error is never answered, so that two peers cannot keep each other busy with them.
                if error.is_answered() {
                    let mut text = String::new();
                    error.push(&mut text);
                    push_line(&mut self.unwritten, &text);
                }
            }
        }
    }

    fn accept_message(&mut self, message: Message, context: &mut Context<'_>) {
        match message {
            Message::Request(request) => self.accept_request(request, context),
            Message::Notification(notification) => self.accept_notification(&notification),
            // Only a legacy client is ever asked something.
            Message::Response(response) => {
                if !self.session.as_ref().is_some_and(|session| session.resolve(&response)) {
                    tracing::debug!("a response answers nothing that was asked");
                }
            }
        }
    }

    fn accept_request(&mut self, request: Request, context: &mut Context<'_>) {
        if self.is_in_flight(request.id()) {
            // "The request ID MUST NOT have been previously used by the requestor within the same session":
            // with two of them nobody could tell whose answer is whose.
            return self.refuse(
                Some(request.id()),
                ErrorCode::InvalidRequest,
                "Invalid request: a request with this `id` is still in flight",
            );
        }
        if is_modern(request.params()) {
            if Method::of_name(&request.method()) == Some(Method::SubscriptionsListen) {
                return self.subscribe(request, context);
            }
            return self.start_or_wait(Pending::Modern(request), context);
        }
        if Method::of_name(&request.method()) == Some(Method::Initialize) {
            let (endpoint, limits) = (Arc::clone(&self.endpoint), self.limits.legacy.clone());
            self.handshake = Some(Box::pin(async move {
                Session::open(&endpoint, &request, call::sender(), Revision::V2024_11_05, limits)
                    .await
                    .map_err(crate::endpoint::Answered::into_text)
            }));
            self.poll_handshake(context);
            return;
        }
        match &self.session {
            Some(session) => {
                let pending = Pending::Legacy(Arc::clone(session), request);
                self.start_or_wait(pending, context);
            }
            None => {
                let text = legacy::refuse_without_session(&request);
                push_line(&mut self.unwritten, &text);
            }
        }
    }

    /// Goes on with an `initialize`. True when it is answered.
    pub(super) fn poll_handshake(&mut self, context: &mut Context<'_>) -> bool {
        let Some(handshake) = &mut self.handshake else { return false };
        let std::task::Poll::Ready(ended) = handshake.as_mut().poll(context) else { return false };
        self.handshake = None;
        match ended {
            Ok((session, text)) => {
                push_line(&mut self.unwritten, &text);
                let session = Arc::new(session);
                // A client may begin anew; nothing of the session before remains.
                if let Some(notices) = self.notices.take() {
                    notices.abort();
                }
                self.session = Some(session);
            }
            Err(text) => push_line(&mut self.unwritten, &text),
        }
        true
    }

    fn accept_notification(&mut self, notification: &Notification) {
        match Method::of_name(&notification.method()) {
            Some(Method::Cancelled) => {
                let id = notification.params().and_then(|params| params.get("requestId"));
                // "Invalid cancellation notifications SHOULD be ignored".
                if let Some(id) = id.and_then(Id::from_value) {
                    self.cancel(&id);
                }
            }
            Some(Method::Initialized) => {
                let Some(session) = &self.session else { return };
                if self.notices.is_none() {
                    let work = call::notices(
                        Arc::clone(&self.endpoint),
                        Arc::clone(&self.wire),
                        Arc::clone(session),
                    );
                    self.notices = Some(self.flights.push_standing(work));
                }
            }
            _ => {}
        }
    }

    /// Drops the work of a request. Nothing is written for it afterwards, because its answer existed only in
    /// that work: "MUST NOT send any further messages for the cancelled request".
    fn cancel(&mut self, id: &Id) {
        if self.flights.cancel(id) {
            tracing::debug!(%id, "cancelled by the client");
        } else if !self.waiting.is_empty() {
            self.waiting.retain(|pending| pending.id() != id);
        }
    }

    fn is_in_flight(&self, id: &Id) -> bool {
        self.flights.contains(id) || self.waiting.iter().any(|pending| pending.id() == id)
    }

    fn start_or_wait(&mut self, pending: Pending, context: &mut Context<'_>) {
        if self.has_place() && self.waiting.is_empty() {
            self.start(pending, context);
        } else {
            self.waiting.push_back(pending);
        }
    }

    pub(super) fn start(&mut self, pending: Pending, context: &mut Context<'_>) {
        let id = pending.id().clone();
        let (endpoint, wire) = (Arc::clone(&self.endpoint), Arc::clone(&self.wire));
        let work = match pending {
            Pending::Modern(request) => call::modern(endpoint, wire, request),
            Pending::Legacy(session, request) => call::legacy(endpoint, wire, session, request),
        };
        self.run(context, |flights, work| flights.push(Kind::Call, id, work), work);
    }

    fn subscribe(&mut self, request: Request, context: &mut Context<'_>) {
        let id = request.id().clone();
        let work = call::subscription(
            Arc::clone(&self.endpoint),
            Arc::clone(&self.wire),
            self.closing.clone(),
            request,
        );
        self.run(context, |flights, work| flights.push(Kind::Standing, id, work), work);
    }

    /// The session, when its revision has batches and the line is one.
    fn batching(&self, line: &[u8]) -> Option<Arc<Session>> {
        let session = self.session.as_ref()?;
        (session.has_batches() && line.trim_ascii_start().starts_with(b"[")).then(|| Arc::clone(session))
    }

    fn accept_batch(&mut self, session: &Arc<Session>, line: Vec<u8>, context: &mut Context<'_>) {
        let limits = Limits::DEFAULT.with_bytes(self.limits.line_bytes);
        let members = match legacy::split_batch(line, session.limits(), &limits) {
            Ok(members) => members,
            Err(text) => return push_line(&mut self.unwritten, &text),
        };
        let mut work = batch::Batch::default();
        for member in members {
            match member {
                Ok(Message::Request(request))
                    if self.is_in_flight(request.id()) || work.has(request.id()) =>
                {
                    let mut text = String::new();
                    let message = "Invalid request: a request with this `id` is still in flight";
                    push_error(&mut text, Some(request.id()), ErrorCode::InvalidRequest, message, None);
                    work.push_answer(text);
                }
                Ok(Message::Request(request)) => {
                    let id = request.id().clone();
                    let (endpoint, wire) = (Arc::clone(&self.endpoint), Arc::clone(&self.wire));
                    work.push(id, call::legacy(endpoint, wire, Arc::clone(session), request));
                }
                Ok(other) => self.accept_message(other, context),
                Err(text) => work.push_answer(text),
            }
        }
        if let Some((members, work)) = work.into_work() {
            self.run(context, |flights, work| flights.push_batch(members, work), work);
        }
    }

    fn refuse(&mut self, id: Option<&Id>, code: ErrorCode, message: &str) {
        let mut text = String::new();
        push_error(&mut text, id, code, message, None);
        push_line(&mut self.unwritten, &text);
    }
}
