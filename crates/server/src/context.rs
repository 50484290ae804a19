//! What a handler knows of its request, and how it speaks to the client.
//!
//! It must never give a handler the credentials of the caller. A handler that asks the client something
//! need not know the revision: it ends, the client is asked, and it runs again with the answers.

mod secret;

use std::borrow::Cow;
use std::fmt;

use callgate_core::contract::schema::{Schema, SchemaLimits, Verdict};
use callgate_core::invocation::{Asked, Capability, CapabilitySet, InputRequest, Invocation};
use callgate_core::port::{LogLevel, Peer};
use callgate_core::principal::Principal;
use callgate_core::receipt::CallId;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{self, Document, Kind, Value, push_string};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::exchange::Exchange;
use crate::handler::ToolError;
use crate::kept::{ArtifactWriter, Handles};
use crate::resource::is_uri;
use crate::schema;

/// The context of one request. Copies of it are the same context.
#[derive(Clone, Copy)]
pub struct Context<'c>(Source<'c>);

#[derive(Clone, Copy)]
enum Source<'c> {
    Call(&'c Invocation<'c>),
    Other(&'c Exchange<'c>),
}

/// What the person made of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elicited<T> {
    /// The person agreed; for a form this is what they entered, already checked against its schema.
    Accepted(T),
    /// The person said no.
    Declined,
    /// The person neither agreed nor said no.
    Cancelled,
}

impl<T> Elicited<T> {
    /// What the person entered, if they agreed.
    #[must_use]
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

impl<'c> Context<'c> {
    pub(crate) fn of_call(invocation: &'c Invocation<'c>) -> Self {
        Self(Source::Call(invocation))
    }

    pub(crate) fn of_exchange(exchange: &'c Exchange<'c>) -> Self {
        Self(Source::Other(exchange))
    }

    /// Who calls.
    #[must_use]
    pub fn principal(&self) -> &'c Principal {
        match self.0 {
            Source::Call(invocation) => invocation.principal(),
            Source::Other(exchange) => exchange.principal,
        }
    }

