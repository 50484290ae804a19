//! One JSON-RPC message: bytes in, a request, a notification or a response out.
//!
//! It must never panic, never accept what is not exactly one message, and never allocate beyond the
//! document and its text for an ordinary request. Both transports call [`decode`] and nothing else.

mod salvage;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use thiserror::Error;

use crate::error::{ErrorCode, push_error};
use crate::id::Id;
use crate::json::{Document, Kind, Limits, Memory, ParseError, ParseErrorKind, Value};
use crate::method::Method;

/// Decodes one message.
///
/// # Errors
/// A [`DecodeError`] that says which code, which id and what was expected. A text that is no JSON or
/// no UTF-8 is a parse error; a text that is JSON but repeats a member name, exceeds a bound, is a
/// batch or is no message is an invalid request, because JSON itself allows it and we do not.
pub fn decode(bytes: Vec<u8>, limits: &Limits) -> Result<Message, DecodeError> {
    decode_with(bytes, &mut Memory::default(), limits)
}

/// Decodes one message with what an earlier one has left, see [`Request::leave`].
///
/// # Errors
/// As [`decode`].
pub fn decode_with(bytes: Vec<u8>, memory: &mut Memory, limits: &Limits) -> Result<Message, DecodeError> {
    if bytes.len() > limits.bytes {
        let error = ParseError { offset: limits.bytes, kind: ParseErrorKind::TooLong };
        return Err(DecodeError::new(DecodeErrorKind::Json(error), None));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let error = ParseError { offset, kind: ParseErrorKind::Encoding };
        DecodeError::new(DecodeErrorKind::Json(error), None)
    })?;
    match Document::parse_or_return(text, memory, limits) {
        Ok(document) => classify(document),
        Err((error, text)) => {
            let refused = DecodeError::new(DecodeErrorKind::Json(error), None);
            // A text that is no JSON has no id that could be trusted.
            let id = if refused.code == ErrorCode::ParseError { None } else { salvage::request_id(&text) };
            Err(DecodeError { id, ..refused })
        }
    }
}

/// A message, by its JSON-RPC kind.
#[derive(Debug)]
pub enum Message {
    /// Something that must be answered.
    Request(Request),
    /// Something that must never be answered.
    Notification(Notification),
    /// An answer; servers receive one only from clients of a revision before 2026-07-28.
    Response(Response),
}

/// A request with the text that it arrived in.
#[derive(Debug)]
pub struct Request {
    document: Document,
    id: Id,
    method: u32,
    known: Option<Method>,
    params: Option<u32>,
}

impl Request {
    /// The id, to be echoed.
    #[must_use]
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Cow<'_, str> {
        self.document.at(self.method).as_str().unwrap_or_default()
    }

    /// The method, if some revision defines one of that name.
    #[must_use]
    pub fn known_method(&self) -> Option<Method> {
        self.known
    }

    /// The parameters, which are an object when they are there.
    #[must_use]
    pub fn params(&self) -> Option<Value<'_>> {
        self.params.map(|at| self.document.at(at))
    }

    /// The whole message.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Leaves what the next message of the same client and with the same bounds can use.
    pub fn leave(self, memory: &mut Memory, limits: &Limits) {
        if memory.is_unfamiliar()
            && let Some(meta) = self.params().and_then(|params| params.get("_meta"))
            && meta.kind() == Kind::Object
        {
            memory.remember(meta, limits);
        }
        self.document.leave(memory);
    }
}

/// A notification with the text that it arrived in.
#[derive(Debug)]
pub struct Notification {
    document: Document,
    method: u32,
    params: Option<u32>,
}

impl Notification {
    /// The method.
    #[must_use]
    pub fn method(&self) -> Cow<'_, str> {
        self.document.at(self.method).as_str().unwrap_or_default()
    }

    /// The parameters, which are an object when they are there.
    #[must_use]
    pub fn params(&self) -> Option<Value<'_>> {
        self.params.map(|at| self.document.at(at))
    }

    /// The whole message.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }
}

/// A response with the text that it arrived in.
#[derive(Debug)]
pub struct Response {
    document: Document,
    id: Option<Id>,
    outcome: u32,
    failed: bool,
}

/// What a response says.
#[derive(Clone, Copy, Debug)]
pub enum ResponseOutcome<'d> {
    /// The `result`.
    Result(Value<'d>),
    /// The `error` object.
    Error(Value<'d>),
}

impl Response {
    /// The id of the request that is answered; nothing only in an error whose sender could not read it.
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The result or the error.
    #[must_use]
    pub fn outcome(&self) -> ResponseOutcome<'_> {
        let value = self.document.at(self.outcome);
        if self.failed { ResponseOutcome::Error(value) } else { ResponseOutcome::Result(value) }
    }

    /// The whole message.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }
}

/// Why bytes are no message that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct DecodeError {
    /// The code to answer with.
    pub code: ErrorCode,
    /// The id of the refused request, when it could be read beyond doubt.
    pub id: Option<Id>,
    /// What was wrong.
    pub kind: DecodeErrorKind,
}

