//! Escapes of JSON strings, resolved.
//!
//! It must never be given a text that the parser has not accepted. The view of a value and the parser call
//! it.

use std::borrow::Cow;

/// Resolves the escapes of a JSON string that is given with its quotes and known to be valid, such as
/// what [`Value::raw`](super::Value::raw) gives for a string.
#[must_use]
pub fn unescape(quoted: &str) -> Cow<'_, str> {
    decode_string(quoted)
}

fn unquoted(quoted: &str) -> &str {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

/// Resolves the escapes of a quoted string that the parser has accepted.
pub(in crate::json) fn decode_string(quoted: &str) -> Cow<'_, str> {
    let inner = unquoted(quoted);
    let Some(first) = inner.find('\\') else { return Cow::Borrowed(inner) };
    let mut decoded = String::with_capacity(inner.len());
    decoded.push_str(inner.get(..first).unwrap_or_default());
    let mut rest = inner.get(first..).unwrap_or_default();
    while let Some(after) = rest.strip_prefix('\\') {
        let (character, consumed) = decode_escape(after);
        decoded.push(character);
        let plain = after.get(consumed..).unwrap_or_default();
        let end = plain.find('\\').unwrap_or(plain.len());
        decoded.push_str(plain.get(..end).unwrap_or_default());
        rest = plain.get(end..).unwrap_or_default();
    }
    Cow::Owned(decoded)
}

/// The character of an escape that starts after its backslash, and how many bytes it takes there.
fn decode_escape(after: &str) -> (char, usize) {
    let unit = |at: usize| after.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match after.as_bytes().first() {
        Some(b'b') => ('\u{8}', 1),
        Some(b'f') => ('\u{c}', 1),
        Some(b'n') => ('\n', 1),
        Some(b'r') => ('\r', 1),
        Some(b't') => ('\t', 1),
        Some(b'u') => match (unit(1), unit(7)) {
            (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                let scalar = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 11)
            }
            (Some(scalar), _) => (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 5),
            (None, _) => (char::REPLACEMENT_CHARACTER, 1),
        },
        Some(b'"') => ('"', 1),
        Some(b'/') => ('/', 1),
        _ => ('\\', 1),
    }
}
