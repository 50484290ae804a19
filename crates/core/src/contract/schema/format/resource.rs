//! URIs, IRIs and URI templates, judged by their grammar and never opened.
//!
//! `format.rs` calls it.

use super::name::{is_ipv4, is_ipv6};

/// Which characters beyond ASCII may stand where RFC 3986 has letters.
type Beyond = fn(char) -> bool;

fn none(_: char) -> bool {
    false
}

/// `ucschar` and `iprivate` of RFC 3987, without the noncharacters.
fn iri(c: char) -> bool {
    u32::from(c) >= 0xA0 && (u32::from(c) & 0xFFFE) != 0xFFFE && !('\u{fdd0}'..='\u{fdef}').contains(&c)
}

pub(super) fn is_uri(text: &str) -> bool {
    scheme(text).is_some() && is_reference(text, none)
}

pub(super) fn is_uri_reference(text: &str) -> bool {
    is_reference(text, none)
}

pub(super) fn is_iri(text: &str) -> bool {
    scheme(text).is_some() && is_reference(text, iri)
}

pub(super) fn is_iri_reference(text: &str) -> bool {
    is_reference(text, iri)
}

/// The scheme and what follows its colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = split(text, b':');
    let rest = rest?;
    let mut bytes = scheme.bytes();
    let valid = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    valid.then_some((scheme, rest))
}

fn is_reference(text: &str, beyond: Beyond) -> bool {
    let (text, fragment) = split(text, b'#');
    let (text, query) = split(text, b'?');
    let absolute = scheme(text);
    let rest = absolute.map_or(text, |(_, rest)| rest);
    let path = match rest.strip_prefix("//") {
        Some(after) => {
            let (authority, path) = after.split_at(find(after, b'/').unwrap_or(after.len()));
            if !is_authority(authority, beyond) {
                return false;
            }
            path
        }
        None => rest,
    };
    // A colon in the first segment of a relative path would read as a scheme.
    let colon_free = absolute.is_some()
        || find(path, b':').is_none_or(|colon| find(path, b'/').is_some_and(|slash| slash < colon));
    colon_free
        && made_of(path, ":@/", beyond)
        && query.is_none_or(|query| made_of(query, ":@/?", beyond))
        && fragment.is_none_or(|fragment| made_of(fragment, ":@/?", beyond))
}

fn split(text: &str, at: u8) -> (&str, Option<&str>) {
    match find(text, at) {
        Some(end) => (text.get(..end).unwrap_or_default(), text.get(end + 1..)),
        None => (text, None),
    }
}

/// The place of an ASCII character; texts are short, so a plain scan is fastest.
fn find(text: &str, byte: u8) -> Option<usize> {
    text.bytes().position(|found| found == byte)
}

fn is_authority(authority: &str, beyond: Beyond) -> bool {
    let host_and_port = match authority.rsplit_once('@') {
        Some((user, rest)) if made_of(user, ":", beyond) => rest,
        Some(_) => return false,
        None => authority,
    };
    let (host, port) = if let Some(literal) = host_and_port.strip_prefix('[') {
        let Some((literal, rest)) = literal.split_once(']') else { return false };
        if !is_ip_literal(literal) {
            return false;
        }
        match rest.strip_prefix(':') {
            Some(port) => ("", port),
            None if rest.is_empty() => ("", ""),
            None => return false,
        }
    } else {
        host_and_port.split_once(':').unwrap_or((host_and_port, ""))
    };
    made_of(host, "", beyond) && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_ip_literal(literal: &str) -> bool {
    match literal.strip_prefix(['v', 'V']).and_then(|future| future.split_once('.')) {
        Some((version, address)) => {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !address.is_empty()
                && !address.contains('%')
                && made_of(address, ":", none)
        }
        None => is_ipv6(literal) && !is_ipv4(literal),
    }
}

/// The unreserved characters and sub-delimiters of RFC 3986, by their bit.
const PLAIN: u128 = {
    let mut bits = 0;
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        if character.is_ascii_alphanumeric() {
            bits |= 1 << byte;
        }
        byte += 1;
    }
    let marks = b"-._~!$&'()*+,;=";
    let mut at = 0;
    while at < marks.len() {
        bits |= 1 << marks[at];
        at += 1;
    }
    bits
};

/// Unreserved characters, sub-delimiters, complete percent-encodings, and `also`.
fn made_of(text: &str, also: &str, beyond: Beyond) -> bool {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let fine = match u32::from(character) {
            code @ 0..128 if PLAIN >> code & 1 == 1 => true,
            0x25 => (0..2).all(|_| characters.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => also.contains(character) || beyond(character),
        };
        if !fine {
            return false;
        }
    }
    true
}

pub(super) fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    loop {
        let open = rest.find(['{', '}']).unwrap_or(rest.len());
        let (literal, expression) = rest.split_at(open);
        if !is_template_literal(literal) {
            return false;
        }
        if expression.is_empty() {
            return true;
        }
        let Some((inner, after)) = expression.strip_prefix('{').and_then(|inner| inner.split_once('}'))
        else {
            return false;
        };
        if !is_expression(inner) {
            return false;
        }
        rest = after;
    }
}

fn is_template_literal(text: &str) -> bool {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let fine = match character {
            '%' => (0..2).all(|_| characters.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            '"' | '\'' | '<' | '>' | '\\' | '^' | '`' | '|' | ' ' => false,
            other => !other.is_control(),
        };
        if !fine {
            return false;
        }
    }
    true
}

/// The inside of `{...}`: an operator and variables with their modifiers.
fn is_expression(inner: &str) -> bool {
    let variables =
        inner.strip_prefix(['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|']).unwrap_or(inner);
    variables.split(',').all(|variable| {
        let name = match variable.split_once(':') {
            Some((name, length)) => {
                let valid = (1..=4).contains(&length.len())
                    && length.bytes().all(|byte| byte.is_ascii_digit())
                    && !length.starts_with('0');
                if !valid {
                    return false;
                }
                name
            }
            None => variable.strip_suffix('*').unwrap_or(variable),
        };
        name.split('.').all(|part| {
            let mut characters = part.chars();
            let mut any = false;
            while let Some(character) = characters.next() {
                any = true;
                let fine = match character {
                    '%' => (0..2).all(|_| characters.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
                    other => other.is_ascii_alphanumeric() || other == '_',
                };
                if !fine {
                    return false;
                }
            }
            any
        })
    })
}
