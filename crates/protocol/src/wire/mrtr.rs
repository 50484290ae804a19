//! Multi-round-trip requests (2026-07-28): a result that asks for input, and what is asked.
//!
//! `requestState` is the server's alone: a client must repeat it and never look into it, and a server
//! must trust nothing in it that it has not sealed.

use super::base::{RequestParams, ResultType};
use super::elicitation::ElicitRequestParams;
use super::field::{Entries, Wire, WireError};
use super::raw::RawJson;
use super::sampling::CreateMessageRequestParams;
use crate::json::Value;

wire_struct! {
    /// A result that asks for input; it has input requests, or a state, or both.
    pub struct InputRequiredResult ["resultType" = "input_required"] {
        optional {
            /// What is asked, by keys that the answers repeat.
            input_requests: Entries<InputRequest> = "inputRequests",
            /// The state to be repeated.
            request_state: String = "requestState",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

impl InputRequiredResult {
    /// The kind of result, which is always the same.
    #[must_use]
    pub const fn result_type(&self) -> ResultType {
        ResultType::InputRequired
    }
}

wire_choice! {
    /// Something that a server asks a client for.
    pub enum InputRequest by "method" {
        /// Ask the person.
        Elicit(ElicitInput) = "elicitation/create",
        /// Ask the model.
        CreateMessage(CreateMessageInput) = "sampling/createMessage",
        /// Ask for the roots.
        ListRoots(ListRootsInput) = "roots/list",
    }
}

wire_struct! {
    /// Ask the person.
    pub struct ElicitInput ["method" = "elicitation/create"] {
        required {
            /// What is asked.
            params: ElicitRequestParams = "params",
        }
    }
}

wire_struct! {
    /// Ask the model.
    pub struct CreateMessageInput ["method" = "sampling/createMessage"] {
        required {
            /// What is asked.
            params: CreateMessageRequestParams = "params",
        }
    }
}

wire_struct! {
    /// Ask for the roots.
    pub struct ListRootsInput ["method" = "roots/list"] {
        optional {
            /// Metadata.
            params: RequestParams = "params",
        }
    }
}

/// A result that is final, or one that asks for input.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome<R> {
    /// The final result; also when there is no `resultType`, as from servers before 2026-07-28.
    Complete(R),
    /// Input is needed.
    InputRequired(InputRequiredResult),
}

impl<R: Wire> Wire for Outcome<R> {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        match value.get("resultType") {
            Some(kind) if kind.is_str("input_required") => {
                InputRequiredResult::read(value).map(Self::InputRequired)
            }
            Some(kind) if !kind.is_str("complete") => {
                Err(WireError::new("\"complete\" or \"input_required\"").within("resultType"))
            }
            _ => R::read(value).map(Self::Complete),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Complete(result) => result.write(out),
            Self::InputRequired(result) => result.write(out),
        }
    }
}
