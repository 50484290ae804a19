//! The encoding of forms, in which authorization servers are asked.
//!
//! It must never let a value end where another begins. Introspection and the tokens for services call it.

use std::fmt::Write as _;

/// Appends a text as `application/x-www-form-urlencoded` has it.
pub(crate) fn push_encoded(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._*".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Appends a field of a form.
#[cfg(feature = "http")]
pub(crate) fn push_field(out: &mut String, name: &str, value: &str) {
    if !out.is_empty() {
        out.push('&');
    }
    push_encoded(out, name);
    out.push('=');
    push_encoded(out, value);
}
