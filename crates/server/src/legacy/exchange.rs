//! One legacy request from its arrival to its answer.
//!
//! It must never answer with what a later revision means, and never run a tool outside the endpoint. Where
//! the endpoint's answer asks questions, they are put to the client and the request is made again with the
//! answers, at most as often as the limit says.

use std::future::poll_fn;
use std::pin::pin;

use callgate_core::invocation::InputRequest;
use callgate_core::port::{Answer, LogLevel, Peer, PeerError};
use callgate_protocol::error::{push_error, push_result};
use callgate_protocol::json::{Document, Limits, Value, push_string};
use callgate_protocol::meta::RequestMeta;
use callgate_protocol::{ErrorCode, Id, Method, Request};

use super::question::{self, Unanswered};
use super::translate::{self, Round};
use super::{Channel, Session, render};
use crate::endpoint::{Endpoint, From};
use crate::outbox::{Framing, Outbox, OutboxLimits};

/// Bounds on reading an answer of our own, which was bounded when it was made.
pub(super) const OURS: Limits = Limits::DEFAULT.with_bytes(256 << 20).with_depth(256).with_nodes(1 << 22);

/// Bounds of what one request says before its result.
const OUTBOX: OutboxLimits = OutboxLimits { queued: 64, bytes: 256 << 10, per_second: 200 };

impl Session {
    /// Answers one request of the client with one whole message.
    ///
    /// Cancel safe: dropped, the call is stopped and open questions are withdrawn.
    pub(crate) async fn answer(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        from: From<'_>,
        channel: &dyn Channel,
    ) -> String {
        let id = request.id();
        let offered = endpoint.published().offered;
        let method = Method::of_name(&request.method());
        match method.filter(|method| method.is_sent_by_client(self.revision)) {
            Some(Method::Ping) => done(id),
            Some(Method::Initialize) => {
                failure(id, ErrorCode::InvalidRequest, "Invalid request: the session is open already")
            }
            Some(Method::SetLevel) if offered.logging => self.answer_set_level(request),
            Some(Method::ResourcesSubscribe) if offered.resources => self.answer_subscribe(request),
            Some(Method::ResourcesUnsubscribe) if offered.resources => self.answer_unsubscribe(request),
            Some(
                method @ (Method::ToolsList
                | Method::ToolsCall
                | Method::ResourcesList
                | Method::ResourcesTemplatesList
                | Method::ResourcesRead
                | Method::PromptsList
                | Method::PromptsGet
                | Method::Complete),
            ) => self.relay(endpoint, method, request, from, channel).await,
            _ => failure(id, ErrorCode::MethodNotFound, "Method not found"),
        }
    }

    fn answer_set_level(&self, request: &Request) -> String {
        let name = request.params().and_then(|params| params.get("level")?.as_str());
        match name.and_then(|name| LogLevel::of_name(&name)) {
            Some(level) => {
                self.set_level(level);
                done(request.id())
            }
            None => {
                let levels = LogLevel::ALL.map(LogLevel::as_str).join(", ");
                let message = format!("Invalid params: `level` must be one of {levels}");
                failure(request.id(), ErrorCode::InvalidParams, &message)
            }
        }
    }

    fn answer_subscribe(&self, request: &Request) -> String {
        let uri = request.params().and_then(|params| params.get("uri")?.as_str());
        let problem = match uri {
            None => "Invalid params: `uri` must be a string".to_owned(),
            Some(uri) if uri.len() > self.limits.uri_bytes => {
                format!("Invalid params: `uri` may have {} bytes", self.limits.uri_bytes)
            }
            Some(uri) if self.subscribe(&uri) => return done(request.id()),
            Some(_) => {
                format!(
                    "Invalid params: at most {} resources, unsubscribe from one",
                    self.limits.subscriptions
                )
            }
        };
        failure(request.id(), ErrorCode::InvalidParams, &problem)
    }

    fn answer_unsubscribe(&self, request: &Request) -> String {
        match request.params().and_then(|params| params.get("uri")?.as_str()) {
            Some(uri) => {
                self.unsubscribe(&uri);
                done(request.id())
            }
            None => failure(request.id(), ErrorCode::InvalidParams, "Invalid params: `uri` must be a string"),
        }
    }

