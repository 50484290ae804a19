//! The syntax of `_meta` keys and of extension identifiers.
//!
//! A key that is not of this form must never be sent. Registration of tools and the declaration of
//! extensions call it.

/// True for a key of a `_meta` object: an optional prefix and a name.
///
/// "Prefix: If specified, MUST be a series of labels separated by dots (.), followed by a slash (/).
/// Labels MUST start with a letter and end with a letter or digit … Name: Unless empty, MUST begin and
/// end with an alphanumeric character":
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic#meta>
#[must_use]
pub fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_prefix(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// True for the identifier of an extension, which is a key with a prefix and a name.
#[must_use]
pub fn is_extension_id(id: &str) -> bool {
    id.split_once('/').is_some_and(|(prefix, name)| is_prefix(prefix) && !name.is_empty() && is_name(name))
}

/// True when the prefix of a key is kept for the protocol: its second label is `modelcontextprotocol`
/// or `mcp`.
#[must_use]
pub fn is_reserved(key: &str) -> bool {
    key.split_once('/')
        .and_then(|(prefix, _)| prefix.split('.').nth(1))
        .is_some_and(|label| matches!(label, "modelcontextprotocol" | "mcp"))
}

fn is_prefix(prefix: &str) -> bool {
    prefix.split('.').all(|label| {
        label.starts_with(|c: char| c.is_ascii_alphabetic())
            && label.ends_with(|c: char| c.is_ascii_alphanumeric())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

fn is_name(name: &str) -> bool {
    name.is_empty()
        || (name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')))
}
