//! The form of W3C Trace Context and Baggage values in `_meta`.
//!
//! A malformed value must never be passed on: a receiver ignores it and starts a trace of its own.
//! The metadata reader calls these.

/// The longest trace state or baggage that is looked at, as the W3C recommends for both.
const MAX_BYTES: usize = 8192;

/// True for a `traceparent` of version 00 or of a later version with the same start.
#[must_use]
pub fn is_trace_parent(text: &str) -> bool {
    let mut parts = text.splitn(5, '-');
    let (Some(version), Some(trace), Some(parent), Some(flags)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let more = parts.next();
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let not_zero = |part: &str| part.bytes().any(|byte| byte != b'0');
    is_hex(version, 2)
        && version != "ff"
        && (version != "00" || more.is_none())
        && is_hex(trace, 32)
        && not_zero(trace)
        && is_hex(parent, 16)
        && not_zero(parent)
        && is_hex(flags, 2)
        && text.len() <= MAX_BYTES
}

/// True for a `tracestate` list of at most 32 members `key=value` with distinct keys.
#[must_use]
pub fn is_trace_state(text: &str) -> bool {
    let members: Vec<_> =
        text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|m| !m.is_empty()).collect();
    let mut keys: Vec<_> =
        members.iter().filter_map(|member| member.split_once('=')).map(|(k, _)| k).collect();
    let all_pairs = keys.len() == members.len();
    keys.sort_unstable();
    let count = keys.len();
    keys.dedup();
    all_pairs
        && keys.len() == count
        && count <= 32
        && text.len() <= MAX_BYTES
        && members.iter().all(|m| is_state_member(m))
}

fn is_state_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let key_is_valid = key.len() <= 256
        && key.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && key
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@'));
    let value_is_valid = !value.is_empty()
        && value.len() <= 256
        && value.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && !matches!(byte, b',' | b'='));
    key_is_valid && value_is_valid
}

/// True for a `baggage` list of `key=value` members with optional properties.
#[must_use]
pub fn is_baggage(text: &str) -> bool {
    let is_token = |part: &str| {
        let part = part.trim_matches([' ', '\t']);
        !part.is_empty() && part.bytes().all(crate::header::is_token_byte)
    };
    let is_value = |part: &str| {
        part.trim_matches([' ', '\t'])
            .bytes()
            .all(|byte| matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e))
    };
    !text.is_empty()
        && text.len() <= MAX_BYTES
        && text.split(',').all(|member| {
            let mut parts = member.split(';');
            let pair = parts.next().and_then(|pair| pair.split_once('='));
            pair.is_some_and(|(key, value)| is_token(key) && is_value(value))
                && parts.all(|property| match property.split_once('=') {
                    Some((key, value)) => is_token(key) && is_value(value),
                    None => is_token(property),
                })
        })
}