    /// Has the endpoint answer, and asks what it asks.
    async fn relay(
        &self,
        endpoint: &Endpoint,
        method: Method,
        request: &Request,
        from: From<'_>,
        channel: &dyn Channel,
    ) -> String {
        let id = request.id();
        let outbox = Outbox::new(OUTBOX, Framing::Lines);
        let peer = LegacyPeer { outbox: &outbox, channel };
        let mut round = Round::default();
        for _ in 0..=self.limits.rounds {
            let answered = match self.ask_endpoint(endpoint, request, &round, from, &peer).await {
                Ok(answered) => answered,
                Err(refusal) => return refusal,
            };
            let Ok(answer) = Document::parse(answered, &OURS) else {
                tracing::error!("an answer of the endpoint is no JSON");
                return failure(id, ErrorCode::InternalError, "Internal error");
            };
            let root = answer.root();
            let Some(result) = root.get("result") else {
                let mut text = String::new();
                let error = root.get("error").unwrap_or(root);
                render::push_failure(&mut text, id, Some(method), error);
                return text;
            };
            if !result.get("resultType").is_some_and(|kind| kind.is_str("input_required")) {
                let mut text = String::with_capacity(answer.text().len());
                render::push_response(&mut text, id, method, result, self.revision);
                return text;
            }
            if let Some(elicitations) = round.revisited(result, self.revision) {
                let mut text = String::new();
                let message = "The page must be finished first";
                push_error(
                    &mut text,
                    Some(id),
                    ErrorCode::UrlElicitationRequired,
                    message,
                    Some(&elicitations),
                );
                return text;
            }
            round.state = result.get("requestState").map(|state| state.raw().to_owned());
            let answers = match question::ask(self, channel, result.get("inputRequests")).await {
                Ok(answers) => answers,
                Err(unanswered) => return give_up(id, method, unanswered),
            };
            if !round.add(answers) {
                return give_up(id, method, Unanswered::TooLarge);
            }
        }
        give_up(id, method, Unanswered::TooManyRounds)
    }

    async fn ask_endpoint(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        round: &Round,
        from: From<'_>,
        peer: &LegacyPeer<'_>,
    ) -> Result<String, String> {
        let id = request.id();
        let modern = translate::request(self, request, round)
            .map_err(|error| failure(id, ErrorCode::InvalidParams, &format!("Invalid params: {error}")))?;
        let meta = RequestMeta::read(modern.params())
            .map_err(|error| failure(id, ErrorCode::InvalidParams, &error.to_string()))?;
        peer.outbox.listen(&meta);
        let mut answer = pin!(endpoint.answer(&modern, &meta, from, peer));
        let answered = poll_fn(|context| {
            let answered = answer.as_mut().poll(context);
            if answered.is_ready() {
                peer.finish()
            } else {
                peer.flush()
            }
            answered
        });
        let answered = answered.await;
        if let Some(challenge) = &answered.challenge {
            peer.channel.challenged(answered.status, challenge);
        }
        Ok(answered.into_text())
    }
}

/// The client of one legacy request, as a running tool may speak to it.
struct LegacyPeer<'r> {
    outbox: &'r Outbox,
    channel: &'r dyn Channel,
}

impl LegacyPeer<'_> {
    fn flush(&self) {
        if let Some(lines) = self.outbox.take() {
            self.channel.lines(&lines);
        }
    }

    fn finish(&self) {
        if let Some(lines) = self.outbox.finish() {
            self.channel.lines(&lines);
        }
    }
}

impl Peer for LegacyPeer<'_> {
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.outbox.progress(progress, total, message);
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &str) {
        self.outbox.log(level, logger, data);
    }

    fn close_stream(&self) {
        // What was said before must be on the stream that closes.
        self.flush();
        self.channel.close_stream();
    }

    /// Questions are put between two runs of the tool, as for a modern client: a person may take longer to
    /// answer than a call may run, and a tool then behaves in the same way in every era.
    fn ask<'a>(&'a self, _request: &'a InputRequest) -> Option<Answer<'a, Result<String, PeerError>>> {
        None
    }
}

/// The empty result.
fn done(id: &Id) -> String {
    let mut text = String::with_capacity(64);
    push_result(&mut text, id, "{}");
    text
}

fn failure(id: &Id, code: ErrorCode, message: &str) -> String {
    let mut text = String::with_capacity(128);
    push_error(&mut text, Some(id), code, message, None);
    text
}

/// The end of a request whose questions were not answered. A tool fails as a tool does, so that the model
/// reads why; other methods fail with an error.
fn give_up(id: &Id, method: Method, unanswered: Unanswered) -> String {
    if method != Method::ToolsCall {
        return failure(id, ErrorCode::InternalError, &unanswered.to_string());
    }
    let mut result = String::from("{\"content\":[{\"type\":\"text\",\"text\":");
    push_string(&mut result, &unanswered.to_string());
    result.push_str("}],\"isError\":true}");
    let mut text = String::with_capacity(result.len() + 64);
    push_result(&mut text, id, &result);
    text
}

/// The URL of a question, when it asks to visit one.
pub(super) fn url_of(question: Value<'_>) -> Option<Value<'_>> {
    let params = question.get("params")?;
    params.get("mode").filter(|mode| mode.is_str("url"))?;
    params.get("url")
}
