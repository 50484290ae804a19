//! Requests of a legacy client over HTTP, each in a task of its own, and the response that they share.
//!
//! It must never leave a response without its end, whatever ends a request. One that is ready before
//! anything has to be streamed is answered as JSON.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use callgate_core::port::Answer;
use callgate_protocol::error::push_error;
use callgate_protocol::{ErrorCode, Id, Request, Revision};
use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable};
use http::header::WWW_AUTHENTICATE;
use http::{Response, StatusCode};
use tokio::time::timeout;

use super::Sessions;
use super::caller::Caller;
use super::client::{Client, NotStarted};
use super::reader::Reader;
use super::streams::Progress;
use crate::http::{Body, event_stream_response, json_response};
use crate::legacy::Channel;
use crate::protection::Challenge;

/// How several answers are given in one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// There is one, and it stands for itself.
    Single,
    /// As an array.
    Batch,
}

impl Sessions {
    /// Runs requests and gives the response they share. `answers` are those that are known already.
    pub(super) async fn answer(
        &self,
        client: Arc<Client>,
        caller: Caller,
        requests: Vec<Request>,
        answers: Vec<String>,
        form: Form,
    ) -> Response<Body> {
        // One more than there are requests, so that the stream cannot end while they are being started.
        let stream = client.streams().begin(requests.len() + 1, answers);
        let caller = Arc::new(caller);
        let challenged = Arc::new(OnceLock::new());
        for request in requests {
            self.start(&client, &caller, stream, request, &challenged);
        }
        client.streams().end_one(stream);
        let progress = poll_fn(|context| client.streams().poll_progress(stream, context));
        match timeout(self.limits.keep_alive, progress).await {
            Ok(Progress::Answers(answers)) => {
                let mut response = respond(form, answers);
                // A status stands for one answer; several have to tell each in itself.
                if let (Form::Single, Some(refused)) = (form, challenged.get()) {
                    let refused: &Refused = refused;
                    *response.status_mut() = refused.status;
                    let protection = self.endpoint.published();
                    let header = refused.challenge.header(protection.protection.as_ref());
                    response.headers_mut().insert(WWW_AUTHENTICATE, header);
                }
                response
            }
            Ok(Progress::Streams) => {
                event_stream_response(Reader::begin(client, stream), self.limits.keep_alive)
            }
            // Before anybody on the way takes the silence for a dead server, it becomes a stream.
            Err(_elapsed) => {
                client.streams().start_streaming(stream);
                event_stream_response(Reader::begin(client, stream), self.limits.keep_alive)
            }
        }
    }

    fn start(
        &self,
        client: &Arc<Client>,
        caller: &Arc<Caller>,
        stream: u64,
        request: Request,
        challenged: &Arc<OnceLock<Refused>>,
    ) {
        let id = request.id().clone();
        let (handle, registration) = AbortHandle::new_pair();
        let serial = match client.begin(&id, handle) {
            Ok(serial) => serial,
            Err(not_started) => {
                let mut streams = client.streams();
                streams.answer(stream, refuse(&id, not_started));
                streams.end_one(stream);
                return;
            }
        };
        let running = Running { client: Arc::clone(client), stream, id, serial };
        let (endpoint, caller) = (Arc::clone(&self.endpoint), Arc::clone(caller));
        let challenged = Arc::clone(challenged);
        let work = async move {
            let channel = StreamChannel { client: &running.client, stream, challenged: &challenged };
            let answer = running.client.session().answer(&endpoint, &request, caller.from(), &channel);
            let text = AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_panic| {
                tracing::error!("a request ended with a panic");
                let mut text = String::new();
                push_error(&mut text, Some(&running.id), ErrorCode::InternalError, "Internal error", None);
                text
            });
            running.client.streams().answer(stream, text);
        };
        tokio::spawn(Abortable::new(work, registration));
    }
}

fn respond(form: Form, answers: Vec<String>) -> Response<Body> {
    match (form, answers.into_iter().reduce(|all, next| format!("{all},{next}"))) {
        (Form::Single, Some(text)) => json_response(StatusCode::OK, text),
        (Form::Batch, Some(text)) => json_response(StatusCode::OK, format!("[{text}]")),
        // Everything was cancelled: there is nothing to say, and the response says just that.
        (Form::Single | Form::Batch, None) => {
            event_stream_response(futures_util::stream::empty(), std::time::Duration::MAX)
        }
    }
}

fn refuse(id: &Id, not_started: NotStarted) -> String {
    let (code, message) = match not_started {
        NotStarted::Duplicate => {
            (ErrorCode::InvalidRequest, "Invalid request: a request with this `id` is still in flight")
        }
        NotStarted::Busy => {
            (ErrorCode::InternalError, "this session has as many requests in flight as it may; try again")
        }
    };
    let mut text = String::new();
    push_error(&mut text, Some(id), code, message, None);
    text
}

/// A request that runs. However it ends, its stream learns of it.
struct Running {
    client: Arc<Client>,
    stream: u64,
    id: Id,
    serial: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.client.end(&self.id, self.serial);
        self.client.streams().end_one(self.stream);
    }
}

/// The way onto the stream of a request.
struct StreamChannel<'c> {
    client: &'c Client,
    stream: u64,
    challenged: &'c OnceLock<Refused>,
}

/// What the head of a response says of a caller whose credential is not enough.
struct Refused {
    status: StatusCode,
    challenge: Challenge,
}

impl Channel for StreamChannel<'_> {
    fn lines(&self, lines: &str) {
        let mut streams = self.client.streams();
        for line in lines.lines() {
            if !streams.is_crowded(self.stream) {
                streams.push(self.stream, line.to_owned());
            }
        }
    }

    fn message(&self, text: &str) {
        self.client.streams().push(self.stream, text.to_owned());
    }

    fn challenged(&self, status: u16, challenge: &Challenge) {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::UNAUTHORIZED);
        // The first of several rounds that is refused ends the call.
        let _ = self.challenged.set(Refused { status, challenge: challenge.clone() });
    }

    fn room(&self) -> Answer<'_, ()> {
        Answer::now(())
    }

    fn close_stream(&self) {
        // Only 2025-11-25 says that a client comes back when a stream ends without its answer.
        if self.client.session().revision() >= Revision::V2025_11_25 {
            self.client.streams().interrupt(self.stream);
        }
    }
}
