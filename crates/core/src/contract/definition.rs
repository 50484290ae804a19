//! From what an author wrote to a contract that can be enforced.
//!
//! It finds every fault of a definition at once and never lets a doubtful one pass. Only
//! [`Contract::new`] calls [`compile`].

use std::time::Duration;

use callgate_protocol::header;
use callgate_protocol::json::{self, Document, Kind, Value, push_string};
use callgate_protocol::meta::is_key;

use super::delivery::{Delivery, with_link};
use super::digest::{ContractDigest, DigestBuilder, ShownDigest};
use super::effect::Effect;
use super::idempotency::{self, Idempotency, Resolution};
use super::mask::{self, Mask};
use super::schema::Schema;
use super::terms;
use super::{Contract, MirroredParameter, ToolName};
use crate::limits::Limits;
use crate::rate::Allowance;

/// How much more work a result may take to judge that need not fit into a message.
const LARGE: u64 = 8;

/// A tool as its author describes it.
///
/// # Defaults
/// Everything that is `None` or empty is left out of the list; `timeout` and `output_bytes` then come
/// from [`Limits`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Definition {
    /// The name by which the tool is called.
    pub name: String,
    /// The name that people see.
    pub title: Option<String>,
    /// What the tool does, when to use it and when not.
    pub description: Option<String>,
    /// Icons: one JSON array.
    pub icons: Option<String>,
    /// The schema of the arguments: one JSON object.
    pub input_schema: String,
    /// The schema of the structured result: one JSON schema.
    pub output_schema: Option<String>,
    /// What a call does to the world.
    pub effect: Effect,
    /// Members for the definition's `_meta`: one JSON object.
    pub meta: Option<String>,
    /// How long one call may run.
    pub timeout: Option<Duration>,
    /// How large a result may be, in bytes of JSON text.
    pub output_bytes: Option<usize>,
    /// How a result reaches its caller. One that may become a link has the link in its output schema.
    pub delivery: Delivery,
    /// What all callers of the tool together may use: calls in flight and their rate.
    pub allowance: Allowance,
    /// What each caller of the tool may use.
    pub allowance_of_caller: Allowance,
    /// Labels for policies; never shown to a client.
    pub labels: Vec<String>,
    /// Scopes that the credential of a caller must have, all of them.
    pub scopes: Vec<String>,
    /// The arguments whose values may stand in the audit trail, by their names at the top level.
    pub recorded: Vec<String>,
    /// The arguments that an approval shows, by their names at the top level; all where none is named.
    pub confirmed: Vec<String>,
    /// How a repeated call is recognised. A tool above `preview` must say it.
    pub idempotency: Option<Idempotency>,
    /// How an unknown outcome becomes known. A tool above `preview` must say it.
    pub resolution: Option<Resolution>,
    /// The argument with the version that the caller has seen, by its name at the top level. The tool compares it in
    /// the same statement that writes, and refuses with [`Code::PreconditionFailed`](crate::refusal::Code) where
    /// it is another one.
    pub precondition: Option<String>,
    /// How the effect is taken back, for people who have to: one sentence. Nothing for one that cannot be.
    pub compensation: Option<String>,
    /// Fields of the structured result that leave as a mark.
    pub masked: Vec<Mask>,
    /// What carries the tool out, where that is text, such as a statement and the name of its source. It
    /// is part of the digest, so that a changed tool voids cursors and approvals; never shown to a client.
    pub implementation: Option<String>,
}

impl Definition {
    /// A definition of what every tool must have.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: Effect, input_schema: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: None,
            input_schema: input_schema.into(),
            output_schema: None,
            effect,
            meta: None,
            timeout: None,
            output_bytes: None,
            delivery: Delivery::Inline,
            allowance: Allowance::unbounded(),
            allowance_of_caller: Allowance::unbounded(),
            labels: Vec::new(),
            scopes: Vec::new(),
            recorded: Vec::new(),
            confirmed: Vec::new(),
            idempotency: None,
            resolution: None,
            precondition: None,
            compensation: None,
            masked: Vec::new(),
            implementation: None,
        }
    }
}