    /// The tenant whose data the caller may see.
    #[must_use]
    pub fn tenant(&self) -> Option<&'c str> {
        self.principal().tenant.as_deref()
    }

    /// The id of the call that the receipt shows; only calls of tools have one.
    #[must_use]
    pub fn call_id(&self) -> Option<CallId> {
        match self.0 {
            Source::Call(invocation) => Some(invocation.call()),
            Source::Other(_) => None,
        }
    }

    /// When the request is given up.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        match self.0 {
            Source::Call(invocation) => invocation.deadline(),
            Source::Other(exchange) => exchange.deadline,
        }
    }

    /// A token that is cancelled when the request ends in any way, for work that runs beside the handler.
    /// The handler itself is dropped.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        match self.0 {
            Source::Call(invocation) => invocation.cancellation(),
            Source::Other(exchange) => exchange.cancellation(),
        }
    }

    /// Reports progress, if the client asked for it. A value that does not increase is dropped.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.peer().progress(progress, total, message);
    }

    /// Sends a log message to the client, if it asked for this level and the server declares logging.
    /// The text must hold no secret and nothing of another caller.
    pub fn log(&self, level: LogLevel, logger: Option<&str>, text: &str) {
        let mut data = String::with_capacity(text.len() + 2);
        push_string(&mut data, text);
        self.peer().log(level, logger, &data);
    }

    /// Frees the connection of a client that can come back: over HTTP, a client of 2025-11-25 is told where
    /// to go on, its response ends, and it fetches the rest when it asks again. Everybody else notices nothing.
    pub fn close_stream(&self) {
        self.peer().close_stream();
    }

    /// What the client declared that it can be asked for, with this request.
    #[must_use]
    pub fn declared(&self) -> CapabilitySet {
        match self.0 {
            Source::Call(invocation) => invocation.declared(),
            Source::Other(exchange) => exchange.declared,
        }
    }

    /// The state that the handler kept in the round before, opened and checked.
    #[must_use]
    pub fn kept(&self) -> Option<&'c [u8]> {
        match self.0 {
            Source::Call(invocation) => invocation.state(),
            Source::Other(exchange) => exchange.state,
        }
    }

    /// Keeps state for the next round. It travels sealed, and only when the handler ends with questions.
    pub fn keep(&self, state: impl Into<Vec<u8>>) {
        match self.0 {
            Source::Call(invocation) => invocation.keep(state),
            Source::Other(exchange) => exchange.keep(state.into()),
        }
    }

    /// The handles of the caller: texts that stand for something which the tool keeps, and that nobody else can
    /// use.
    ///
    /// ```
    /// use std::time::Duration;
    /// use callgate_server::{Content, Context, HandleScope, NoInput, ToolError};
    ///
    /// async fn open_basket(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    ///     let scope = HandleScope::operation("basket");
    ///     let handle = context.handles().create(&scope, "basket 7", Duration::from_secs(600)).await?;
    ///     Ok(Content::text(&handle))
    /// }
    /// ```
    #[must_use]
    pub fn handles(&self) -> Handles<'c> {
        Handles::new(match self.0 {
            Source::Call(invocation) => invocation.handles(),
            Source::Other(exchange) => exchange.keeping.handles(exchange.principal, exchange.method),
        })
    }

    /// Begins an artifact: a file that the caller, and nobody else, reads by its address until it expires. Only
    /// calls of tools make one, and only of tools that say so.
    ///
    /// ```
    /// use callgate_server::{Artifact, Context, Effect, NoInput, Tool, ToolError};
    ///
    /// async fn report(context: Context<'_>, _: NoInput) -> Result<Artifact, ToolError> {
    ///     let mut file = context.artifact("report.csv", "text/csv").await?;
    ///     file.write("month,total\r\n2026-11,100\r\n").await?;
    ///     file.finish().await
    /// }
    ///
    /// let _ = Tool::new("report", Effect::Read, report).description("Makes the monthly report.");
    /// ```
    ///
    /// # Errors
    /// The contract does not say that the tool makes artifacts, a bound is reached, or the store does not
    /// answer.
    pub async fn artifact(&self, name: &str, media_type: &str) -> Result<ArtifactWriter<'c>, ToolError> {
        let Source::Call(invocation) = self.0 else {
            return Err(ToolError::internal("only calls of tools make artifacts"));
        };
        let artifacts = invocation.artifacts().map_err(ToolError::refused)?;
        let writer = artifacts.begin(name, media_type).await.map_err(ToolError::refused)?;
        Ok(ArtifactWriter::new(writer))
    }

    /// Puts a form to the person. Its fields are those of `T`: texts, numbers, booleans and choices.
    ///
    /// ```
    /// use callgate_server::{Content, Context, NoInput, ToolError};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Address {
    ///     /// Where the copy goes
    ///     mail: String,
    /// }
    ///
    /// async fn send_copy(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    ///     let answer = context.elicit::<Address>("address", "Where should the copy go?").await?;
    ///     Ok(match answer.accepted() {
    ///         Some(Address { mail }) => Content::text(&format!("A copy goes to {mail}.")),
    ///         None => Content::text("Nothing was sent."),
    ///     })
    /// }
    /// ```
    ///
    /// Several questions go out together when they are asked at the same time, as `tokio::join!` does.
    /// Forms must never ask for a secret: a field named like one is refused. Use [`Context::elicit_url`]
    /// for that.
    ///
    /// # Errors
    /// Pass them on with `?`: one of them is how the handler ends while it waits for the answer. Others
    /// say that the client cannot show forms, or sent an answer that does not fit the form.
    pub async fn elicit<T>(&self, key: &str, message: &str) -> Result<Elicited<T>, ToolError>
    where
        T: JsonSchema + DeserializeOwned,
    {
        let schema = schema::form::<T>().map_err(ToolError::refused)?;
        let content = match self.elicit_form(key, message, &schema).await? {
            Elicited::Accepted(content) => content,
            Elicited::Declined => return Ok(Elicited::Declined),
            Elicited::Cancelled => return Ok(Elicited::Cancelled),
        };
        let typed = json::from_value(content.root());
        typed.map(Elicited::Accepted).map_err(|error| invalid_response(error.to_string()))
    }

    /// Puts a form to the person whose schema is given as JSON text; the answer is JSON as well.
    ///
    /// # Errors
    /// As [`Context::elicit`].
    pub async fn elicit_form(
        &self,
        key: &str,
        message: &str,
        schema: &str,
    ) -> Result<Elicited<Document>, ToolError> {
        if let Some(field) = secret::asked_for_in(schema) {
            return Err(ToolError::internal(format_args!(
                "the form field {field} asks for a secret; use Context::elicit_url"
            )));
        }
        let mut params = String::from("{\"mode\":\"form\",\"message\":");
        push_string(&mut params, message);
        params.push_str(",\"requestedSchema\":");
        params.push_str(schema);
        params.push('}');
        let request = InputRequest::new("elicitation/create", params, Capability::ElicitationForm);
        let answer = self.ask(key, request).await?;
        let content = match read_action(answer.root())? {
            Elicited::Accepted(content) => content.ok_or(invalid_response("`content` is required"))?,
            Elicited::Declined => return Ok(Elicited::Declined),
            Elicited::Cancelled => return Ok(Elicited::Cancelled),
        };
        check_form(schema, content)?;
        own(content).map(Elicited::Accepted)
    }

    /// Asks the person to open a page, for everything that must not pass through the client.
    ///
    /// # Errors
    /// As [`Context::elicit`].
    pub async fn elicit_url(&self, key: &str, message: &str, url: &str) -> Result<Elicited<()>, ToolError> {
        // "The url parameter MUST contain a valid URL":
        // <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests>
        let has_web_scheme = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
        if !has_web_scheme || !is_uri(url) {
            return Err(ToolError::internal("the URL of an elicitation is not a valid http or https URL"));
        }
        let mut params = String::from("{\"mode\":\"url\",\"message\":");
        push_string(&mut params, message);
        params.push_str(",\"url\":");
        push_string(&mut params, url);
        // Earlier revisions correlate by an id; the call and the key name this elicitation.
        params.push_str(",\"elicitationId\":");
        let call = self.call_id().map(|id| id.to_string()).unwrap_or_default();
        push_string(&mut params, &format!("{call}/{key}"));
        params.push('}');
        let request = InputRequest::new("elicitation/create", params, Capability::ElicitationUrl);
        let answer = self.ask(key, request).await?;
        Ok(match read_action(answer.root())? {
            Elicited::Accepted(_) => Elicited::Accepted(()),
            Elicited::Declined => Elicited::Declined,
            Elicited::Cancelled => Elicited::Cancelled,
        })
    }

    /// Asks the client's model for a message. `params` are those of `sampling/createMessage`; the answer
    /// is a `CreateMessageResult`.
    ///
    /// # Errors
    /// As [`Context::elicit`].
    pub async fn sample(&self, key: &str, params: impl Into<String>) -> Result<Document, ToolError> {
        let request = InputRequest::new("sampling/createMessage", params.into(), Capability::Sampling);
        let answer = self.ask(key, request).await?;
        let root = answer.root();
        let is_message = root.get("role").is_some() && root.get("content").is_some();
        if is_message { Ok(answer) } else { Err(invalid_response("a `CreateMessageResult` was expected")) }
    }

    /// Asks for the roots of the client's workspace; the answer is a `ListRootsResult`.
    ///
    /// # Errors
    /// As [`Context::elicit`].
    pub async fn roots(&self, key: &str) -> Result<Document, ToolError> {
        let request = InputRequest::new("roots/list", "{}".into(), Capability::Roots);
        let answer = self.ask(key, request).await?;
        let is_list = answer.root().get("roots").is_some_and(|roots| roots.kind() == Kind::Array);
        if is_list { Ok(answer) } else { Err(invalid_response("a `ListRootsResult` was expected")) }
    }

    async fn ask(&self, key: &str, request: InputRequest) -> Result<Document, ToolError> {
        let asked = match self.0 {
            Source::Call(invocation) => invocation.ask(key, request).await,
            Source::Other(exchange) => exchange.ask(key, request).await,
        };
        match asked.map_err(ToolError::refused)? {
            Asked::Answered(answer) if answer.kind() == Kind::Object => own(answer),
            Asked::Answered(_) => Err(invalid_response("an answer must be an object")),
            Asked::AnsweredLater(text) => Document::parse(text, &json::Limits::DEFAULT)
                .map_err(|error| invalid_response(error.to_string())),
            Asked::Noted => Err(ToolError::waiting()),
        }
    }

    fn peer(&self) -> &'c dyn Peer {
        match self.0 {
            Source::Call(invocation) => invocation.peer(),
            Source::Other(exchange) => exchange.peer,
        }
    }
}

