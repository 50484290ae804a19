//! Names and addresses: email, hosts, IP addresses, UUIDs.
//!
//! Only the text is judged; nothing is ever resolved. `format.rs` and `resource.rs` call it.

use super::set::Set;

/// What an atom of a local part consists of.
static ATOM: Set = Set::with(b"!#$%&'*+-/=?^_`{|}~");
/// What a label of a host consists of.
static LABEL: Set = Set::with(b"-");

/// Whether letters beyond ASCII are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Ascii,
    Any,
}

pub(super) fn is_email(text: &str, letters: Letters) -> bool {
    // Both ends of an address are short, so a plain scan is fastest.
    let Some(at) = text.bytes().rposition(|byte| byte == b'@') else { return false };
    let (local, domain) = text.split_at(at);
    is_local_part(local, letters) && is_mail_domain(domain.get(1..).unwrap_or_default(), letters)
}

/// RFC 5321: an atom with dots, or a quoted string; at most 64 bytes.
fn is_local_part(local: &str, letters: Letters) -> bool {
    if local.is_empty() || local.len() > 64 {
        return false;
    }
    let beyond = |c: char| !c.is_ascii() && letters == Letters::Any;
    if let Some(quoted) = local.strip_prefix('"') {
        let Some(inner) = quoted.strip_suffix('"') else { return false };
        let mut characters = inner.chars();
        while let Some(character) = characters.next() {
            let fine = match character {
                '\\' => characters.next().is_some_and(|escaped| matches!(escaped, ' '..='~')),
                '"' => false,
                ' '..='~' => true,
                other => beyond(other),
            };
            if !fine {
                return false;
            }
        }
        return true;
    }
    let beyond = letters == Letters::Any;
    let mut is_empty = true;
    for &byte in local.as_bytes() {
        let is_dot = byte == b'.';
        if if is_dot { is_empty } else { !ATOM.has(byte) && (byte.is_ascii() || !beyond) } {
            return false;
        }
        is_empty = is_dot;
    }
    !is_empty
}

fn is_mail_domain(domain: &str, letters: Letters) -> bool {
    if let Some(literal) = domain.strip_prefix('[') {
        let Some(literal) = literal.strip_suffix(']') else { return false };
        return match literal.strip_prefix("IPv6:") {
            Some(address) => is_ipv6(address),
            None => is_ipv4(literal),
        };
    }
    is_host(domain, letters)
}

pub(super) fn is_hostname(text: &str) -> bool {
    is_host(text, Letters::Ascii)
}

fn is_host(text: &str, letters: Letters) -> bool {
    if text.len() > 253 || !(text.is_ascii() || (letters == Letters::Any && !text.contains(char::is_control)))
    {
        return false;
    }
    let (mut length, mut last) = (0, b'.');
    for &byte in text.as_bytes() {
        if byte == b'.' {
            if !(1..=63).contains(&length) || last == b'-' {
                return false;
            }
            length = 0;
        } else {
            if (byte.is_ascii() && !LABEL.has(byte)) || (byte == b'-' && length == 0) {
                return false;
            }
            length += 1;
        }
        last = byte;
    }
    (1..=63).contains(&length) && last != b'-'
}

pub(super) fn is_ipv4(text: &str) -> bool {
    let mut parts = 0;
    text.split('.').all(|part| {
        parts += 1;
        let digits = (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part.len() == 1 || !part.starts_with('0')) && part.parse::<u8>().is_ok()
    }) && parts == 4
}

pub(super) fn is_ipv6(text: &str) -> bool {
    // Groups of the part before `::` and of the part after it, or of the whole.
    let groups = |part: &str, last: bool| -> Option<usize> {
        if part.is_empty() {
            return Some(0);
        }
        let mut count = 0;
        let mut groups = part.split(':').peekable();
        while let Some(group) = groups.next() {
            if last && groups.peek().is_none() && group.contains('.') {
                count += if is_ipv4(group) { 2 } else { return None };
            } else if (1..=4).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                count += 1;
            } else {
                return None;
            }
        }
        Some(count)
    };
    match text.split_once("::") {
        Some((before, after)) => match (groups(before, false), groups(after, true)) {
            (Some(before), Some(after)) => before + after <= 7,
            _ => false,
        },
        None => groups(text, true) == Some(8),
    }
}

pub(super) fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut groups = text.split('-');
    lengths.iter().all(|&length| {
        groups
            .next()
            .is_some_and(|group| group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }) && groups.next().is_none()
}
