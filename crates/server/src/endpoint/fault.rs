//! Why a method other than a tool call was not answered with a result.
//!
//! Its texts never hold a value that the client sent, except a resource's own URI. The methods of the
//! endpoint make it; the compatibility profile renders it for its revisions.

use std::borrow::Cow;

use callgate_core::refusal::{Code, Refusal};
use callgate_core::usage::NotPermitted;
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
    /// The server, or the caller, holds as many subscriptions as it may.
    Full(&'static str),
    /// The gate refused, or a handler failed.
    Refused(Refusal),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Fault {
    /// Why something may not be used; what is hidden is answered as what is absent.
    pub(super) fn of(why: NotPermitted, unknown: impl FnOnce() -> Self) -> Self {
        match why {
            NotPermitted::Unknown(_) => unknown(),
            NotPermitted::Refused(refusal) => Self::Refused(refusal),
        }
    }

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

    /// The code and the reason in the record of a read or a rendering. Such methods make no other faults.
    pub(super) fn recorded(&self) -> (Code, Option<&str>) {
        match self {
            Self::UnknownMethod | Self::Params(_) => (Code::MalformedCall, None),
            Self::NotFound(_) | Self::UnknownResource(_) => (Code::NotFound, None),
            Self::Full(_) => (Code::Busy, None),
            Self::Refused(refusal) => (refusal.code(), refusal.detail()),
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
            Self::Full(message) => Answered::error(id, ErrorCode::InternalError, message, None, 503),
            Self::Refused(refusal) => respond::to_error(id, &refusal),
        }
    }
}
