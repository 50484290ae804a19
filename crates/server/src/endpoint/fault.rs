//! Why a method other than a tool call was not answered with a result.
//!
//! Its texts never hold a value that the client sent, except a resource's own URI. The methods of the
//! endpoint make it; the compatibility profile renders it for its revisions.

use std::borrow::Cow;

use callgate_core::refusal::Refusal;
use callgate_protocol::json::push_string;
use callgate_protocol::{ErrorCode, Id};

use super::Answered;
use crate::respond;

/// A request that is answered with a JSON-RPC error.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The method does not exist, or its capability is not offered.
    UnknownMethod,
    /// The parameters do not fit the method.
    Params(Cow<'static, str>),
    /// Well-formed parameters name something that does not exist.
    NotFound(&'static str),
    /// No resource has this URI.
    UnknownResource(String),
    /// The server holds as many subscriptions as it may.
    Full,
    /// The gate refused, or a handler failed.
    Refused(Refusal),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Fault {
    /// Parameters that do not fit, with what was expected.
    pub(crate) fn params(expected: impl Into<Cow<'static, str>>) -> Self {
        Self::Params(expected.into())
    }

    /// What was expected of the parameters of a tool call, which are refused through the gate.
    pub(super) fn of_call(self) -> Cow<'static, str> {
        match self {
            Self::Params(message) => message,
            _ => Cow::Borrowed("the parameters do not fit `tools/call`"),
        }
    }

    /// The error response of 2026-07-28.
    pub(crate) fn into_answer(self, id: &Id) -> Answered {
        let id = Some(id);
        match self {
            Self::UnknownMethod => {
                Answered::error(id, ErrorCode::MethodNotFound, "Method not found", None, 404)
            }
            Self::Params(message) => Answered::error(id, ErrorCode::InvalidParams, &message, None, 400),
            Self::NotFound(message) => Answered::error(id, ErrorCode::InvalidParams, message, None, 200),
            // "Servers … MUST return … Resource not found: -32602":
            // <https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling>
            Self::UnknownResource(uri) => {
                let mut data = String::from("{\"uri\":");
                push_string(&mut data, &uri);
                data.push('}');
                Answered::error(id, ErrorCode::InvalidParams, "Resource not found", Some(&data), 200)
            }
            Self::Full => Answered::error(
                id,
                ErrorCode::InternalError,
                "too many subscriptions are open; try again later",
                None,
                503,
            ),
            Self::Refused(refusal) => respond::to_error(id, &refusal),
        }
    }
}
