//! Content blocks for a revision: taken over, or replaced by a text that says what is missing.
//!
//! It must never leave a block out without a trace, and never send a type that the revision lacks.

use callgate_protocol::Revision;
use callgate_protocol::json::{Value, escape_into};

use super::push_object;
use super::table::{BLOCK, LINK};

/// Appends one block.
pub(super) fn push(out: &mut String, block: Value<'_>, revision: Revision) {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    match &*kind {
        "text" | "image" | "resource" => push_object(out, block, revision, BLOCK),
        "audio" if revision >= Revision::V2025_03_26 => push_object(out, block, revision, BLOCK),
        "resource_link" if revision >= Revision::V2025_06_18 => push_object(out, block, revision, LINK),
        "resource_link" => {
            let member = |name| block.get(name).and_then(Value::as_str).unwrap_or_default();
            push_text(out, &["Resource link: ", &member("name"), " <", &member("uri"), ">"]);
        }
        other => push_text(
            out,
            &["[", other, " content is not part of protocol revision ", revision.as_str(), "]"],
        ),
    }
}

fn push_text(out: &mut String, parts: &[&str]) {
    out.push_str("{\"type\":\"text\",\"text\":\"");
    for part in parts {
        escape_into(out, part);
    }
    out.push_str("\"}");
}
