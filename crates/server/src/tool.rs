//! Typed tools: a name, an effect and an async function.
//!
//! The schemas come from the types, and what the schema promises is checked by the gate, not by the
//! function. A tool says nothing about permissions. Authors of servers make them; the builder turns them
//! into contracts.

mod typed;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_core::contract::{
    Contract, Definition, DefinitionFault, Delivery, Effect, Idempotency, Mask, Resolution,
};
use callgate_core::limits::Limits;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::Execute;
use callgate_core::rate::Allowance;
use callgate_core::snapshot::Tool as GateTool;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::content::{Block, Content, WithContent};
use crate::handler::{Handler, Run, Stateful, StatefulHandler, Stateless, ToolError};
use crate::schema;
use typed::Typed;

/// The input of a tool without arguments.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NoInput {}

/// What a handler of a tool may return: any type that serde and schemars know becomes a structured
/// result with an output schema; [`Content`] and [`Block`] are content blocks; [`WithContent`] is both.
pub trait Output: Send + 'static {
    /// The schema of the structured result.
    #[doc(hidden)]
    fn schema() -> Option<String>;

    /// How the result reaches the caller.
    #[doc(hidden)]
    fn delivery() -> Delivery {
        Delivery::Inline
    }

    /// The result as it leaves.
    ///
    /// # Errors
    /// When serde cannot write the value.
    #[doc(hidden)]
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

impl<T: Serialize + JsonSchema + Send + 'static> Output for T {
    fn schema() -> Option<String> {
        Some(schema::output::<T>())
    }

    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::structured(serde_json::to_string(&self)?))
    }
}

impl Output for Content {
    fn schema() -> Option<String> {
        None
    }

    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::content(self.to_json()))
    }
}

impl Output for Block {
    fn schema() -> Option<String> {
        None
    }

    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Content::from(self).into_output()
    }
}

impl<T: Serialize + JsonSchema + Send + 'static> Output for WithContent<T> {
    fn schema() -> Option<String> {
        Some(schema::output::<T>())
    }

    fn into_output(self) -> Result<ToolOutput, ToolError> {
        let mut output = ToolOutput::structured(serde_json::to_string(&self.0)?);
        output.content = Some(self.1.to_json());
        Ok(output)
    }
}

/// A tool as its author describes it. Clones share their executor, so that a tool can be put into the
/// next snapshot of a server, too.
#[derive(Clone)]
pub struct Tool {
    definition: Definition,
    execute: Arc<dyn Execute>,
}

impl Tool {
    /// A tool of an async function.
    ///
    /// The input schema comes from `I` and refuses members that `I` does not name; the output schema comes
    /// from `O`. A closure works as well, if it names its types and does not borrow from its context:
    ///
    /// ```
    /// use callgate_server::{Content, Context, Effect, NoInput, Tool};
    ///
    /// let tool = Tool::new("hello", Effect::Read, |_: Context<'_>, _: NoInput| async {
    ///     Ok(Content::text("Hello."))
    /// });
    /// assert_eq!(tool.name(), "hello");
    /// ```
    pub fn new<I, O, H>(name: impl Into<String>, effect: Effect, handler: H) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Output,
        H: for<'c> Handler<'c, I, O>,
    {
        Self::of(name.into(), effect, Stateless(handler))
    }

    /// A tool of an async function that borrows state which all calls share.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use callgate_server::{Context, Effect, NoInput, Tool, ToolError};
    ///
    /// async fn count(calls: &AtomicU64, _: Context<'_>, _: NoInput) -> Result<u64, ToolError> {
    ///     Ok(calls.fetch_add(1, Ordering::Relaxed))
    /// }
    ///
    /// let tool = Tool::with_state("count", Effect::Read, AtomicU64::new(0), count);
    /// assert_eq!(tool.name(), "count");
    /// ```
    pub fn with_state<S, I, O, H>(name: impl Into<String>, effect: Effect, state: S, handler: H) -> Self
    where
        S: Send + Sync + 'static,
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Output,
        H: for<'c> StatefulHandler<'c, S, I, O>,
    {
        Self::of(name.into(), effect, Stateful(state, handler))
    }

    /// A tool of a definition with hand-written schemas and an executor of raw JSON.
    pub fn raw(definition: Definition, execute: impl Execute + 'static) -> Self {
        Self { definition, execute: Arc::new(execute) }
    }

    fn of<I, O, R>(name: String, effect: Effect, run: R) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Output,
        R: Run<I, O>,
    {
        let mut definition = Definition::new(name, effect, schema::input::<I>());
        definition.output_schema = O::schema();
        definition.delivery = O::delivery();
        Self { definition, execute: Arc::new(Typed::new(run)) }
    }

