//! Questions of a tool to the client.
//!
//! A question is put only to a client that declared the capability for it with this very request. In
//! the latest revision questions travel in the result and the tool runs again with the answers; in
//! earlier ones the client is asked while the call waits. A tool need not know which.

use callgate_protocol::json::Value;

use super::Invocation;
use crate::port::PeerError;
use crate::refusal::{Code, Refusal};

/// Something a client can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// A form that the person fills in.
    ElicitationForm,
    /// A page that the person opens.
    ElicitationUrl,
    /// A completion of the client's model.
    Sampling,
    /// A completion that may use tools.
    SamplingTools,
    /// The roots of the client's workspace.
    Roots,
}

impl Capability {
    /// All capabilities.
    pub const ALL: [Self; 5] =
        [Self::ElicitationForm, Self::ElicitationUrl, Self::Sampling, Self::SamplingTools, Self::Roots];

    const fn bit(self) -> u8 {
        match self {
            Self::ElicitationForm => 1,
            Self::ElicitationUrl => 2,
            Self::Sampling => 4,
            Self::SamplingTools => 8,
            Self::Roots => 16,
        }
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilitySet(u8);

impl CapabilitySet {
    /// No capability.
    pub const NONE: Self = Self(0);

    /// The set with one more capability.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | capability.bit())
    }

    /// Whether the capability is in the set.
    #[must_use]
    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// True when nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set as a `ClientCapabilities` object, as the error for a missing capability shows it.
    #[must_use]
    pub fn to_json(self) -> String {
        let mut members = Vec::new();
        match (self.contains(Capability::ElicitationForm), self.contains(Capability::ElicitationUrl)) {
            (true, true) => members.push(r#""elicitation":{"form":{},"url":{}}"#),
            (true, false) => members.push(r#""elicitation":{"form":{}}"#),
            (false, true) => members.push(r#""elicitation":{"url":{}}"#),
            (false, false) => {}
        }
        if self.contains(Capability::SamplingTools) {
            members.push(r#""sampling":{"tools":{}}"#);
        } else if self.contains(Capability::Sampling) {
            members.push(r#""sampling":{}"#);
        }
        if self.contains(Capability::Roots) {
            members.push(r#""roots":{}"#);
        }
        format!("{{{}}}", members.join(","))
    }
}

/// One question: a request as the specification defines it for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: &'static str,
    /// The parameters: one JSON object.
    pub params: String,
    /// What the client must have declared.
    pub needs: Capability,
}

impl InputRequest {
    /// A question with its parameters and what it needs.
    #[must_use]
    pub fn new(method: &'static str, params: String, needs: Capability) -> Self {
        Self { method, params, needs }
    }
}

/// What became of a question.
#[derive(Debug)]
pub enum Asked<'c> {
    /// The client answered in this request.
    Answered(Value<'c>),
    /// The client answered while the call waited; the JSON text of its answer.
    AnsweredLater(String),
    /// The question goes out with the result; the tool should end now.
    Noted,
}

impl<'c> Invocation<'c> {
    /// Puts a question to the client, or finds the answer that it already gave under `key`.
    ///
    /// Cancel safe: a question that was put while waiting is withdrawn when this is dropped.
    ///
    /// # Errors
    /// The client did not declare the capability, there are too many questions, or the client is gone.
    pub async fn ask(&self, key: &str, request: InputRequest) -> Result<Asked<'c>, Refusal> {
        if let Some(answer) = self.responses.and_then(|responses| responses.get(key)) {
            return Ok(Asked::Answered(answer));
        }
        if !self.declared.contains(request.needs) {
            let mut noted = self.noted();
            noted.missing = noted.missing.with(request.needs);
            let missing = noted.missing.to_json();
            return Err(Refusal::new(
                Code::MissingCapability,
                "the client did not declare a capability that the tool needs",
            )
            .with_data(format!(r#"{{"requiredCapabilities":{missing}}}"#)));
        }
        if let Some(answer) = self.peer.ask(&request) {
            return answer.await.map(Asked::AnsweredLater).map_err(|error| match error {
                PeerError::Gone => Refusal::new(Code::Cancelled, "the client went away before it answered"),
                PeerError::Failed => {
                    Refusal::new(Code::ToolFailed, "the client could not answer the tool's question")
                }
                PeerError::Busy => Refusal::new(Code::Busy, "the client has too many open questions"),
            });
        }
        let mut noted = self.noted();
        if noted.questions.len() >= self.questions_max {
            return Err(Refusal::new(
                Code::ToolFailed,
                "the tool asked more questions than the limit allows",
            ));
        }
        if !noted.questions.iter().any(|(known, _)| known == key) {
            noted.questions.push((key.to_owned(), request));
        }
        Ok(Asked::Noted)
    }
}
