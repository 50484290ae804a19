//! JSON-RPC error codes, their HTTP status, and the writers of message envelopes.
//!
//! It must never write an `id` that was not received, and never a code that the revision does not
//! define. Everything that answers a message calls it.

use crate::id::Id;
use crate::json::{push_integer, push_string};

/// An error code that Callgate sends or understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum ErrorCode {
    /// The text is not JSON, or not UTF-8.
    ParseError = -32700,
    /// The JSON is not one message that is accepted here.
    InvalidRequest = -32600,
    /// No such method in this revision, or its capability is not offered.
    MethodNotFound = -32601,
    /// The parameters do not fit the method; also unknown tools, prompts, resources and cursors.
    InvalidParams = -32602,
    /// The server failed.
    InternalError = -32603,
    /// A header and the body differ, or a header is missing (2026-07-28).
    HeaderMismatch = -32020,
    /// The request needs a capability that it did not declare (2026-07-28).
    MissingRequiredClientCapability = -32021,
    /// The request names a revision that is not served (2026-07-28).
    UnsupportedProtocolVersion = -32022,
    /// Resource not found, up to 2025-11-25 only.
    ResourceNotFound = -32002,
    /// A URL must be visited first, 2025-11-25 only.
    UrlElicitationRequired = -32042,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 10] = [
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::InternalError,
        Self::HeaderMismatch,
        Self::MissingRequiredClientCapability,
        Self::UnsupportedProtocolVersion,
        Self::ResourceNotFound,
        Self::UrlElicitationRequired,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The code of that number, if it is one of these.
    #[must_use]
    pub fn of_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|code| i64::from(code.number()) == number)
    }

    /// The HTTP status when a request is refused with this code before its method has run. An error
    /// that a method itself answers with, such as an unknown tool, is an ordinary response: 200.
    #[must_use]
    pub const fn http_status(self) -> u16 {
        match self {
            Self::ParseError
            | Self::InvalidRequest
            | Self::InvalidParams
            | Self::HeaderMismatch
            | Self::MissingRequiredClientCapability
            | Self::UnsupportedProtocolVersion
            | Self::UrlElicitationRequired => 400,
            Self::MethodNotFound | Self::ResourceNotFound => 404,
            Self::InternalError => 500,
        }
    }
}

/// Appends an error response. `data` is JSON text. Without an id the member is left out, as the
/// specification asks when the id could not be read.
pub fn push_error(out: &mut String, id: Option<&Id>, code: ErrorCode, message: &str, data: Option<&str>) {
    open(out, id);
    out.push_str(",\"error\":{\"code\":");
    push_integer(out, code.number());
    out.push_str(",\"message\":");
    push_string(out, message);
    if let Some(data) = data {
        out.push_str(",\"data\":");
        out.push_str(data);
    }
    out.push_str("}}");
}

/// Appends a result response. `result` is the JSON text of an object.
pub fn push_result(out: &mut String, id: &Id, result: &str) {
    push_result_start(out, id);
    out.push_str(result);
    push_result_end(out);
}

/// Appends what stands before the result object, for callers that write the object in place.
pub fn push_result_start(out: &mut String, id: &Id) {
    out.push_str(RESPONSE_START);
    out.push_str(id.as_json());
    out.push_str(RESULT);
}

/// The length of what [`push_result_start`] appends.
#[must_use]
pub fn result_start_len(id: &Id) -> usize {
    RESPONSE_START.len() + id.json_len() + RESULT.len()
}

const RESPONSE_START: &str = "{\"jsonrpc\":\"2.0\",\"id\":";
const RESULT: &str = ",\"result\":";

/// Appends what stands after the result object.
pub fn push_result_end(out: &mut String) {
    out.push('}');
}

/// Appends a notification. `params` is the JSON text of an object.
pub fn push_notification(out: &mut String, method: &str, params: Option<&str>) {
    open(out, None);
    method_and_params(out, method, params);
}

/// Appends a request. Servers send one only to clients of a revision before 2026-07-28.
pub fn push_request(out: &mut String, id: &Id, method: &str, params: Option<&str>) {
    open(out, Some(id));
    method_and_params(out, method, params);
}

fn open(out: &mut String, id: Option<&Id>) {
    out.push_str("{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        out.push_str(",\"id\":");
        out.push_str(id.as_json());
    }
}

fn method_and_params(out: &mut String, method: &str, params: Option<&str>) {
    out.push_str(",\"method\":");
    push_string(out, method);
    if let Some(params) = params {
        out.push_str(",\"params\":");
        out.push_str(params);
    }
    out.push('}');
}