/// One fault of a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member}{pointer}: {problem}; {remedy}")]
#[non_exhaustive]
pub struct DefinitionFault {
    /// The member of the definition: `name`, `inputSchema`, `outputSchema` and so on.
    pub member: &'static str,
    /// The place inside the member as a JSON pointer; empty for the member itself.
    pub pointer: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl DefinitionFault {
    /// A fault of a member.
    #[must_use]
    pub fn new(member: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { member, pointer: String::new(), problem: problem.into(), remedy: remedy.into() }
    }
}

/// Checks everything and keeps all faults.
pub(super) fn compile(definition: &Definition, limits: &Limits) -> Result<Contract, Vec<DefinitionFault>> {
    let mut faults = Vec::new();
    let name = definition
        .name
        .parse::<ToolName>()
        .map_err(|error| faults.push(DefinitionFault::new("name", error.to_string(), "rename the tool")))
        .ok();
    if definition.description.as_ref().is_some_and(|text| text.len() > limits.description_bytes) {
        let remedy = format!("shorten it to {} bytes", limits.description_bytes);
        faults.push(DefinitionFault::new("description", "the description is too long", remedy));
    }
    let input = compile_schema("inputSchema", &definition.input_schema, limits, &mut faults);
    let output = definition
        .output_schema
        .as_ref()
        .and_then(|text| compile_schema("outputSchema", text, limits, &mut faults));
    let masks = mask::compile(&definition.masked, output.as_ref(), limits, &mut faults);
    // Fields are masked in the result itself, which is one of the two that a caller may get.
    let output = match (&definition.output_schema, definition.delivery) {
        (Some(text), Delivery::Overflow) if output.is_some() => {
            let text = with_link(text, &mut faults);
            compile_large("outputSchema", &text, limits, &mut faults)
        }
        _ => output,
    };
    let mut mirrored = Vec::new();
    if let Some(schema) = &input {
        let root = schema.document().root();
        require_object_root(root, &mut faults);
        mirrored = mirrored_parameters(root, &mut faults);
    }
    check_payload("icons", definition.icons.as_deref(), Kind::Array, limits, &mut faults);
    check_payload("_meta", definition.meta.as_deref(), Kind::Object, limits, &mut faults);
    let (effect, root) = (definition.effect, input.as_ref().map(|schema| schema.document().root()));
    let declared = definition.idempotency.as_ref();
    idempotency::check(effect, declared, definition.resolution, root, limits, &mut faults);
    terms::check(definition, root, &mut faults);
    let timeout = definition.timeout.unwrap_or(limits.call_timeout);
    if timeout.is_zero() || timeout > limits.call_timeout_max {
        let remedy = format!("choose at most {} seconds", limits.call_timeout_max.as_secs());
        faults.push(DefinitionFault::new("timeout", "the timeout is zero or too long", remedy));
    }
    match (name, input) {
        (Some(name), Some(input)) if faults.is_empty() => {
            let rendered = render(definition, &input, output.as_ref());
            let digest = digest(&rendered, definition);
            Ok(Contract {
                input_prefix: input_prefix(&name),
                name,
                effect: definition.effect,
                input,
                output,
                mirrored,
                digest,
                shown_digest: ShownDigest::new(digest.0),
                timeout,
                output_bytes: definition
                    .output_bytes
                    .unwrap_or(limits.output_bytes)
                    .min(limits.message.bytes),
                delivery: definition.delivery,
                rendered,
                allowance: definition.allowance,
                allowance_of_caller: definition.allowance_of_caller,
                labels: definition.labels.clone(),
                scopes: definition.scopes.clone(),
                recorded: definition.recorded.clone(),
                confirmed: definition.confirmed.clone(),
                idempotency: definition.idempotency.clone(),
                resolution: definition.resolution,
                precondition: definition.precondition.clone(),
                compensation: definition.compensation.clone(),
                masks: masks.map(Box::new),
            })
        }
        _ => Err(faults),
    }
}

fn compile_schema(
    member: &'static str,
    text: &str,
    limits: &Limits,
    faults: &mut Vec<DefinitionFault>,
) -> Option<Schema> {
    match Schema::compile(text, &limits.schema) {
        Ok(schema) => Some(schema),
        Err(error) => {
            faults.extend(error.findings.into_iter().map(|finding| DefinitionFault {
                member,
                pointer: finding.pointer,
                problem: finding.message,
                remedy: finding.remedy,
            }));
            None
        }
    }
}

/// A schema for values that are larger than a message.
fn compile_large(
    member: &'static str,
    text: &str,
    limits: &Limits,
    faults: &mut Vec<DefinitionFault>,
) -> Option<Schema> {
    let mut limits = limits.clone();
    limits.schema.evaluate_work = limits.schema.evaluate_work.saturating_mul(LARGE);
    compile_schema(member, text, &limits, faults)
}

/// "`inputSchema` … MUST be a valid JSON Schema object (not `null`)" with `type: "object"`:
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool>
fn require_object_root(root: Value<'_>, faults: &mut Vec<DefinitionFault>) {
    if !root.get("type").is_some_and(|kind| kind.is_str("object")) {
        let problem = "the root of an input schema must have \"type\": \"object\"";
        faults.push(DefinitionFault::new("inputSchema", problem, "add \"type\": \"object\" to its root"));
    }
}

fn mirrored_parameters(root: Value<'_>, faults: &mut Vec<DefinitionFault>) -> Vec<MirroredParameter> {
    match header::mirrored_parameters(root) {
        Ok(parameters) => parameters
            .into_iter()
            .map(|parameter| MirroredParameter::new(parameter.path, parameter.header.to_ascii_lowercase()))
            .collect(),
        Err(found) => {
            faults.extend(found.into_iter().map(|fault| DefinitionFault {
                member: "inputSchema",
                problem: fault.rule.to_string(),
                remedy: "correct or remove the x-mcp-header annotation".into(),
                pointer: fault.pointer,
            }));
            Vec::new()
        }
    }
}

fn check_payload(
    member: &'static str,
    text: Option<&str>,
    kind: Kind,
    limits: &Limits,
    faults: &mut Vec<DefinitionFault>,
) {
    let Some(text) = text else { return };
    let document = Document::parse(text, &limits.message).ok();
    if let Some(document) = document.as_ref().filter(|document| document.root().kind() == kind) {
        if member == "_meta" {
            check_meta_keys(document.root(), faults);
        }
    } else {
        let wanted = if kind == Kind::Array { "a JSON array" } else { "a JSON object" };
        faults.push(DefinitionFault::new(member, format!("it is not {wanted}"), format!("give {wanted}")));
    }
}

/// A key that breaks the syntax of the protocol would make every list invalid that shows the tool:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic#meta>
fn check_meta_keys(meta: Value<'_>, faults: &mut Vec<DefinitionFault>) {
    for (key, _) in meta.members() {
        let key = key.as_str().unwrap_or_default();
        if !is_key(&key) {
            let problem = "this is no key of `_meta`";
            let remedy = "use letters, digits, `-`, `_` and `.`, after a prefix as in `com.example/`";
            let mut fault = DefinitionFault::new("_meta", problem, remedy);
            fault.pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            faults.push(fault);
        }
    }
}

/// The definition as the list shows it. Members are in the order of the specification's type.
fn render(definition: &Definition, input: &Schema, output: Option<&Schema>) -> String {
    let mut out = String::with_capacity(256 + input.text().len());
    out.push_str("{\"name\":");
    push_string(&mut out, &definition.name);
    for (member, text) in [("title", &definition.title), ("description", &definition.description)] {
        if let Some(text) = text {
            push_member(&mut out, member);
            push_string(&mut out, text);
        }
    }
    if let Some(icons) = &definition.icons {
        push_member(&mut out, "icons");
        out.push_str(&compact(icons));
    }
    push_member(&mut out, "inputSchema");
    out.push_str(&compact(input.text()));
    if let Some(output) = output {
        push_member(&mut out, "outputSchema");
        out.push_str(&compact(output.text()));
    }
    push_member(&mut out, "annotations");
    out.push_str(definition.effect.annotations());
    if let Some(meta) = &definition.meta {
        push_member(&mut out, "_meta");
        out.push_str(&compact(meta));
    }
    out.push('}');
    out
}

fn push_member(out: &mut String, name: &str) {
    out.push(',');
    push_string(out, name);
    out.push(':');
}

/// Removes the space between tokens, so that a definition is one line whatever its source looked like.
/// Nothing inside a string and no digit changes.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for character in text.chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if matches!(character, ' ' | '\n' | '\r' | '\t') {
            continue;
        } else {
            in_string = character == '"';
        }
        out.push(character);
    }
    out
}

