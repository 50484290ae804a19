//! Prompts: messages that a person chooses, made from a few texts.
//!
//! Source: <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts>. Authors of servers
//! make them; the endpoint lists and renders them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use callgate_core::offer::{Offer, OfferKind};
use callgate_core::port::Answer;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{self, Document, push_string};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::completion::{Completer, Completing};
use crate::content::Block;
use crate::context::Context;
use crate::endpoint::Entry;
use crate::handler::{Act, Action, Handler, Run, Stateful, StatefulHandler, Stateless, ToolError};
use crate::schema;

/// Who speaks in a message of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// The messages of a prompt, in order.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    json: String,
    pub(crate) description: Option<String>,
}

impl Messages {
    /// No message yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same messages and one more.
    #[must_use]
    pub fn with(mut self, role: Role, block: Block) -> Self {
        if !self.json.is_empty() {
            self.json.push(',');
        }
        self.json.push_str("{\"role\":\"");
        self.json.push_str(role.as_str());
        self.json.push_str("\",\"content\":");
        self.json.push_str(block.as_json());
        self.json.push('}');
        self
    }

    /// The same messages and one more text of the person.
    #[must_use]
    pub fn user(self, text: &str) -> Self {
        self.with(Role::User, Block::text(text))
    }

    /// The same messages and one more text of the model.
    #[must_use]
    pub fn assistant(self, text: &str) -> Self {
        self.with(Role::Assistant, Block::text(text))
    }

    /// What this rendering of the prompt is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The messages as one JSON array.
    pub(crate) fn to_json(&self) -> String {
        format!("[{}]", self.json)
    }
}

/// An argument of a prompt, as the list shows it.
#[derive(Clone, Debug)]
pub(crate) struct PromptArgument {
    pub(crate) name: String,
    description: Option<String>,
    pub(crate) is_required: bool,
}

/// A prompt as its author describes it.
pub struct Prompt {
    name: String,
    title: Option<String>,
    description: Option<String>,
    arguments: Vec<PromptArgument>,
    labels: Vec<String>,
    scopes: Vec<String>,
    act: Box<dyn Act<Arc<Document>, Messages>>,
    completers: BTreeMap<String, Completer>,
}

impl Prompt {
    /// A prompt of an async function. Its arguments are the fields of `I`, which must be texts.
    ///
    /// ```
    /// use callgate_server::{Completing, Context, Messages, Prompt, ToolError};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Letter {
    ///     /// In which language
    ///     language: String,
    /// }
    ///
    /// async fn letter(_: Context<'_>, Letter { language }: Letter) -> Result<Messages, ToolError> {
    ///     Ok(Messages::new().user(&format!("Write a reminder in {language}.")))
    /// }
    ///
    /// async fn languages(_: Context<'_>, typed: Completing) -> Result<Vec<String>, ToolError> {
    ///     let all = ["Czech", "Danish", "Dutch"];
    ///     Ok(all.into_iter().filter(|name| name.starts_with(&typed.value)).map(Into::into).collect())
    /// }
    ///
    /// let prompt = Prompt::new("reminder", letter).complete("language", languages);
    /// assert_eq!(prompt.name(), "reminder");
    /// ```
    pub fn new<I, H>(name: impl Into<String>, handler: H) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        H: for<'c> Handler<'c, I, Messages>,
    {
        Self::of::<I>(name.into(), Stateless(handler))
    }

    /// A prompt of an async function that borrows state which all requests share.
    pub fn with_state<S, I, H>(name: impl Into<String>, state: S, handler: H) -> Self
    where
        S: Send + Sync + 'static,
        I: DeserializeOwned + JsonSchema + Send + 'static,
        H: for<'c> StatefulHandler<'c, S, I, Messages>,
    {
        Self::of::<I>(name.into(), Stateful(state, handler))
    }

    fn of<I>(name: String, run: impl Run<I, Messages>) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
    {
        Self {
            name,
            title: None,
            description: None,
            arguments: arguments::<I>(),
            labels: Vec::new(),
            scopes: Vec::new(),
            act: Box::new(TypedPrompt(Action::new(run))),
            completers: BTreeMap::new(),
        }
    }

