//! Finds the id of a request whose text was refused for a bound or a repeated member name.
//!
//! A client that waits for an answer should learn that its request was refused. This must never guess:
//! the scan gives up at anything that is not plain JSON, and two ids are no id. Only the decoder calls
//! it, after a refusal.

use crate::id::Id;

/// The one `id` member at the top level of a text that is refused for what stands inside it.
pub(super) fn request_id(text: &str) -> Option<Id> {
    let bytes = text.as_bytes();
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    let mut found: Option<Id> = None;
    loop {
        at = skip_space(bytes, at);
        let name_end = string_end(bytes, at)?;
        let name = text.get(at..name_end)?;
        at = skip_space(bytes, name_end);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        let start = skip_space(bytes, at + 1);
        let end = value_end(bytes, start)?;
        // An escaped spelling of the name is as good as the plain one.
        if name == "\"id\"" || (name.contains('\\') && crate::json::unescape(name) == "id") {
            if found.is_some() {
                return None;
            }
            found = Some(Id::from_json(text.get(start..end)?)?);
        }
        at = skip_space(bytes, end);
        match bytes.get(at) {
            Some(b',') => at += 1,
            Some(b'}') => return found,
            _ => return None,
        }
    }
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The end of a string that starts at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of a value that starts at `at`, by counting brackets outside strings.
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            b',' if depth == 0 => return Some(at),
            _ => at += 1,
        }
    }
}
