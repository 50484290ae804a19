//! The parameters of requests that name something and bring arguments, read in one pass.
//!
//! Malformed parameters are an error of the parameters, never an unknown method.

use std::borrow::Cow;

use callgate_protocol::json::{Document, Kind, Value};

use super::Fault;

/// The parameters of `tools/call` and `prompts/get`, and of `resources/read` by another member.
pub(super) struct CallParams<'r> {
    pub(super) name: Cow<'r, str>,
    pub(super) arguments: Value<'r>,
    pub(super) input_responses: Option<Value<'r>>,
    pub(super) request_state: Option<Cow<'r, str>>,
    pub(super) meta: Option<Value<'r>>,
}

impl<'r> CallParams<'r> {
    /// Reads the parameters of a method whose target stands in `name`.
    pub(super) fn read(params: Option<Value<'r>>) -> Result<Self, Fault> {
        Self::read_by("name", params)
    }

    /// Reads the parameters of a method whose target stands in that member.
    pub(super) fn read_by(member: &'static str, params: Option<Value<'r>>) -> Result<Self, Fault> {
        let (mut name, mut arguments, mut input_responses, mut request_state) = (None, None, None, None);
        let mut meta = None;
        if let Some(params) = params {
            params.each_member(|key, value| match key {
                b"arguments" => arguments = Some(value),
                b"inputResponses" => input_responses = Some(value),
                b"requestState" => request_state = Some(value),
                b"_meta" => meta = Some(value),
                key if key == member.as_bytes() => name = Some(value),
                _ => {}
            });
        }
        let name = name
            .and_then(Value::as_str)
            .ok_or_else(|| Fault::params(format!("`{member}` is required and must be a string")))?;
        if arguments.is_some_and(|arguments| arguments.kind() != Kind::Object) {
            return Err(Fault::params("`arguments` must be an object"));
        }
        let is_response_set = |responses: Value<'_>| {
            responses.kind() == Kind::Object
                && responses.members().all(|(_, response)| response.kind() == Kind::Object)
        };
        if input_responses.is_some_and(|responses| !is_response_set(responses)) {
            return Err(Fault::params("`inputResponses` must be an object of objects"));
        }
        let request_state = match request_state {
            None => None,
            Some(state) => Some(state.as_str().ok_or(Fault::params("`requestState` must be a string"))?),
        };
        let arguments = arguments.unwrap_or_else(|| Document::empty_object().root());
        Ok(Self { name, arguments, input_responses, request_state, meta })
    }
}
