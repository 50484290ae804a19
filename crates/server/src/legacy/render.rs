//! From a 2026-07-28 answer to the answer of the client's revision.
//!
//! What a revision has is said by tables, one a kind of object; a member that no table names is left out.
//! It must never change a value, only leave out what the revision lacks. The exchange and the handshake
//! call it.

mod content;
mod table;

use callgate_protocol::error::{push_error, push_result_end, push_result_start};
use callgate_protocol::json::{Kind, Value, push_string};
use callgate_protocol::{ErrorCode, Id, Method, Revision};

pub(super) use table::{IMPLEMENTATION, SERVER_CAPABILITIES, Table};

use callgate_protocol::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use table::{Member, Shape};

/// Appends a whole response with the result of `method`.
pub(super) fn push_response(
    out: &mut String,
    id: &Id,
    method: Method,
    result: Value<'_>,
    revision: Revision,
) {
    push_result_start(out, id);
    push_object(out, result, revision, table::of_result(method));
    push_result_end(out);
}

/// Appends a whole response with an error.
pub(super) fn push_failure(out: &mut String, id: &Id, method: Option<Method>, error: Value<'_>) {
    let code = error.get("code").and_then(Value::as_i64).and_then(ErrorCode::of_number);
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let data = error.get("data");
    let names_resource = data.is_some_and(|data| data.get("uri").is_some());
    let code = match code {
        // "Resource not found: -32002", up to 2025-11-25.
        Some(ErrorCode::InvalidParams) if method == Some(Method::ResourcesRead) && names_resource => {
            ErrorCode::ResourceNotFound
        }
        // These codes belong to 2026-07-28. Only the missing capability can happen here: the client did not
        // declare in `initialize` what the method needs.
        Some(
            ErrorCode::MissingRequiredClientCapability
            | ErrorCode::HeaderMismatch
            | ErrorCode::UnsupportedProtocolVersion,
        ) => ErrorCode::InvalidParams,
        Some(code) => code,
        None => ErrorCode::InternalError,
    };
    push_error(out, Some(id), code, &message, data.map(Value::raw));
}

/// Appends an object with the members that the revision has.
pub(super) fn push_object(out: &mut String, value: Value<'_>, revision: Revision, table: Table) {
    if value.kind() != Kind::Object {
        out.push_str(value.raw());
        return;
    }
    out.push('{');
    let start = out.len();
    for (name, value) in value.members() {
        let known = table.iter().find(|member| name.is_str(member.name) && revision >= member.since);
        let Some(Member { shape, .. }) = known else { continue };
        let before = out.len();
        if before > start {
            out.push(',');
        }
        out.push_str(name.raw());
        out.push(':');
        if !push_shape(out, value, revision, *shape) {
            out.truncate(before);
        }
    }
    out.push('}');
}

/// Appends a value in its shape. False when the revision cannot have it, and the member has to go.
fn push_shape(out: &mut String, value: Value<'_>, revision: Revision, shape: Shape) -> bool {
    match shape {
        Shape::Raw => out.push_str(value.raw()),
        Shape::Object(table) => push_object(out, value, revision, table),
        Shape::Each(table) => push_each(out, value, |out, item| push_object(out, item, revision, table)),
        Shape::Content => content::push(out, value, revision),
        Shape::EachContent => push_each(out, value, |out, item| content::push(out, item, revision)),
        Shape::OnlyObject => {
            if value.kind() != Kind::Object {
                return false;
            }
            out.push_str(value.raw());
        }
        Shape::ObjectSchema => {
            if !value.get("type").is_some_and(|kind| kind.is_str("object")) {
                return false;
            }
            out.push_str(value.raw());
        }
        Shape::Meta => return push_meta(out, value),
    }
    true
}

fn push_each<'d>(out: &mut String, list: Value<'d>, push: impl Fn(&mut String, Value<'d>)) {
    out.push('[');
    for (at, item) in list.items().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(']');
}

/// Appends `_meta` without the keys of 2026-07-28. False when nothing is left.
fn push_meta(out: &mut String, meta: Value<'_>) -> bool {
    let mut first = true;
    for (name, value) in meta.members() {
        if name.is_str(SERVER_INFO) || name.is_str(SUBSCRIPTION_ID) {
            continue;
        }
        out.push(if first { '{' } else { ',' });
        first = false;
        out.push_str(name.raw());
        out.push(':');
        out.push_str(value.raw());
    }
    if !first {
        out.push('}');
    }
    !first
}

/// Appends a notification of a subscription without the subscription's id.
pub(super) fn push_notice(out: &mut String, notice: Value<'_>) {
    out.push_str("{\"jsonrpc\":\"2.0\",\"method\":");
    let method = notice.get("method").and_then(Value::as_str).unwrap_or_default();
    push_string(out, &method);
    if let Some(uri) = notice.path(["params", "uri"]) {
        out.push_str(",\"params\":{\"uri\":");
        out.push_str(uri.raw());
        out.push('}');
    }
    out.push('}');
}
