//! From outcomes and refusals to messages of 2026-07-28: one exhaustive match, and no decision.
//!
//! Unknown tools, malformed requests and faults of the protocol are JSON-RPC errors; everything that a
//! model can act on is a result with `isError`, because clients show errors to people and results to
//! models. It must never write a value of an argument, and nothing of a refusal's detail. The endpoint
//! calls it; the compatibility profile shares the texts.

mod manual;

pub use manual::refusals_manual;

use callgate_core::invocation::InputRequest;
use callgate_core::outcome::{CheckedOutput, Outcome, Questions, Settled, UNTRUSTED_KEY};
use callgate_core::receipt::{RECEIPT_KEY, Receipt};
use callgate_core::refusal::{Code, Refusal, Retry};
use callgate_protocol::error::{push_result_end, push_result_start, result_start_len};
use callgate_protocol::json::{Document, Limits, escape_into, escaped_len, push_integer, push_string};
use callgate_protocol::meta::SERVER_INFO;
use callgate_protocol::{ErrorCode, Id};

use crate::endpoint::{Answered, Published, Reply};
use crate::protection::Challenge;

/// The `_meta` key under which the structured form of a refusal travels.
pub(crate) const REFUSAL_KEY: &str = "dev.callgate/refusal";
/// The `_meta` key that marks a result with characters that people do not see.
pub(crate) const HIDDEN_TEXT_KEY: &str = "dev.callgate/hiddenText";

/// How a refusal travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// As a JSON-RPC error with that code and HTTP status.
    Error(ErrorCode, u16),
    /// As a result with `isError`.
    Result,
}

/// How each code travels. Source of the division:
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling>
pub(crate) const fn wire(code: Code) -> Wire {
    match code {
        Code::MalformedCall => Wire::Error(ErrorCode::InvalidParams, 400),
        Code::UnknownTool | Code::NotFound => Wire::Error(ErrorCode::InvalidParams, 200),
        Code::HeaderMismatch => Wire::Error(ErrorCode::HeaderMismatch, 400),
        Code::MissingCapability => Wire::Error(ErrorCode::MissingRequiredClientCapability, 400),
        Code::InvalidState | Code::InvalidInputResponse => Wire::Error(ErrorCode::InvalidParams, 200),
        // The protocol has no code for these; HTTP says it by the status.
        Code::Unauthenticated | Code::InvalidToken => Wire::Error(ErrorCode::InvalidRequest, 401),
        Code::MalformedCredential => Wire::Error(ErrorCode::InvalidRequest, 400),
        Code::InsufficientScope => Wire::Error(ErrorCode::InvalidRequest, 403),
        Code::IdentityUnavailable => Wire::Error(ErrorCode::InternalError, 503),
        // A cursor of a list never gets here: in a tool call it is an argument that the model chose.
        Code::InvalidCursor
        | Code::InvalidHandle
        | Code::StoreFull
        | Code::InvalidArguments
        | Code::ArgumentsTooCostly
        | Code::Busy
        | Code::Forbidden
        | Code::RateLimited
        | Code::ApprovalRequired
        | Code::ApprovalPending
        | Code::ApprovalDenied
        | Code::LedgerRequired
        | Code::IdempotencyKeyRequired
        | Code::IdempotencyConflict
        | Code::CallInFlight
        | Code::OutcomeUnknown
        | Code::PreconditionFailed
        | Code::ResultNotKept
        | Code::LedgerFull
        | Code::Timeout
        | Code::Cancelled
        | Code::ToolFailed
        | Code::ToolPanicked
        | Code::OutputInvalid
        | Code::OutputTooLarge
        | Code::SourceUnavailable
        | Code::GateUnavailable
        | Code::Internal => Wire::Result,
    }
}

/// The answer to `tools/call`.
pub(crate) fn to_call(id: &Id, published: &Published, settled: Result<Settled, Refusal>) -> Answered {
    match &settled {
        Ok(settled) => match settled.outcome() {
            Outcome::Complete(output) => complete(id, published, output, settled),
            Outcome::InputRequired(questions) => input_required(id, published, questions, settled),
            Outcome::Failed(refusal) => refused(id, published, refusal, Some(settled)),
        },
        Err(refusal) => refused(id, published, refusal, None),
    }
}

/// A refusal as a JSON-RPC error, for methods whose results have no place for one.
pub(crate) fn to_error(id: Option<&Id>, refusal: &Refusal) -> Answered {
    let (code, status) = match wire(refusal.code()) {
        Wire::Error(code, status) => (code, status),
        Wire::Result if refusal.code() == Code::InvalidArguments => (ErrorCode::InvalidParams, 200),
        Wire::Result => (ErrorCode::InternalError, 200),
    };
    let data = match refusal.data() {
        Some(data) => data.to_owned(),
        None => {
            let mut data = String::with_capacity(128);
            push_refusal(&mut data, refusal);
            data
        }
    };
    let mut answered = Answered::error(id, code, refusal.public(), Some(&data), status);
    answered.challenge = Challenge::of(refusal);
    answered
}

