//! Character classes and escapes of ECMA-262 patterns.
//!
//! `\d` and `\w` are ASCII and `\s` is the white space of ECMA-262, whatever the engine thinks. Only
//! the pattern parser calls it.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::PatternError;
use super::parse::Parser;

/// What an escape stands for.
pub(super) enum Escape {
    /// One code point; it may be half of a surrogate pair, which is no `char`.
    Character(u32),
    Set(ClassUnicode),
}

/// Everything that `.` matches.
pub(super) fn not_line_terminator() -> ClassUnicode {
    negated(set(&[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')]))
}

/// White space and line terminators of ECMA-262.
const SPACE: [(char, char); 10] = [
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];

const DIGIT: [(char, char); 1] = [('0', '9')];

const WORD: [(char, char); 4] = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// Reads the inside of `[...]`; the opening bracket at `start` has been read.
pub(super) fn parse_set(parser: &mut Parser<'_>, start: usize) -> Result<ClassUnicode, PatternError> {
    let negate = parser.eat('^');
    let mut ranges = Vec::new();
    let mut sets = ClassUnicode::empty();
    loop {
        if parser.eat(']') {
            break;
        }
        let at = parser.at;
        let low = member(parser, start)?;
        // A hyphen makes a range unless it is the last member.
        let ranged = parser.peek() == Some('-')
            && parser.source.get(parser.at + 1..).is_some_and(|rest| !rest.starts_with(']'));
        if !ranged {
            add(low, &mut ranges, &mut sets);
            continue;
        }
        parser.at += 1;
        let high = member(parser, start)?;
        match (low, high) {
            (Escape::Character(low), Escape::Character(high)) if low <= high => {
                push_range(&mut ranges, low, high);
            }
            (Escape::Character(_), Escape::Character(_)) => {
                return Err(parser.syntax_at("a range whose ends are out of order", at));
            }
            (low, high) => {
                // `[\w-x]`: the hyphen cannot make a range, so it stands for itself.
                add(low, &mut ranges, &mut sets);
                add(Escape::Character(u32::from('-')), &mut ranges, &mut sets);
                add(high, &mut ranges, &mut sets);
            }
        }
    }
    sets.union(&ClassUnicode::new(ranges));
    Ok(if negate { negated(sets) } else { sets })
}

fn member(parser: &mut Parser<'_>, start: usize) -> Result<Escape, PatternError> {
    let at = parser.at;
    match parser.next() {
        None => Err(parser.syntax_at("`[` without `]`", start)),
        Some('\\') if parser.eat('b') => Ok(Escape::Character(8)),
        Some('\\') if parser.eat('-') => Ok(Escape::Character(u32::from('-'))),
        Some('\\') => parse_escape(parser, at),
        Some(character) => Ok(Escape::Character(u32::from(character))),
    }
}

fn add(escape: Escape, ranges: &mut Vec<ClassUnicodeRange>, sets: &mut ClassUnicode) {
    match escape {
        Escape::Character(scalar) => push_range(ranges, scalar, scalar),
        Escape::Set(set) => sets.union(&set),
    }
}

/// Adds a range of code points without the surrogates, which are in no text.
fn push_range(ranges: &mut Vec<ClassUnicodeRange>, low: u32, high: u32) {
    for (low, high) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if let (true, Some(low), Some(high)) = (low <= high, char::from_u32(low), char::from_u32(high)) {
            ranges.push(ClassUnicodeRange::new(low, high));
        }
    }
}

/// Reads an escape whose backslash, at `start`, has been read.
pub(super) fn parse_escape(parser: &mut Parser<'_>, start: usize) -> Result<Escape, PatternError> {
    let Some(next) = parser.next() else { return Err(parser.syntax_at("a lone `\\` at the end", start)) };
    let character = match next {
        'd' => return Ok(Escape::Set(set(&DIGIT))),
        'D' => return Ok(Escape::Set(negated(set(&DIGIT)))),
        'w' => return Ok(Escape::Set(set(&WORD))),
        'W' => return Ok(Escape::Set(negated(set(&WORD)))),
        's' => return Ok(Escape::Set(set(&SPACE))),
        'S' => return Ok(Escape::Set(negated(set(&SPACE)))),
        'p' | 'P' => return property(parser, start, next == 'P').map(Escape::Set),
        't' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        '0' if !matches!(parser.peek(), Some('0'..='9')) => '\0',
        'c' => match parser.next() {
            Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 % 32),
            _ => return Err(parser.syntax_at("`\\c` without a letter", start)),
        },
        'x' => return hexadecimal(parser, 2, start).map(Escape::Character),
        'u' => return code_point(parser, start).map(Escape::Character),
        other if other.is_ascii_alphanumeric() => {
            return Err(parser.syntax_at("an escape that ECMA-262 does not have", start));
        }
        other => other,
    };
    Ok(Escape::Character(u32::from(character)))
}

/// `XXXX`, a pair of them, or `{X...}`, after `\u`.
fn code_point(parser: &mut Parser<'_>, start: usize) -> Result<u32, PatternError> {
    if parser.eat('{') {
        let rest = parser.source.get(parser.at..).unwrap_or_default();
        let digits = rest.split_once('}').map(|(digits, _)| digits).unwrap_or_default();
        let valid = (1..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let scalar = if valid { u32::from_str_radix(digits, 16).ok() } else { None };
        let Some(scalar) = scalar.filter(|&scalar| scalar <= 0x10_FFFF) else {
            return Err(parser.syntax_at("`\\u{` without a code point", start));
        };
        parser.at += digits.len() + 1;
        return Ok(scalar);
    }
    let unit = hexadecimal(parser, 4, start)?;
    if (0xD800..0xDC00).contains(&unit)
        && parser.source.get(parser.at..).is_some_and(|rest| rest.starts_with("\\u"))
    {
        let before = parser.at;
        parser.at += 2;
        match hexadecimal(parser, 4, start) {
            Ok(low) if (0xDC00..0xE000).contains(&low) => {
                return Ok(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
            }
            _ => parser.at = before,
        }
    }
    Ok(unit)
}

fn hexadecimal(parser: &mut Parser<'_>, length: usize, start: usize) -> Result<u32, PatternError> {
    let digits = parser
        .source
        .get(parser.at..parser.at + length)
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let Some(scalar) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
        return Err(parser.syntax_at("an escape without its hexadecimal digits", start));
    };
    parser.at += length;
    Ok(scalar)
}

/// `{Name}` or `{Name=Value}` after `\p`. The Unicode tables are those of the engine.
fn property(parser: &mut Parser<'_>, start: usize, negate: bool) -> Result<ClassUnicode, PatternError> {
    let rest = parser.source.get(parser.at..).unwrap_or_default();
    let name = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
    let Some(name) = name.filter(|name| !name.is_empty() && name.chars().all(valid)) else {
        return Err(parser.syntax_at("`\\p` without a property in braces", start));
    };
    parser.at += name.len() + 2;
    let unknown = || PatternError::Syntax { what: "a Unicode property that is not known", at: start };
    let found = regex_syntax::Parser::new().parse(&format!("\\p{{{name}}}")).map_err(|_| unknown())?;
    match found.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Ok(if negate { negated(set) } else { set }),
        HirKind::Class(Class::Bytes(set)) => {
            let set = set.to_unicode_class().ok_or_else(unknown)?;
            Ok(if negate { negated(set) } else { set })
        }
        // A property of one character is a literal for the engine.
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| unknown())?;
            let set = ClassUnicode::new(text.chars().map(|c| ClassUnicodeRange::new(c, c)));
            Ok(if negate { negated(set) } else { set })
        }
        _ => Err(unknown()),
    }
}

fn set(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
}

fn negated(mut set: ClassUnicode) -> ClassUnicode {
    set.negate();
    set
}
