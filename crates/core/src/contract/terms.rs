//! What else a tool that changes something may say: which version it changes, and how it is taken back.
//!
//! A version is only a name here; the tool compares it in the statement that writes, because a comparison before
//! it proves nothing. [`super::definition`] checks what is declared.

use callgate_protocol::json::Value;

use super::definition::{Definition, DefinitionFault};
use super::digest::DigestBuilder;

/// Bytes of the sentence that says how an effect is taken back.
const COMPENSATION: usize = 512;

/// Finds what is declared and cannot be.
pub(super) fn check(definition: &Definition, input: Option<Value<'_>>, faults: &mut Vec<DefinitionFault>) {
    let changes = definition.effect.changes_something();
    if let Some(name) = &definition.precondition {
        if !changes {
            faults.push(DefinitionFault::new(
                "precondition",
                format!(
                    "a tool with the effect `{}` changes nothing that could have another version",
                    definition.effect
                ),
                "remove it, or declare the effect that the tool has",
            ));
        } else if input.is_some_and(|input| !is_required(input, name)) {
            faults.push(DefinitionFault::new(
                "precondition",
                format!(
                    "the argument `{name}` is not declared or not required: a caller that leaves it out would overwrite \
                     what it has not seen"
                ),
                "declare it in the input schema and name it under \"required\"",
            ));
        }
    }
    let Some(text) = &definition.compensation else { return };
    if !changes {
        faults.push(DefinitionFault::new(
            "compensation",
            format!(
                "a tool with the effect `{}` changes nothing that could be taken back",
                definition.effect
            ),
            "remove it, or declare the effect that the tool has",
        ));
    } else if text.trim().is_empty() || text.len() > COMPENSATION {
        faults.push(DefinitionFault::new(
            "compensation",
            "it is empty or too long, so a person who has to take the effect back would not be helped",
            format!("write one sentence of at most {COMPENSATION} bytes"),
        ));
    }
}

fn is_required(input: Value<'_>, name: &str) -> bool {
    let declared = input.get("properties").and_then(|properties| properties.get(name)).is_some();
    declared && input.get("required").is_some_and(|required| required.items().any(|item| item.is_str(name)))
}

/// What of it belongs into the digest of the contract.
pub(super) fn digest(definition: &Definition, builder: &mut DigestBuilder) {
    if let Some(name) = &definition.precondition {
        builder.field("precondition", name);
    }
    if let Some(text) = &definition.compensation {
        builder.field("compensation", text);
    }
}