/// The digest of everything visible, and of what is not shown but decides: the effect, and what carries the
/// tool out, which scopes and labels it has, and what is masked.
fn digest(rendered: &str, definition: &Definition) -> ContractDigest {
    let mut builder = DigestBuilder::new("callgate/contract/1");
    builder.field("effect", definition.effect.as_str());
    if definition.delivery != Delivery::Inline {
        builder.field("delivery", definition.delivery.as_str());
    }
    if let Some(implementation) = &definition.implementation {
        builder.field("implementation", implementation);
    }
    for scope in &definition.scopes {
        builder.field("scope", scope);
    }
    for label in &definition.labels {
        builder.field("label", label);
    }
    for mask in &definition.masked {
        builder.field("masked", &mask.path).field("shown", &mask.keep_last.to_string());
    }
    for name in &definition.confirmed {
        builder.field("confirmed", name);
    }
    idempotency::digest(definition.idempotency.as_ref(), definition.resolution, &mut builder);
    terms::digest(definition, &mut builder);
    let bounds = json::Limits::DEFAULT.with_bytes(64 << 20).with_depth(256).with_nodes(1 << 22);
    if let Ok(document) = Document::parse(rendered, &bounds) {
        builder.json("definition", document.root());
    } else {
        // Unreachable for parts that were parsed one by one; if it happened, the text itself is hashed.
        builder.field("definition", rendered);
    }
    ContractDigest(builder.finish())
}

/// The start of every input digest of a tool, on a block border so that clones share the work.
fn input_prefix(name: &ToolName) -> DigestBuilder {
    let mut builder = DigestBuilder::new("callgate/input/1");
    builder.field("tool", name.as_str()).fill_block();
    builder
}

#[cfg(test)]
mod tests;
