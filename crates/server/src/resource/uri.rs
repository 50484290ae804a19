//! The syntax of URIs, as far as a server must judge the ones that clients send.
//!
//! It must never normalize: a URI is one text. Only characters of other scripts, which a URI cannot hold,
//! are written as RFC 3987 says. Source: RFC 3986, sections 2 and 3.

use std::borrow::Cow;

/// True for an absolute URI with a scheme and only characters that RFC 3986 allows.
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    let is_scheme = letters.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme && !rest.is_empty() && is_legal(rest) && !climbs(scheme, rest)
}

/// The URI that an identifier with characters of other scripts stands for: "each octet of its UTF-8 form is
/// percent-encoded" (RFC 3987, section 3.1). Clients send such identifiers as people write them. Characters that
/// no identifier may have are left as they are, and so refused later.
pub(crate) fn to_uri(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut uri = String::with_capacity(text.len() * 3);
    for character in text.chars() {
        if is_of_other_script(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                uri.push('%');
                uri.extend(
                    [byte >> 4, byte & 15].map(|digit| {
                        char::from_digit(u32::from(digit), 16).unwrap_or('0').to_ascii_uppercase()
                    }),
                );
            }
        } else {
            uri.push(character);
        }
    }
    Cow::Owned(uri)
}

/// The `ucschar` of RFC 3987, without what formats or hides text (section 4.1).
fn is_of_other_script(character: char) -> bool {
    let is_formatting = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    matches!(character, '\u{a1}'..='\u{d7ff}' | '\u{f900}'..='\u{ffef}' | '\u{10000}'..='\u{dffff}')
        && !is_formatting
        && !character.is_whitespace()
}

fn is_legal(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => [at + 1, at + 2].iter().all(|at| bytes.get(*at).is_some_and(u8::is_ascii_hexdigit)),
        byte => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(byte),
    })
}

/// True for a `file` URI with a segment that leads out of its folder, however it is spelled.
fn climbs(scheme: &str, rest: &str) -> bool {
    scheme.eq_ignore_ascii_case("file")
        && rest.split('/').any(|segment| {
            decode(segment)
                .is_none_or(|segment| matches!(&*segment, "." | "..") || segment.contains(['/', '\\', '\0']))
        })
}

/// The text with its percent-encoding resolved, if it is UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            decoded.push(u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok()?);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, is_uri, to_uri};

    /// Requirements: RES-08, RES-13, RES-16
    #[test]
    fn a_uri_has_a_scheme_and_legal_characters_and_never_climbs() {
        for good in ["test://static-text", "file:///a/b.rs", "urn:isbn:1", "x-y+z.1:a%20b?c#d", "a:..%2f"] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "a",
            ":a",
            "1a:b",
            "a:",
            "a:b c",
            "a:b%2",
            "a:b%zz",
            "a:\u{e9}",
            "a:<b>",
            "file:///a/../b",
            "file:///a/%2e%2e/b",
            "file:///a/%2E./b",
            "file:///a%2fb",
            "FILE:///..",
            "file:///a%5cb",
            "file:///a%00",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }

    #[test]
    fn percent_encoding_is_resolved_to_utf_8_only() {
        assert_eq!(decode("a%20b").as_deref(), Some("a b"));
        assert_eq!(decode("%c3%a9").as_deref(), Some("\u{e9}"));
        assert_eq!(decode("%ff"), None);
    }

    /// Requirements: RES-08, RES-13
    #[test]
    fn characters_of_other_scripts_are_written_as_a_uri_writes_them() {
        assert_eq!(to_uri("file:///donn\u{e9}es/\u{8aad}.txt"), "file:///donn%C3%A9es/%E8%AA%AD.txt");
        assert_eq!(to_uri("file:///a%20b"), "file:///a%20b");
        for bad in [
            "a:\u{202e}b",
            "a:\u{200b}b",
            "a:\u{a0}b",
            "a:\u{e000}b",
            "a:\u{feff}b",
            "a:\u{e9} b",
            "\u{e9}:b",
        ] {
            assert!(!is_uri(&to_uri(bad)), "{bad:?}");
        }
    }
}