/// The answer to a request whose handler is no tool. `write` appends the members of the result.
pub(crate) fn to_inquiry<T>(
    id: &Id,
    published: &Published,
    reply: Reply<T>,
    write: impl FnOnce(&mut String, &T),
) -> Answered {
    let mut out = String::with_capacity(512);
    push_result_start(&mut out, id);
    let meta = match reply {
        Reply::Complete(value) => {
            out.push_str("{\"resultType\":\"complete\"");
            write(&mut out, &value);
            &published.identity.meta_of_data
        }
        Reply::InputRequired { requests, state } => {
            push_questions(&mut out, &requests, state.as_deref());
            &published.identity.meta
        }
    };
    out.push_str(",\"_meta\":");
    out.push_str(meta);
    out.push('}');
    push_result_end(&mut out);
    Answered::result(out)
}

fn complete(id: &Id, published: &Published, output: &CheckedOutput, settled: &Settled) -> Answered {
    let mut out = String::with_capacity(complete_len(id, published, output, settled.receipt()));
    push_result_start(&mut out, id);
    out.push_str(COMPLETE);
    push_content(&mut out, output);
    if output.is_error {
        out.push_str(IS_ERROR);
    }
    open_meta(&mut out, published, settled);
    push_mark(&mut out, UNTRUSTED_KEY);
    if output.hidden_text {
        push_mark(&mut out, HIDDEN_TEXT_KEY);
    }
    if let Some(meta) = &output.meta {
        push_foreign_meta(&mut out, meta);
    }
    out.push_str("}}");
    push_result_end(&mut out);
    Answered::result(out)
}

const COMPLETE: &str = "{\"resultType\":\"complete\",";
const IS_ERROR: &str = ",\"isError\":true";
const CONTENT: &str = "\"content\":";
const TEXT_BLOCK: &str = "\"content\":[{\"type\":\"text\",\"text\":\"";
const TEXT_BLOCK_END: &str = "\"}]";
const STRUCTURED: &str = ",\"structuredContent\":";

/// The length of an ordinary answer. A buffer that turns out to be full to the last byte becomes the body
/// as it is; for any other the transport would have to allocate once more.
fn complete_len(id: &Id, published: &Published, output: &CheckedOutput, receipt: &Receipt) -> usize {
    const ENDS: usize = "}}}".len();
    let structured = output.structured.as_ref().map(Document::text);
    let content = match (&output.content, structured) {
        (Some(content), _) => CONTENT.len() + content.len(),
        (None, Some(text)) => TEXT_BLOCK.len() + escaped_len(text) + TEXT_BLOCK_END.len(),
        (None, None) => CONTENT.len() + "[]".len(),
    };
    let is_error = if output.is_error { IS_ERROR.len() } else { 0 };
    let mark = |key: &str| key.len() + ",\"\":true".len();
    let marks = mark(UNTRUSTED_KEY) + if output.hidden_text { mark(HIDDEN_TEXT_KEY) } else { 0 };
    result_start_len(id)
        + COMPLETE.len()
        + content
        + structured.map_or(0, |text| STRUCTURED.len() + text.len())
        + is_error
        + published.identity.meta_to_receipt.len()
        + receipt.written_len()
        + marks
        + output.meta.as_ref().map_or(0, String::len)
        + ENDS
}

/// Appends `content` and `structuredContent`. A result that is structured only gets its JSON as a text,
/// for clients that read no structured results.
pub(crate) fn push_content(out: &mut String, output: &CheckedOutput) {
    let structured = output.structured.as_ref().map(Document::text);
    match (&output.content, structured) {
        (Some(content), _) => {
            out.push_str(CONTENT);
            out.push_str(content);
        }
        (None, Some(text)) => {
            out.push_str(TEXT_BLOCK);
            escape_into(out, text);
            out.push_str(TEXT_BLOCK_END);
        }
        (None, None) => {
            out.push_str(CONTENT);
            out.push_str("[]");
        }
    }
    if let Some(text) = structured {
        out.push_str(STRUCTURED);
        out.push_str(text);
    }
}

fn input_required(id: &Id, published: &Published, questions: &Questions, settled: &Settled) -> Answered {
    let mut out = String::with_capacity(1024);
    push_result_start(&mut out, id);
    push_questions(&mut out, &questions.requests, questions.state.as_deref());
    open_meta(&mut out, published, settled);
    out.push_str("}}");
    push_result_end(&mut out);
    Answered::result(out)
}

fn push_questions(out: &mut String, requests: &[(String, InputRequest)], state: Option<&str>) {
    out.push_str("{\"resultType\":\"input_required\"");
    if !requests.is_empty() {
        out.push_str(",\"inputRequests\":{");
        for (at, (key, request)) in requests.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(out, key);
            out.push_str(":{\"method\":");
            push_string(out, request.method);
            out.push_str(",\"params\":");
            out.push_str(&request.params);
            out.push('}');
        }
        out.push('}');
    }
    if let Some(state) = state {
        out.push_str(",\"requestState\":");
        push_string(out, state);
    }
}