fn own(value: Value<'_>) -> Result<Document, ToolError> {
    // What was part of a message within the bounds is within them on its own.
    Document::parse(value.raw(), &json::Limits::DEFAULT).map_err(|error| invalid_response(error.to_string()))
}

fn read_action(answer: Value<'_>) -> Result<Elicited<Option<Value<'_>>>, ToolError> {
    match answer.get("action").and_then(Value::as_str).as_deref() {
        Some("accept") => {
            let content = answer.get("content");
            if content.is_some_and(|content| content.kind() != Kind::Object) {
                return Err(invalid_response("`content` must be an object"));
            }
            Ok(Elicited::Accepted(content))
        }
        Some("decline") => Ok(Elicited::Declined),
        Some("cancel") => Ok(Elicited::Cancelled),
        _ => Err(invalid_response("`action` must be accept, decline or cancel")),
    }
}

/// "Servers SHOULD validate that received data matches the requested schema":
/// <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#form-mode-security>
fn check_form(schema: &str, content: Value<'_>) -> Result<(), ToolError> {
    let schema = Schema::compile(schema, &SchemaLimits::DEFAULT)
        .map_err(|_| ToolError::internal("the schema of a form is not valid"))?;
    match schema.validate(content) {
        Verdict::Valid => Ok(()),
        Verdict::Invalid(violations) => {
            let public = "the answer to a question does not fit its schema";
            let refusal = Refusal::new(Code::InvalidInputResponse, public);
            Err(ToolError::refused(refusal.with_violations(violations.list, violations.truncated)))
        }
        Verdict::OverBudget => Err(invalid_response("checking the answer takes too much work")),
    }
}

fn invalid_response(expected: impl Into<Cow<'static, str>>) -> ToolError {
    let public = format!("an answer in inputResponses is malformed: {}", expected.into());
    ToolError::refused(Refusal::new(Code::InvalidInputResponse, public))
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}
