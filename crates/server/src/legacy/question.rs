//! Questions of the server to a legacy client: requests that the client answers while the call waits.
//!
//! It must never ask what the client did not declare, never take an answer that was not asked for, and never
//! leave a question open behind a call that has ended. The exchange calls it; transports bring the answers.

mod form;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callgate_protocol::error::{push_notification, push_request};
use callgate_protocol::json::{Kind, Value};
use callgate_protocol::message::ResponseOutcome;
use callgate_protocol::{Id, Method, Response, Revision};
use futures_util::future::try_join_all;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Channel, Session};

/// Why a question has no answer. The model may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Unanswered {
    #[error("the client could not answer a question of the tool")]
    Failed,
    #[error("the client did not answer a question of the tool in time")]
    Timeout,
    #[error("the client has too many unanswered questions")]
    TooMany,
    #[error("the tool asks something that the client's protocol revision cannot express")]
    Inexpressible,
    #[error("the answers of the client are too large")]
    TooLarge,
    #[error("the tool asked again too often")]
    TooManyRounds,
}

/// The answer to one question.
#[derive(Debug)]
pub(super) struct Answered {
    /// The key of the question as JSON text.
    pub(super) key: String,
    /// The client's result.
    pub(super) json: String,
    /// The page that the question asked to visit, as JSON text.
    pub(super) url: Option<String>,
}

/// The questions that a client has not answered yet.
#[derive(Debug)]
pub(super) struct Questions {
    state: Mutex<Open>,
    bound: usize,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Result<String, Unanswered>>>,
}

impl Questions {
    pub(super) fn new(bound: usize) -> Self {
        Self { state: Mutex::default(), bound }
    }

    /// Takes an answer. False when nothing of that id was asked, or it was answered or withdrawn before.
    pub(super) fn resolve(&self, response: &Response) -> bool {
        let number = response.id().and_then(|id| id.as_json().parse::<u64>().ok());
        let Some(waiting) = number.and_then(|number| self.open().waiting.remove(&number)) else {
            return false;
        };
        let answer = match response.outcome() {
            ResponseOutcome::Result(result) if result.kind() == Kind::Object => Ok(result.raw().to_owned()),
            ResponseOutcome::Result(_) | ResponseOutcome::Error(_) => Err(Unanswered::Failed),
        };
        // The call may have ended in this very moment; then nobody waits.
        let _ended = waiting.send(answer);
        true
    }

    fn begin(&self) -> Result<(u64, oneshot::Receiver<Result<String, Unanswered>>), Unanswered> {
        let mut open = self.open();
        if open.waiting.len() >= self.bound {
            return Err(Unanswered::TooMany);
        }
        open.last += 1;
        let number = open.last;
        let (sender, receiver) = oneshot::channel();
        open.waiting.insert(number, sender);
        Ok((number, receiver))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that was put. Dropped before it is answered, it is withdrawn.
struct Asking<'s> {
    number: u64,
    questions: &'s Questions,
    channel: &'s dyn Channel,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.questions.open().waiting.remove(&self.number).is_some() {
            let mut text = String::new();
            let params = format!("{{\"requestId\":{}}}", self.number);
            push_notification(&mut text, Method::Cancelled.as_str(), Some(&params));
            self.channel.message(&text);
        }
    }
}

/// Puts all questions of one round and waits for all answers.
pub(super) async fn ask(
    session: &Session,
    channel: &dyn Channel,
    requests: Option<Value<'_>>,
) -> Result<Vec<Answered>, Unanswered> {
    let mut all = Vec::new();
    for (key, request) in requests.into_iter().flat_map(Value::members) {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        let method = Method::of_name(&method).ok_or(Unanswered::Inexpressible)?;
        let (number, receiver) = session.questions.begin()?;
        let asking = Asking { number, questions: &session.questions, channel };
        let params = params(method, request.get("params"), session.revision, number)?;
        let mut text = String::new();
        push_request(&mut text, &id_of(number), method.as_str(), params.as_deref());
        channel.message(&text);
        let url = super::exchange::url_of(request).map(|url| url.raw().to_owned());
        all.push(async move {
            let answer = receiver.await.unwrap_or(Err(Unanswered::Failed));
            drop(asking);
            answer.map(|json| Answered { key: key.raw().to_owned(), json, url })
        });
    }
    timeout(session.limits.question_timeout, try_join_all(all)).await.unwrap_or(Err(Unanswered::Timeout))
}