fn refused(id: &Id, published: &Published, refusal: &Refusal, settled: Option<&Settled>) -> Answered {
    match wire(refusal.code()) {
        Wire::Error(..) => to_error(Some(id), refusal),
        Wire::Result => {
            let mut out = String::with_capacity(1024);
            push_result_start(&mut out, id);
            out.push_str("{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":");
            push_string(&mut out, &refusal_text(refusal));
            out.push_str("}],\"isError\":true");
            match settled {
                Some(settled) => open_meta(&mut out, published, settled),
                None => open_meta_without_receipt(&mut out, published),
            }
            push_meta_key(&mut out, REFUSAL_KEY);
            push_refusal(&mut out, refusal);
            out.push_str("}}");
            push_result_end(&mut out);
            Answered::result(out)
        }
    }
}

/// What a model reads: the code, each failing place with what was expected, whether to retry, and the
/// next safe step.
pub(crate) fn refusal_text(refusal: &Refusal) -> String {
    let mut text = format!("{}: {}.", refusal.code(), refusal.public());
    for violation in refusal.violations() {
        let place = if violation.pointer.is_empty() { "(root)" } else { &violation.pointer };
        text.push_str("\n- ");
        text.push_str(place);
        text.push_str(": expected ");
        text.push_str(&violation.expected);
    }
    if refusal.is_truncated() {
        text.push_str("\n- and more");
    }
    if !refusal.scopes().is_empty() {
        text.push_str("\nScopes: ");
        text.push_str(&refusal.scopes().join(" "));
    }
    text.push_str("\nRetry: ");
    match refusal.retry() {
        Retry::No => text.push_str("no"),
        Retry::Same => text.push_str("the same call may be repeated"),
        Retry::After(wait) => {
            text.push_str("after ");
            // Rounded up, so that whoever waits as told does not come too early.
            push_integer(&mut text, u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX));
            text.push_str(" s");
        }
        Retry::Changed => text.push_str("with changes"),
    }
    text.push_str(". Next: ");
    text.push_str(refusal.code().next_step());
    text.push('.');
    text
}

/// The structured form of a refusal: one JSON object.
pub(crate) fn push_refusal(out: &mut String, refusal: &Refusal) {
    let code = refusal.code();
    // Codes, parties and retries hold no character that JSON would have to escape.
    for (start, text) in [
        ("{\"code\":\"", code.as_str()),
        ("\",\"party\":\"", code.party().as_str()),
        ("\",\"retry\":\"", refusal.retry().as_str()),
    ] {
        out.push_str(start);
        out.push_str(text);
    }
    out.push('"');
    if let Retry::After(wait) = refusal.retry() {
        out.push_str(",\"retryAfterMs\":");
        push_integer(out, u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    if !refusal.scopes().is_empty() {
        out.push_str(",\"scopes\":[");
        for (at, scope) in refusal.scopes().iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(out, scope);
        }
        out.push(']');
    }
    out.push_str(",\"nextStep\":");
    push_string(out, code.next_step());
    if let Some(data) = refusal.data() {
        out.push_str(",\"data\":");
        out.push_str(data);
    }
    if !refusal.violations().is_empty() {
        out.push_str(",\"violations\":[");
        for (at, violation) in refusal.violations().iter().enumerate() {
            out.push_str(if at > 0 { ",{\"pointer\":" } else { "{\"pointer\":" });
            push_string(out, &violation.pointer);
            out.push_str(",\"keyword\":");
            push_string(out, violation.keyword);
            out.push_str(",\"expected\":");
            push_string(out, &violation.expected);
            out.push('}');
        }
        out.push(']');
        out.push_str(if refusal.is_truncated() { ",\"truncated\":true" } else { ",\"truncated\":false" });
    }
    out.push('}');
}

/// Opens `_meta` with what each result of a call has: who answers, and the receipt.
fn open_meta(out: &mut String, published: &Published, settled: &Settled) {
    out.push_str(&published.identity.meta_to_receipt);
    settled.receipt().write(out, settled.contract().shown_digest(), &published.policy_revision);
}

fn open_meta_without_receipt(out: &mut String, published: &Published) {
    out.push_str(",\"_meta\":{\"");
    out.push_str(SERVER_INFO);
    out.push_str("\":");
    out.push_str(&published.identity.rendered);
}

fn push_meta_key(out: &mut String, key: &str) {
    out.push_str(",\"");
    out.push_str(key);
    out.push_str("\":");
}

fn push_mark(out: &mut String, key: &str) {
    push_meta_key(out, key);
    out.push_str("true");
}

/// Appends what the tool says about its result, except keys that are ours to set.
fn push_foreign_meta(out: &mut String, meta: &str) {
    let Ok(document) = Document::parse(meta, &Limits::DEFAULT) else { return };
    for (name, value) in document.root().members() {
        let name = name.as_str().unwrap_or_default();
        if [SERVER_INFO, RECEIPT_KEY, REFUSAL_KEY, HIDDEN_TEXT_KEY, UNTRUSTED_KEY].contains(&&*name) {
            continue;
        }
        out.push(',');
        push_string(out, &name);
        out.push(':');
        out.push_str(value.raw());
    }
}
