//! Rules on every text that reaches a model: titles, descriptions, names and values of schemas.
//!
//! A text that people cannot see in full, or that holds a credential, is never served, wherever it
//! stands.

use callgate_protocol::json::{Kind, Value};

use super::description::looks_like_credential;
use super::{Finding, Severity};
use crate::stage::check::hidden::has_hidden_text;

/// Nesting beyond this is refused by the compiler, so lint need not look deeper.
const DEPTH_MAX: usize = 128;

/// Judges one text.
pub(super) fn judge(member: &'static str, pointer: &str, text: &str, findings: &mut Vec<Finding>) {
    if text.split_whitespace().any(looks_like_credential) {
        let message = "it holds something that looks like a credential";
        let remedy = "remove it and revoke the credential";
        findings.push(Finding::new(Severity::Error, "text-credential", member, message, remedy).at(pointer));
    }
    // A space without width has uses in running text, but none in a definition.
    if has_hidden_text(text) || text.contains('\u{200b}') {
        let message = "it holds characters that people cannot see";
        let remedy = "remove bidirectional, tag, zero-width and control characters";
        findings.push(Finding::new(Severity::Error, "text-hidden", member, message, remedy).at(pointer));
    }
}

/// Judges every text of a schema, its member names included.
pub(super) fn judge_schema(member: &'static str, root: Value<'_>, findings: &mut Vec<Finding>) {
    walk(member, root, "", 0, findings);
}

fn walk(member: &'static str, value: Value<'_>, pointer: &str, depth: usize, findings: &mut Vec<Finding>) {
    if depth > DEPTH_MAX {
        return;
    }
    match value.kind() {
        Kind::String => judge(member, pointer, &value.as_str().unwrap_or_default(), findings),
        Kind::Array => {
            for (at, item) in value.items().enumerate() {
                walk(member, item, &format!("{pointer}/{at}"), depth + 1, findings);
            }
        }
        Kind::Object => {
            for (name, inner) in value.members() {
                let name = name.as_str().unwrap_or_default();
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                judge(member, &pointer, &name, findings);
                // A pattern is read by an engine; its escapes are not hidden text.
                if name != "pattern" {
                    walk(member, inner, &pointer, depth + 1, findings);
                }
            }
        }
        Kind::Null | Kind::Boolean | Kind::Number => {}
    }
}