/// The id of a question on the wire.
fn id_of(number: u64) -> Id {
    // The numbers count up from one; nobody reaches the sign bit.
    Id::number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The parameters of a question as the revision has them.
fn params(
    method: Method,
    params: Option<Value<'_>>,
    revision: Revision,
    number: u64,
) -> Result<Option<String>, Unanswered> {
    let mut text = String::new();
    match (method, params) {
        (Method::RootsList, _) => return Ok(None),
        (Method::ElicitationCreate, Some(params))
            if params.get("mode").is_some_and(|mode| mode.is_str("url")) =>
        {
            if revision < Revision::V2025_11_25 {
                return Err(Unanswered::Inexpressible);
            }
            push_url_params(&mut text, params, &number.to_string());
        }
        (Method::ElicitationCreate, Some(params)) if revision >= Revision::V2025_11_25 => {
            text.push_str(params.raw());
        }
        (Method::ElicitationCreate, Some(params)) if revision == Revision::V2025_06_18 => {
            form::push_params(&mut text, params)?;
        }
        (Method::SamplingCreateMessage, Some(params)) if revision >= Revision::V2025_11_25 => {
            text.push_str(params.raw());
        }
        (Method::SamplingCreateMessage, Some(params)) => push_sampling(&mut text, params, revision)?,
        _ => return Err(Unanswered::Inexpressible),
    }
    Ok(Some(text))
}

/// Appends the parameters of a URL elicitation; 2025-11-25 wants an id that 2026-07-28 does not have.
pub(super) fn push_url_params(out: &mut String, params: Value<'_>, elicitation: &str) {
    out.push_str("{\"mode\":\"url\",\"elicitationId\":\"callgate-");
    out.push_str(elicitation);
    out.push('"');
    for name in ["message", "url"] {
        if let Some(value) = params.get(name) {
            out.push_str(",\"");
            out.push_str(name);
            out.push_str("\":");
            out.push_str(value.raw());
        }
    }
    out.push('}');
}

/// Appends the parameters of a sampling request for the revisions before 2025-11-25: one block a message, no
/// tools.
fn push_sampling(out: &mut String, params: Value<'_>, revision: Revision) -> Result<(), Unanswered> {
    out.push('{');
    let mut first = true;
    for (name, value) in params.members() {
        if ["tools", "toolChoice", "_meta", "task"].iter().any(|member| name.is_str(member)) {
            continue;
        }
        if !first {
            out.push(',');
        }
        first = false;
        out.push_str(name.raw());
        out.push(':');
        if name.is_str("messages") {
            push_sampling_messages(out, value, revision)?;
        } else {
            out.push_str(value.raw());
        }
    }
    out.push('}');
    Ok(())
}

fn push_sampling_messages(
    out: &mut String,
    messages: Value<'_>,
    revision: Revision,
) -> Result<(), Unanswered> {
    out.push('[');
    for (at, message) in messages.items().enumerate() {
        let role = message.get("role").ok_or(Unanswered::Inexpressible)?;
        let content = message.get("content").ok_or(Unanswered::Inexpressible)?;
        let block = match content.kind() {
            Kind::Array if content.len() == 1 => content.items().next().ok_or(Unanswered::Inexpressible)?,
            Kind::Object => content,
            _ => return Err(Unanswered::Inexpressible),
        };
        let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
        let is_known = match &*kind {
            "text" | "image" => true,
            "audio" => revision >= Revision::V2025_03_26,
            _ => false,
        };
        if !is_known {
            return Err(Unanswered::Inexpressible);
        }
        if at > 0 {
            out.push(',');
        }
        out.push_str("{\"role\":");
        out.push_str(role.raw());
        out.push_str(",\"content\":");
        out.push_str(block.raw());
        out.push('}');
    }
    out.push(']');
    Ok(())
}
