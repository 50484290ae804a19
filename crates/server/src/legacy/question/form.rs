//! Forms for clients of 2025-06-18, which know fewer kinds of fields.
//!
//! It must never change what a field means: a choice with titles takes that revision's form, a choice of
//! several values has none and cannot be asked. The questions call it.

use callgate_protocol::json::Value;

use super::Unanswered;

/// Appends `message` and `requestedSchema`.
pub(super) fn push_params(out: &mut String, params: Value<'_>) -> Result<(), Unanswered> {
    let message = params.get("message").ok_or(Unanswered::Inexpressible)?;
    let schema = params.get("requestedSchema").ok_or(Unanswered::Inexpressible)?;
    out.push_str("{\"message\":");
    out.push_str(message.raw());
    out.push_str(",\"requestedSchema\":{\"type\":\"object\",\"properties\":{");
    let properties = schema.get("properties").into_iter().flat_map(Value::members);
    for (at, (name, field)) in properties.enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(name.raw());
        out.push(':');
        push_field(out, field)?;
    }
    out.push('}');
    if let Some(required) = schema.get("required") {
        out.push_str(",\"required\":");
        out.push_str(required.raw());
    }
    out.push_str("}}");
    Ok(())
}

fn push_field(out: &mut String, field: Value<'_>) -> Result<(), Unanswered> {
    if field.get("type").is_some_and(|kind| kind.is_str("array")) {
        return Err(Unanswered::Inexpressible);
    }
    let Some(choices) = field.get("oneOf") else {
        out.push_str(field.raw());
        return Ok(());
    };
    out.push('{');
    for (name, value) in field.members().filter(|(name, _)| !name.is_str("oneOf")) {
        out.push_str(name.raw());
        out.push(':');
        out.push_str(value.raw());
        out.push(',');
    }
    for (list, member) in [("enum", "const"), ("enumNames", "title")] {
        out.push('"');
        out.push_str(list);
        out.push_str("\":[");
        for (at, choice) in choices.items().enumerate() {
            if at > 0 {
                out.push(',');
            }
            let value = choice.get(member).or_else(|| choice.get("const"));
            out.push_str(value.ok_or(Unanswered::Inexpressible)?.raw());
        }
        out.push_str("],");
    }
    out.pop();
    out.push('}');
    Ok(())
}
