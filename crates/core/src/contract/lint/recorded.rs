//! The arguments that a tool names for the audit trail.
//!
//! A name that no argument has records nothing and nobody notices; a secret in the trail is there for
//! years. The lint calls it.

use callgate_protocol::json::Value;

use super::words::{is_credential, sounds_secret};
use super::{Finding, Severity};
use crate::contract::Definition;

pub(super) fn judge(definition: &Definition, input: Value<'_>, findings: &mut Vec<Finding>) {
    let properties = input.get("properties");
    for name in &definition.recorded {
        if let Some(properties) = properties
            && properties.get(name).is_none()
        {
            let known: Vec<String> = properties
                .members()
                .filter_map(|(name, _)| name.as_str().map(|name| format!("`{name}`")))
                .collect();
            let message = format!("`{name}` is to be recorded and is no argument of the tool");
            let remedy = match known.is_empty() {
                true => "remove it; the tool has no arguments".to_owned(),
                false => format!("use one of {}", known.join(", ")),
            };
            findings.push(
                Finding::new(Severity::Error, "recorded-unknown", "recorded", message, remedy).at(name),
            );
        }
        if is_credential(name) || sounds_secret(name) {
            let message = format!("`{name}` sounds like a secret, and the audit trail keeps its value");
            let remedy = "remove it; the digest of all arguments is recorded anyway";
            findings
                .push(Finding::new(Severity::Error, "recorded-secret", "recorded", message, remedy).at(name));
        }
    }
}
