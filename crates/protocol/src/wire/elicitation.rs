//! Elicitation: a server asks the person behind the client, by a form or by a URL.
//!
//! A form must never ask for a secret. The answer is judged by whoever asked.

use super::field::{Wire, WireError};
use super::form::RequestedSchema;
use super::raw::RawJson;
use crate::json::Value;

/// The parameters of `elicitation/create`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// A form; also when there is no `mode`.
    Form(ElicitFormParams),
    /// A URL; since 2025-11-25.
    Url(ElicitUrlParams),
    /// A mode that this version does not know.
    Other(RawJson),
}

impl Wire for ElicitRequestParams {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        match value.get("mode") {
            None => ElicitFormParams::read(value).map(Self::Form),
            Some(mode) if mode.is_str("form") => ElicitFormParams::read(value).map(Self::Form),
            Some(mode) if mode.is_str("url") => ElicitUrlParams::read(value).map(Self::Url),
            Some(_) => Ok(Self::Other(value.into())),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Form(params) => params.write(out),
            Self::Url(params) => params.write(out),
            Self::Other(params) => params.write(out),
        }
    }
}

wire_names! {
    /// How a person is asked.
    pub enum ElicitMode {
        /// By a form.
        Form = "form",
        /// By a URL.
        Url = "url",
    }
}

wire_struct! {
    /// A form.
    pub struct ElicitFormParams {
        required {
            /// What is asked, for people.
            message: String = "message",
            /// The fields.
            requested_schema: RequestedSchema = "requestedSchema",
        }
        optional {
            /// `form`, or nothing.
            mode: ElicitMode = "mode",
            /// How to run it as a task; only in 2025-11-25.
            task: RawJson = "task",
            /// Metadata, as text; up to 2025-11-25.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// A URL to be visited.
    pub struct ElicitUrlParams ["mode" = "url"] {
        required {
            /// What it is for, for people.
            message: String = "message",
            /// The URL, without a secret in it.
            url: String = "url",
        }
        optional {
            /// The elicitation; required in 2025-11-25 and unknown since.
            elicitation_id: String = "elicitationId",
            /// How to run it as a task; only in 2025-11-25.
            task: RawJson = "task",
            /// Metadata, as text; up to 2025-11-25.
            meta: RawJson = "_meta",
        }
    }
}

wire_names! {
    /// What the person did.
    pub enum ElicitAction {
        /// Answered, or agreed to visit the URL.
        Accept = "accept",
        /// Said no.
        Decline = "decline",
        /// Did neither.
        Cancel = "cancel",
    }
}

wire_struct! {
    /// The answer to an elicitation.
    pub struct ElicitResult {
        required {
            /// What the person did.
            action: ElicitAction = "action",
        }
        optional {
            /// The filled form, as text: an object. Only with `accept`, and never for a URL.
            content: RawJson = "content",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
