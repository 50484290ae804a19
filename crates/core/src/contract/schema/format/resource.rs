//! URIs, IRIs and URI templates, judged by their grammar and never opened.
//!
//! `format.rs` calls it.

use super::name::{is_ipv4, is_ipv6};
use super::set::Set;

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
    is_reference(text, Scheme::Required, none)
}

pub(super) fn is_uri_reference(text: &str) -> bool {
    is_reference(text, Scheme::Optional, none)
}

pub(super) fn is_iri(text: &str) -> bool {
    is_reference(text, Scheme::Required, iri)
}

pub(super) fn is_iri_reference(text: &str) -> bool {
    is_reference(text, Scheme::Optional, iri)
}

/// Whether a reference must be absolute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Required,
    Optional,
}

/// One pass from the scheme to the fragment.
fn is_reference(text: &str, needed: Scheme, beyond: Beyond) -> bool {
    let bytes = text.as_bytes();
    let scheme = after_scheme(bytes);
    if scheme.is_none() && needed == Scheme::Required {
        return false;
    }
    let mut at = scheme.unwrap_or(0);
    if let Some(b"//") = bytes.get(at..at + 2) {
        let start = at + 2;
        at = run(text, start, &HOST, beyond);
        let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        if bytes.get(at).is_some_and(|byte| !ends(byte)) {
            // There is more than a host.
            let authority = bytes.iter().skip(start).take_while(|byte| !ends(byte)).count();
            at = start + authority;
            if !is_authority(text.get(start..at).unwrap_or_default(), beyond) {
                return false;
            }
        }
    }
    let path = at;
    at = run(text, at, &PATH, beyond);
    if scheme.is_none() {
        // A colon in the first segment of a relative path would read as a scheme.
        let path = bytes.get(path..at).unwrap_or_default();
        if path.iter().take_while(|byte| **byte != b'/').any(|byte| *byte == b':') {
            return false;
        }
    }
    if bytes.get(at) == Some(&b'?') {
        at = run(text, at + 1, &QUERY, beyond);
    }
    if bytes.get(at) == Some(&b'#') {
        at = run(text, at + 1, &QUERY, beyond);
    }
    at == bytes.len()
}

/// The place behind the colon of a scheme, if the text begins with one.
fn after_scheme(text: &[u8]) -> Option<usize> {
    let length = text.iter().take_while(|byte| SCHEME.has(**byte)).count();
    let valid = text.first().is_some_and(u8::is_ascii_alphabetic) && text.get(length) == Some(&b':');
    valid.then_some(length + 1)
}

fn is_authority(authority: &str, beyond: Beyond) -> bool {
    let host_and_port = match authority.rsplit_once('@') {
        Some((user, rest)) if made_of(user, &USER, beyond) => rest,
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
    made_of(host, &HOST, beyond) && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_ip_literal(literal: &str) -> bool {
    match literal.strip_prefix(['v', 'V']).and_then(|future| future.split_once('.')) {
        Some((version, address)) => {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !address.is_empty()
                && !address.contains('%')
                && made_of(address, &USER, none)
        }
        None => is_ipv6(literal) && !is_ipv4(literal),
    }
}

static SCHEME: Set = Set::with(b"+-.");
/// The unreserved characters and sub-delimiters of RFC 3986.
static HOST: Set = Set::with(b"-._~!$&'()*+,;=");
static USER: Set = Set::with(b"-._~!$&'()*+,;=:");
static PATH: Set = Set::with(b"-._~!$&'()*+,;=:@/");
static QUERY: Set = Set::with(b"-._~!$&'()*+,;=:@/?");

/// Whether the text consists of characters of the set, complete percent-encodings and what is allowed
/// beyond ASCII.
fn made_of(text: &str, set: &Set, beyond: Beyond) -> bool {
    run(text, 0, set, beyond) == text.len()
}

/// The end of the longest such run from a place on.
#[inline]
fn run(text: &str, start: usize, set: &Set, beyond: Beyond) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        if set.has(byte) {
            at += 1;
            continue;
        }
        match longer(text, at, beyond) {
            Some(after) => at = after,
            None => break,
        }
    }
    at
}

/// The place after a percent-encoding or a character beyond ASCII.
#[cold]
fn longer(text: &str, at: usize, beyond: Beyond) -> Option<usize> {
    if let Some([b'%', high, low, ..]) = text.as_bytes().get(at..) {
        return (high.is_ascii_hexdigit() && low.is_ascii_hexdigit()).then_some(at + 3);
    }
    // A run ends between two characters.
    let character = text.get(at..)?.chars().next()?;
    (!character.is_ascii() && beyond(character)).then_some(at + character.len_utf8())
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
