//! How a call ended, before it takes the form of a transport.
//!
//! What is here has been checked; the server turns it into a message and adds nothing to it.

use std::sync::Arc;

use callgate_protocol::json::Document;

use crate::contract::Contract;
use crate::invocation::InputRequest;
use crate::receipt::Receipt;
use crate::refusal::Refusal;
use crate::snapshot::Tool;

/// The `_meta` key that marks what a tool, a resource or a prompt gave: it is data of its source, whatever it says,
/// and no instruction to whoever reads it. Its value is always `true`, and a tool cannot set it.
pub const UNTRUSTED_KEY: &str = "dev.callgate/untrusted";

/// The result of a tool, as its executor gives it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Content blocks: one JSON array, or nothing when the structured result is all there is.
    pub content: Option<String>,
    /// The structured result: one JSON value. `null` is a value, nothing is none.
    pub structured: Option<String>,
    /// True when the tool says that it could not do what was asked.
    pub is_error: bool,
    /// True when the tool says with an error that nothing changed. Otherwise nobody knows whether a tool that
    /// changes something did so before it failed.
    pub unchanged: bool,
    /// More members for `_meta`: one JSON object.
    pub meta: Option<String>,
}

impl ToolOutput {
    /// A result of one JSON value; its text is also given as a text block.
    #[must_use]
    pub fn structured(json: impl Into<String>) -> Self {
        Self { structured: Some(json.into()), ..Self::default() }
    }

    /// A result of content blocks: one JSON array.
    #[must_use]
    pub fn content(json_array: impl Into<String>) -> Self {
        Self { content: Some(json_array.into()), ..Self::default() }
    }

    /// A result of one text block.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut content = String::with_capacity(text.len() + 32);
        content.push_str(r#"[{"type":"text","text":"#);
        callgate_protocol::json::push_string(&mut content, text);
        content.push_str("}]");
        Self::content(content)
    }

    /// The same result, marked as an error of the tool.
    #[must_use]
    pub fn as_error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// The same result, marked as an error of the tool that changed nothing.
    #[must_use]
    pub fn as_unchanged(mut self) -> Self {
        self.is_error = true;
        self.unchanged = true;
        self
    }
}

/// A result that has passed the check step.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedOutput {
    /// Content blocks: one JSON array, or nothing when the text of the structured result is to be shown.
    pub content: Option<String>,
    /// The structured result.
    pub structured: Option<Document>,
    /// True when the tool says that it could not do what was asked.
    pub is_error: bool,
    /// More members for `_meta`: one JSON object.
    pub meta: Option<String>,
    /// True when the texts hold characters that people do not see, such as bidirectional overrides.
    pub hidden_text: bool,
}

/// Questions to the client, and the sealed state to send back with the answers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Questions {
    /// Each question under its key, in the order in which they were asked.
    pub requests: Vec<(String, InputRequest)>,
    /// The sealed state, if the tool kept any.
    pub state: Option<String>,
}

/// How a call ended that got as far as being executed.
#[derive(Debug)]
pub enum Outcome {
    /// With a result.
    Complete(CheckedOutput),
    /// With questions; the client calls again with the answers.
    InputRequired(Questions),
    /// Without a result that may leave.
    Failed(Refusal),
}

/// The outcome of a call and what can be quoted of it.
#[derive(Debug)]
#[must_use]
pub struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) receipt: Receipt,
    pub(crate) tool: Arc<Tool>,
}

impl Settled {
    /// How the call ended.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The contract that was in force.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        self.tool.contract()
    }

    /// What the caller can quote.
    #[must_use]
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }
}
