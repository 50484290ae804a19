//! The tokens of JSON: where a string, a number or a word ends, or why it is none.
//!
//! Each function takes the place of a token and gives the place after it. None of them looks further
//! than that, and none allocates. Only the parser calls them.

use super::super::bounds::ParseErrorKind;
use super::super::scan::plain_end;
use super::super::value::Tag;

/// Exponents beyond this magnitude have no use and would only make exact comparison costly.
const EXPONENT_MAGNITUDE: u64 = 1_000_000;

/// Why parsing stopped, and where.
pub(super) struct Refusal {
    pub(super) offset: usize,
    pub(super) kind: ParseErrorKind,
}

fn refuse<T>(offset: usize, kind: ParseErrorKind) -> Result<T, Refusal> {
    Err(Refusal { offset, kind })
}

/// The byte at a place; behind the end a zero, which no token starts with.
#[inline]
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The refusal of whatever stands at a place.
#[cold]
pub(super) fn unexpected(bytes: &[u8], at: usize) -> Refusal {
    let kind =
        if at < bytes.len() { ParseErrorKind::UnexpectedCharacter } else { ParseErrorKind::UnexpectedEnd };
    Refusal { offset: at, kind }
}

/// The place of the next byte that is no space.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let b' ' | b'\n' | b'\r' | b'\t' = byte(bytes, at) {
        at += 1;
    }
    at
}

/// The end of the string that starts at a quote, and whether it has escapes.
#[inline]
pub(super) fn string(bytes: &[u8], start: usize) -> Result<(usize, Tag), Refusal> {
    let end = plain_end(bytes, start + 1);
    if byte(bytes, end) == b'"' { Ok((end + 1, Tag::String)) } else { escaped_string(bytes, end) }
}

/// The rest of a string from its first character that is not plain.
#[inline(never)]
fn escaped_string(bytes: &[u8], mut at: usize) -> Result<(usize, Tag), Refusal> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, Tag::EscapedString)),
            Some(b'\\') => at = plain_end(bytes, escape(bytes, at)?),
            Some(_) => return refuse(at, ParseErrorKind::String),
            None => return refuse(at, ParseErrorKind::UnexpectedEnd),
        }
    }
}

fn escape(bytes: &[u8], at: usize) -> Result<usize, Refusal> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match hex_unit(bytes, at + 2)? {
            0xD800..=0xDBFF => {
                if bytes.get(at + 6..at + 8) != Some(b"\\u") {
                    return refuse(at + 6, ParseErrorKind::Surrogate);
                }
                if !(0xDC00..=0xDFFF).contains(&hex_unit(bytes, at + 8)?) {
                    return refuse(at + 8, ParseErrorKind::Surrogate);
                }
                Ok(at + 12)
            }
            0xDC00..=0xDFFF => refuse(at, ParseErrorKind::Surrogate),
            _ => Ok(at + 6),
        },
        Some(_) => refuse(at + 1, ParseErrorKind::String),
        None => refuse(at + 1, ParseErrorKind::UnexpectedEnd),
    }
}

/// Reads four hexadecimal digits.
fn hex_unit(bytes: &[u8], at: usize) -> Result<u32, Refusal> {
    let digits = bytes.get(at..at + 4).unwrap_or_default();
    let mut unit = 0;
    for &digit in digits {
        let Some(value) = char::from(digit).to_digit(16) else { return refuse(at, ParseErrorKind::String) };
        unit = unit << 4 | value;
    }
    if digits.len() == 4 { Ok(unit) } else { refuse(at, ParseErrorKind::String) }
}

/// The end of a number. `01` and `1x` end early and are refused by whoever expects a separator.
pub(super) fn number(bytes: &[u8], start: usize, longest: usize) -> Result<usize, Refusal> {
    let mut at = if byte(bytes, start) == b'-' { start + 1 } else { start };
    at = match byte(bytes, at) {
        b'0' => at + 1,
        b'1'..=b'9' => digits(bytes, at),
        _ => return refuse(at, ParseErrorKind::Number),
    };
    if byte(bytes, at) == b'.' {
        at = some_digits(bytes, at + 1)?;
    }
    if let b'e' | b'E' = byte(bytes, at) {
        let exponent_at = at + 1;
        let unsigned_at =
            if let b'+' | b'-' = byte(bytes, exponent_at) { exponent_at + 1 } else { exponent_at };
        at = some_digits(bytes, unsigned_at)?;
        let exponent = bytes
            .get(unsigned_at..at)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| digits.parse::<u64>().ok());
        if exponent.is_none_or(|exponent| exponent > EXPONENT_MAGNITUDE) {
            return refuse(start, ParseErrorKind::NumberRange);
        }
    }
    if at - start > longest { refuse(start, ParseErrorKind::NumberRange) } else { Ok(at) }
}

fn digits(bytes: &[u8], mut at: usize) -> usize {
    while byte(bytes, at).is_ascii_digit() {
        at += 1;
    }
    at
}

fn some_digits(bytes: &[u8], start: usize) -> Result<usize, Refusal> {
    let end = digits(bytes, start);
    if end == start { refuse(end, ParseErrorKind::Number) } else { Ok(end) }
}

/// The end of a word.
pub(super) fn literal(bytes: &[u8], start: usize, word: &[u8]) -> Result<usize, Refusal> {
    let end = start + word.len();
    if bytes.get(start..end) == Some(word) {
        Ok(end)
    } else {
        refuse(start, ParseErrorKind::UnexpectedCharacter)
    }
}