    /// The name that people see.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What the tool does, when to use it and when not, what it returns.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Icons, as one JSON array of the specification's `Icon` objects.
    #[must_use]
    pub fn icons(mut self, json_array: impl Into<String>) -> Self {
        self.definition.icons = Some(json_array.into());
        self
    }

    /// Members for the definition's `_meta`, as one JSON object.
    #[must_use]
    pub fn meta(mut self, json_object: impl Into<String>) -> Self {
        self.definition.meta = Some(json_object.into());
        self
    }

    /// How long one call may run.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.definition.timeout = Some(timeout);
        self
    }

    /// What all callers of the tool together may use: a rate, and calls at one time.
    #[must_use]
    pub fn allowance(mut self, allowance: Allowance) -> Self {
        self.definition.allowance = allowance;
        self
    }

    /// What each caller of the tool may use.
    #[must_use]
    pub fn allowance_of_caller(mut self, allowance: Allowance) -> Self {
        self.definition.allowance_of_caller = allowance;
        self
    }

    /// How large a result may be, in bytes of its JSON text.
    #[must_use]
    pub fn output_bytes(mut self, bytes: usize) -> Self {
        self.definition.output_bytes = Some(bytes);
        self
    }

    /// How a result reaches its caller. With [`Delivery::Overflow`] one that is larger than
    /// [`Tool::output_bytes`] becomes a link to an artifact; the output schema then says that it may.
    /// [`Delivery::Artifact`] lets the handler make artifacts with [`Context::artifact`](crate::Context::artifact);
    /// a handler that returns an [`Artifact`](crate::Artifact) has it anyway.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.definition.delivery = delivery;
        self
    }

    /// A hand-written schema of the arguments instead of that of the type. The handler still reads its
    /// type.
    #[must_use]
    pub fn input_schema(mut self, json: impl Into<String>) -> Self {
        self.definition.input_schema = json.into();
        self
    }

    /// A hand-written schema of the structured result.
    #[must_use]
    pub fn output_schema(mut self, json: impl Into<String>) -> Self {
        self.definition.output_schema = Some(json.into());
        self
    }

    /// A label that policies may refer to; never shown to a client.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.definition.labels.push(label.into());
        self
    }

    /// A scope that the credential of a caller must have. One that lacks any is told all of them.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.definition.scopes.push(scope.into());
        self
    }

    /// An argument whose value may stand in the audit trail, by its name at the top level.
    #[must_use]
    pub fn recorded(mut self, argument: impl Into<String>) -> Self {
        self.definition.recorded.push(argument.into());
        self
    }

    /// How a repeated call is recognised. A tool that changes something must say it.
    #[must_use]
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.definition.idempotency = Some(idempotency);
        self
    }

    /// How an unknown outcome becomes known. A tool that changes something must say it.
    #[must_use]
    pub fn resolution(mut self, resolution: Resolution) -> Self {
        self.definition.resolution = Some(resolution);
        self
    }

    /// The argument with the version that the caller has seen, by its name at the top level. The tool compares it
    /// where it writes.
    #[must_use]
    pub fn precondition(mut self, argument: impl Into<String>) -> Self {
        self.definition.precondition = Some(argument.into());
        self
    }

    /// How the effect is taken back, for people who have to: one sentence.
    #[must_use]
    pub fn compensation(mut self, text: impl Into<String>) -> Self {
        self.definition.compensation = Some(text.into());
        self
    }

    /// An argument that an approval shows, by its name at the top level; all are shown where none is named.
    #[must_use]
    pub fn confirmed(mut self, argument: impl Into<String>) -> Self {
        self.definition.confirmed.push(argument.into());
        self
    }

    /// A field of the structured result that leaves as a mark of fixed length: a JSON pointer in which `*`
    /// stands for every item of an array. `keep_last` characters at its end stay visible.
    ///
    /// The field must be a string, or null. A tool that masks fields gives a structured result only, and no
    /// error may have one.
    #[must_use]
    pub fn mask(mut self, path: impl Into<String>, keep_last: usize) -> Self {
        self.definition.masked.push(Mask::new(path, keep_last));
        self
    }

    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The tool of the gate, with its contract.
    pub(crate) fn compile(self, limits: &Limits) -> Result<GateTool, Vec<DefinitionFault>> {
        let contract = Contract::new(&self.definition, limits)?;
        Ok(GateTool::new(contract, Shared(self.execute)))
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tool({})", self.definition.name)
    }
}

/// An executor that was made before its tool was known to be valid.
struct Shared(Arc<dyn Execute>);

impl Execute for Shared {
    fn execute<'a>(
        &'a self,
        invocation: &'a callgate_core::invocation::Invocation<'a>,
    ) -> callgate_core::port::Answer<'a, callgate_core::port::Execution> {
        self.0.execute(invocation)
    }
}
