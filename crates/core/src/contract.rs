//! What a tool promises: its definition, schemas and effect, compiled once and shared by every call.
//!
//! A [`Contract`] can only be made from a [`Definition`] that is complete and valid, so the pipeline
//! never meets a tool that it cannot check. It must never be changed after it was made: a changed
//! definition is another contract with another digest. Registration and the configuration loader
//! make contracts; every step of the pipeline reads them.

pub mod digest;
pub mod schema;
mod terms;

pub mod lint;

mod definition;
mod delivery;
mod effect;
mod idempotency;
pub(crate) mod mask;
mod name;

pub use definition::{Definition, DefinitionFault};
pub use delivery::Delivery;
pub use effect::Effect;
pub use idempotency::{IDEMPOTENCY_KEY, Idempotency, KeyScope, KeySource, Resolution};
pub use mask::Mask;
pub use name::{NameError, ToolName};

use std::time::Duration;

use callgate_protocol::json::Document;

use crate::limits::Limits;
use crate::rate::Allowance;
use digest::{ContractDigest, DigestBuilder, ShownDigest};
use mask::Masks;
use schema::Schema;

/// A checked tool definition.
#[derive(Debug)]
pub struct Contract {
    pub(crate) name: ToolName,
    pub(crate) effect: Effect,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
    pub(crate) mirrored: Vec<MirroredParameter>,
    pub(crate) digest: ContractDigest,
    /// The same with its text, which the receipt of each call shows.
    pub(crate) shown_digest: ShownDigest,
    /// What the digests of all inputs of this tool start with.
    pub(crate) input_prefix: DigestBuilder,
    pub(crate) timeout: Duration,
    pub(crate) output_bytes: usize,
    pub(crate) delivery: Delivery,
    pub(crate) allowance: Allowance,
    pub(crate) allowance_of_caller: Allowance,
    pub(crate) rendered: String,
    pub(crate) labels: Vec<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) recorded: Vec<String>,
    pub(crate) confirmed: Vec<String>,
    pub(crate) idempotency: Option<Idempotency>,
    pub(crate) resolution: Option<Resolution>,
    pub(crate) precondition: Option<String>,
    pub(crate) compensation: Option<String>,
    /// Boxed, so that tools without masked fields do not grow.
    pub(crate) masks: Option<Box<Masks>>,
}

impl Contract {
    /// Checks a definition and compiles its schemas.
    ///
    /// # Errors
    /// Every fault of the definition, not only the first.
    pub fn new(definition: &Definition, limits: &Limits) -> Result<Self, Vec<DefinitionFault>> {
        definition::compile(definition, limits)
    }

    /// The name by which the tool is called, case-sensitive.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What a call does to the world.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// The schema of the arguments.
    #[must_use]
    pub fn input(&self) -> &Schema {
        &self.input
    }

    /// The schema of the structured result, where one is declared.
    #[must_use]
    pub fn output(&self) -> Option<&Schema> {
        self.output.as_ref()
    }

    /// The parameters that an HTTP client mirrors into `Mcp-Param-*` headers.
    #[must_use]
    pub fn mirrored(&self) -> &[MirroredParameter] {
        &self.mirrored
    }

    /// The digest of everything a model or a check can see of this tool.
    #[must_use]
    pub fn digest(&self) -> ContractDigest {
        self.digest
    }

    /// [`Contract::digest`] with its text.
    #[must_use]
    pub fn shown_digest(&self) -> &ShownDigest {
        &self.shown_digest
    }

    /// How long one call may run.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How large a result may be, in bytes of its JSON text.
    #[must_use]
    pub fn output_bytes(&self) -> usize {
        self.output_bytes
    }

    /// How a result reaches its caller.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The definition as `tools/list` shows it at the latest revision: one JSON object.
    #[must_use]
    pub fn rendered(&self) -> &str {
        &self.rendered
    }

    /// The operator's labels, which policies may refer to; never shown to a client.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Scopes that the credential of a caller must have, all of them.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The arguments whose values may stand in the audit trail.
    #[must_use]
    pub fn recorded(&self) -> &[String] {
        &self.recorded
    }

    /// The arguments that an approval shows, by their names at the top level; all where none is named.
    #[must_use]
    pub fn confirmed(&self) -> &[String] {
        &self.confirmed
    }

    /// How a repeated call is recognised; nothing for a tool that changes nothing.
    #[must_use]
    pub fn idempotency(&self) -> Option<&Idempotency> {
        self.idempotency.as_ref()
    }

    /// How an unknown outcome becomes known; nothing for a tool that changes nothing.
    #[must_use]
    pub fn resolution(&self) -> Option<Resolution> {
        self.resolution
    }

    /// The argument with the version that the caller has seen, where the tool compares one.
    #[must_use]
    pub fn precondition(&self) -> Option<&str> {
        self.precondition.as_deref()
    }

    /// How the effect is taken back, for people.
    #[must_use]
    pub fn compensation(&self) -> Option<&str> {
        self.compensation.as_deref()
    }

    /// The input schema as a document, for those who render it.
    #[must_use]
    pub fn input_document(&self) -> &Document {
        self.input.document()
    }
}

/// A parameter that is mirrored into a header. Source:
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header>
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirroredParameter {
    /// The member names that lead to the value in the arguments.
    pub path: Vec<String>,
    /// The header's whole name in lower case, `mcp-param-region` for `"x-mcp-header": "Region"`.
    pub header: String,
}

impl MirroredParameter {
    /// A parameter at `path` that is mirrored into `header`.
    #[must_use]
    pub fn new(path: Vec<String>, header: String) -> Self {
        Self { path, header }
    }
}