/// The kinds of refusal of [`decode`]. Their texts name no part of the message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The text is no JSON, exceeds a bound or repeats a member name.
    #[error("{0}")]
    Json(ParseError),
    /// An array of messages.
    #[error("JSON-RPC batches are not accepted; send each message on its own")]
    Batch,
    /// Some other value that is no object.
    #[error("a message must be a JSON object")]
    NotAnObject,
    /// `jsonrpc` is missing or not `"2.0"`.
    #[error("`jsonrpc` must be \"2.0\"")]
    Version,
    /// `id` is null, a fraction, too long, or no string and no number.
    #[error("`id` must be a string or an integer of at most 1024 bytes, never null")]
    Id,
    /// `method` is no string.
    #[error("`method` must be a string")]
    Method,
    /// `params` is there and no object.
    #[error("`params` must be an object")]
    Params,
    /// `method` together with `result` or `error`, or both of these.
    #[error("a message has either `method`, or `result`, or `error`")]
    Ambiguous,
    /// None of `method`, `result` and `error`.
    #[error("a message needs `method`, `result` or `error`")]
    Neither,
    /// A notification whose `params` is no object; it must not be answered.
    #[error("`params` of a notification must be an object")]
    NotificationParams,
    /// A malformed response; it must not be answered.
    #[error("a response needs the id of its request, and an `error` must be an object")]
    Response,
}

impl DecodeError {
    fn new(kind: DecodeErrorKind, id: Option<Id>) -> Self {
        let code = match &kind {
            DecodeErrorKind::Json(error) => match error.kind {
                ParseErrorKind::TooLong
                | ParseErrorKind::NumberRange
                | ParseErrorKind::TooDeep
                | ParseErrorKind::TooManyNodes
                | ParseErrorKind::DuplicateMember => ErrorCode::InvalidRequest,
                _ => ErrorCode::ParseError,
            },
            DecodeErrorKind::Params | DecodeErrorKind::NotificationParams => ErrorCode::InvalidParams,
            _ => ErrorCode::InvalidRequest,
        };
        Self { code, id, kind }
    }

    /// False when the refused message was a notification or a response, which are never answered. Over
    /// HTTP such a message still gets its status.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        !matches!(self.kind, DecodeErrorKind::NotificationParams | DecodeErrorKind::Response)
    }

    /// The HTTP status: 413 for a message that is too long, 400 for everything else.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        match &self.kind {
            DecodeErrorKind::Json(ParseError { kind: ParseErrorKind::TooLong, .. }) => 413,
            _ => 400,
        }
    }

    /// Appends the error response.
    pub fn push(&self, out: &mut String) {
        let prefix = match self.code {
            ErrorCode::ParseError => "Parse error",
            ErrorCode::InvalidParams => "Invalid params",
            _ => "Invalid request",
        };
        push_error(out, self.id.as_ref(), self.code, &format!("{prefix}: {}", self.kind), None);
    }
}

/// For a text that is refused before there is any message in it.
impl From<ParseError> for DecodeError {
    fn from(error: ParseError) -> Self {
        Self::new(DecodeErrorKind::Json(error), None)
    }
}

/// The members of an envelope, by position.
#[derive(Default)]
struct Envelope<'d> {
    version: Option<Value<'d>>,
    id: Option<Value<'d>>,
    method: Option<Value<'d>>,
    params: Option<Value<'d>>,
    result: Option<Value<'d>>,
    error: Option<Value<'d>>,
}

impl<'d> Envelope<'d> {
    fn of(root: Value<'d>) -> Self {
        let mut envelope = Self::default();
        root.each_member(|name, value| {
            let slot = match name {
                b"jsonrpc" => &mut envelope.version,
                b"id" => &mut envelope.id,
                b"method" => &mut envelope.method,
                b"params" => &mut envelope.params,
                b"result" => &mut envelope.result,
                b"error" => &mut envelope.error,
                // JSON-RPC names no other member and forbids none.
                _ => return,
            };
            *slot = Some(value);
        });
        envelope
    }
}

fn classify(document: Document) -> Result<Message, DecodeError> {
    let root = document.root();
    let refuse = |kind, id: Option<Id>| Err(DecodeError::new(kind, id));
    match root.kind() {
        Kind::Object => {}
        Kind::Array => return refuse(DecodeErrorKind::Batch, None),
        _ => return refuse(DecodeErrorKind::NotAnObject, None),
    }
    let envelope = Envelope::of(root);
    let id = envelope.id.and_then(Id::from_value);
    if !envelope.version.is_some_and(|version| version.is_str("2.0")) {
        return refuse(DecodeErrorKind::Version, id);
    }
    let method = match (envelope.method, envelope.result, envelope.error) {
        (Some(method), None, None) => method,
        (None, Some(result), None) => {
            return match id {
                Some(id) => {
                    let outcome = result.position();
                    Ok(Message::Response(Response { id: Some(id), outcome, failed: false, document }))
                }
                None => refuse(DecodeErrorKind::Response, None),
            };
        }
        (None, None, Some(error)) => {
            let id_is_read = id.is_some() || envelope.id.is_none_or(Value::is_null);
            return if error.kind() == Kind::Object && id_is_read {
                let outcome = error.position();
                Ok(Message::Response(Response { id, outcome, failed: true, document }))
            } else {
                refuse(DecodeErrorKind::Response, None)
            };
        }
        (None, None, None) => return refuse(DecodeErrorKind::Neither, id),
        _ => return refuse(DecodeErrorKind::Ambiguous, id),
    };
    if envelope.id.is_some() && id.is_none() {
        return refuse(DecodeErrorKind::Id, None);
    }
    if method.kind() != Kind::String {
        return refuse(DecodeErrorKind::Method, id);
    }
    if envelope.params.is_some_and(|params| params.kind() != Kind::Object) {
        let kind = if id.is_some() { DecodeErrorKind::Params } else { DecodeErrorKind::NotificationParams };
        return refuse(kind, id);
    }
    let known = method.as_str().and_then(|name| Method::of_name(&name));
    let (method, params) = (method.position(), envelope.params.map(Value::position));
    Ok(match id {
        Some(id) => Message::Request(Request { id, method, known, params, document }),
        None => Message::Notification(Notification { method, params, document }),
    })
}