    /// The name that people see.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What the prompt is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// A label that policies may refer to; never shown to a client.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.labels.push(label.into());
        self
    }

    /// A scope that the credential of a caller must have. One that lacks any is told all of them.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    /// Completes an argument while a person types it.
    #[must_use]
    pub fn complete<H>(mut self, argument: impl Into<String>, handler: H) -> Self
    where
        H: for<'c> Handler<'c, Completing, Vec<String>>,
    {
        self.completers.insert(argument.into(), Box::new(Action::new(Stateless(handler))));
        self
    }

    /// The name of the prompt.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn arguments(&self) -> &[PromptArgument] {
        &self.arguments
    }

    pub(crate) fn completer(&self, argument: &str) -> Option<&Completer> {
        self.completers.get(argument)
    }

    pub(crate) fn has_completions(&self) -> bool {
        !self.completers.is_empty()
    }

    /// Arguments that are completed and do not exist.
    pub(crate) fn unknown_completions(&self) -> impl Iterator<Item = &str> {
        let is_known = |name: &str| self.arguments.iter().any(|argument| argument.name == name);
        self.completers.keys().map(String::as_str).filter(move |name| !is_known(name))
    }

    /// Runs the handler. The arguments are an object of strings with all that are required.
    pub(crate) fn act<'a>(
        &'a self,
        context: Context<'a>,
        arguments: Arc<Document>,
    ) -> Answer<'a, Result<Messages, ToolError>> {
        self.act.act(context, arguments)
    }

    /// What policies know of it.
    pub(crate) fn offer(&self) -> Offer {
        Offer::new(OfferKind::Prompt, self.name.as_str())
            .with_labels(self.labels.clone())
            .with_scopes(self.scopes.clone())
            .with_inputs(self.arguments.iter().map(|argument| argument.name.clone()).collect())
    }

    pub(crate) fn entry(&self) -> Entry {
        let mut out = String::from("{\"name\":");
        push_string(&mut out, &self.name);
        for (member, text) in [("title", &self.title), ("description", &self.description)] {
            if let Some(text) = text {
                crate::content::push_member(&mut out, member, text);
            }
        }
        if !self.arguments.is_empty() {
            out.push_str(",\"arguments\":[");
            for (at, argument) in self.arguments.iter().enumerate() {
                out.push_str(if at > 0 { ",{\"name\":" } else { "{\"name\":" });
                push_string(&mut out, &argument.name);
                if let Some(description) = &argument.description {
                    crate::content::push_member(&mut out, "description", description);
                }
                out.push_str(if argument.is_required {
                    ",\"required\":true}"
                } else {
                    ",\"required\":false}"
                });
            }
            out.push(']');
        }
        out.push('}');
        Entry { key: self.name.clone(), json: out }
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prompt({})", self.name)
    }
}

/// A handler of typed arguments.
struct TypedPrompt<R, I>(Action<R, I, Messages>);

impl<R, I> Act<Arc<Document>, Messages> for TypedPrompt<R, I>
where
    R: Run<I, Messages>,
    I: DeserializeOwned + Send + 'static,
{
    fn act<'a>(
        &'a self,
        context: Context<'a>,
        input: Arc<Document>,
    ) -> Answer<'a, Result<Messages, ToolError>> {
        match json::from_value::<I>(input.root()) {
            Ok(arguments) => self.0.act(context, arguments),
            Err(error) => {
                let public = format!("the arguments do not fit the prompt: {error}");
                Answer::now(Err(ToolError::refused(Refusal::new(Code::InvalidArguments, public))))
            }
        }
    }
}

/// The arguments that a type stands for: its fields.
fn arguments<I: JsonSchema>() -> Vec<PromptArgument> {
    let schema: Value = serde_json::from_str(&schema::input::<I>()).unwrap_or_default();
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let Some(fields) = schema["properties"].as_object() else { return Vec::new() };
    fields
        .iter()
        .map(|(name, field)| PromptArgument {
            name: name.clone(),
            description: field["description"].as_str().map(str::to_owned),
            is_required: required(name),
        })
        .collect()
}
