//! From a legacy request to the 2026-07-28 request that means the same.
//!
//! It must never pass on a key by which a client could claim to be modern, to have declared more than in
//! `initialize`, or to answer a question that it was not asked. Parameters are copied digit for digit.

use callgate_protocol::json::{Limits, Value, push_string};
use callgate_protocol::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};
use callgate_protocol::{DecodeError, Message, Request, Revision, decode};

use super::Session;
use super::exchange::url_of;
use super::question::{Answered, push_url_params};

/// Members of `params` that only the modern exchange of questions has.
const ROUND_MEMBERS: [&str; 2] = ["inputResponses", "requestState"];

/// The answers of the client so far, and the state to send back with them.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The answers, each under the JSON text of its key.
    answers: Vec<(String, String)>,
    /// The state as JSON text.
    pub(super) state: Option<String>,
    /// The pages that the client was asked to visit, as JSON texts.
    visited: Vec<String>,
}

impl Round {
    /// Adds answers; one under a known key takes the place of the one before. False when they have become
    /// too large to go on.
    pub(super) fn add(&mut self, answers: Vec<Answered>) -> bool {
        for Answered { key, json, url } in answers {
            self.answers.retain(|(known, _)| *known != key);
            self.answers.push((key, json));
            self.visited.extend(url);
        }
        self.answers.iter().map(|(key, json)| key.len() + json.len()).sum::<usize>() <= ANSWER_BYTES
    }

    /// The `data` of error -32042, when the same page is asked for again: the client was there and has not
    /// finished, so it has to come back later. Only 2025-11-25 has this error, and a state cannot travel in
    /// it.
    pub(super) fn revisited(&self, result: Value<'_>, revision: Revision) -> Option<String> {
        let requests = result.get("inputRequests")?;
        if revision != Revision::V2025_11_25 || result.get("requestState").is_some() {
            return None;
        }
        let mut data = String::from("{\"elicitations\":[");
        let mut known = false;
        for (at, (_, question)) in requests.members().enumerate() {
            let url = url_of(question)?;
            known |= self.visited.iter().any(|visited| visited == url.raw());
            if at > 0 {
                data.push(',');
            }
            push_url_params(&mut data, question.get("params")?, &format!("again-{at}"));
        }
        data.push_str("]}");
        known.then_some(data)
    }
}

/// The most that the answers of one call may take together.
const ANSWER_BYTES: usize = 4 << 20;

/// Bounds of what is put together here: the client's own text was judged before.
const BOUNDS: Limits = Limits::DEFAULT.with_bytes(32 << 20).with_nodes(1 << 20);

/// The modern request for one round of a legacy request.
pub(super) fn request(session: &Session, original: &Request, round: &Round) -> Result<Request, DecodeError> {
    let params = original.params();
    let mut text = String::with_capacity(original.document().text().len() + 512);
    text.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    text.push_str(original.id().as_json());
    text.push_str(",\"method\":");
    push_string(&mut text, &original.method());
    text.push_str(",\"params\":{");
    let members = params.into_iter().flat_map(Value::members);
    for (name, value) in members {
        if name.is_str("_meta") || ROUND_MEMBERS.iter().any(|member| name.is_str(member)) {
            continue;
        }
        push_member(&mut text, name, value);
        text.push(',');
    }
    if !round.answers.is_empty() {
        text.push_str("\"inputResponses\":{");
        for (at, (key, json)) in round.answers.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(key);
            text.push(':');
            text.push_str(json);
        }
        text.push_str("},");
    }
    if let Some(state) = &round.state {
        text.push_str("\"requestState\":");
        text.push_str(state);
        text.push(',');
    }
    push_meta(&mut text, session, params.and_then(|params| params.get("_meta")));
    text.push_str("}}");
    decode_ours(text)
}

/// The modern request that listens for everything a legacy client is told.
pub(super) fn listen(session: &Session) -> Result<Request, DecodeError> {
    let mut text = String::from(
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":\
         {\"toolsListChanged\":true,\"promptsListChanged\":true,\"resourcesListChanged\":true,\
         \"resourceSubscriptions\":[",
    );
    for (at, uri) in session.subscriptions().iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        push_string(&mut text, uri);
    }
    text.push_str("]},");
    push_meta(&mut text, session, None);
    text.push_str("}}");
    decode_ours(text)
}

fn decode_ours(text: String) -> Result<Request, DecodeError> {
    match decode(text.into_bytes(), &BOUNDS)? {
        Message::Request(request) => Ok(request),
        // The texts above have an id and a method.
        Message::Notification(_) | Message::Response(_) => Err(DecodeError {
            code: callgate_protocol::ErrorCode::InternalError,
            id: None,
            kind: callgate_protocol::message::DecodeErrorKind::Neither,
        }),
    }
}

fn push_meta(text: &mut String, session: &Session, meta: Option<Value<'_>>) {
    text.push_str("\"_meta\":{");
    for (name, value) in meta.into_iter().flat_map(Value::members) {
        let is_modern = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL]
            .iter()
            .any(|key| name.is_str(key));
        if !is_modern {
            push_member(text, name, value);
            text.push(',');
        }
    }
    for (key, json) in [
        (PROTOCOL_VERSION, format!("\"{}\"", Revision::LATEST)),
        (LOG_LEVEL, format!("\"{}\"", session.level())),
        (CLIENT_CAPABILITIES, session.capabilities.clone()),
    ] {
        push_string(text, key);
        text.push(':');
        text.push_str(&json);
        text.push(',');
    }
    if let Some(info) = &session.client_info {
        push_string(text, CLIENT_INFO);
        text.push(':');
        text.push_str(info);
    } else {
        text.pop();
    }
    text.push('}');
}

fn push_member(text: &mut String, name: Value<'_>, value: Value<'_>) {
    text.push_str(name.raw());
    text.push(':');
    text.push_str(value.raw());
}
