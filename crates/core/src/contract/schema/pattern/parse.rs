//! The parser of ECMA-262 patterns, in their Unicode mode.
//!
//! As hosts do, it is lenient where the older mode is and nothing else could be meant: escaped
//! punctuation, and brackets that stand for themselves. It must never give a construct a meaning
//! that ECMA-262 does not give it. `pattern.rs` and the format `regex` call it.

use regex_syntax::hir::{Hir, Look, Repetition};

use super::class;
use super::{PatternError, SchemaLimits};

/// Reads a pattern into the engine's representation.
pub(super) fn parse(source: &str, limits: &SchemaLimits) -> Result<Hir, PatternError> {
    let mut parser = Parser { source, at: 0, depth: limits.pattern_depth, only_syntax: false };
    parser.pattern()
}

/// Whether a text follows the grammar, be it runnable here or not.
pub(in super::super) fn is_regular_expression(source: &str, limits: &SchemaLimits) -> bool {
    let mut parser = Parser { source, at: 0, depth: limits.pattern_depth, only_syntax: true };
    parser.pattern().is_ok()
}

pub(super) struct Parser<'s> {
    pub(super) source: &'s str,
    pub(super) at: usize,
    /// How many groups may still be opened inside the current one.
    depth: usize,
    /// Unsupported constructs pass, and nothing large is built.
    pub(super) only_syntax: bool,
}

impl Parser<'_> {
    fn pattern(&mut self) -> Result<Hir, PatternError> {
        let expression = self.alternatives()?;
        match self.peek() {
            None => Ok(expression),
            Some(_) => Err(self.syntax("`)` without `(`")),
        }
    }

    fn alternatives(&mut self) -> Result<Hir, PatternError> {
        let mut alternatives = vec![self.sequence()?];
        while self.eat('|') {
            alternatives.push(self.sequence()?);
        }
        Ok(self.build(|| Hir::alternation(alternatives)))
    }

    fn sequence(&mut self) -> Result<Hir, PatternError> {
        let mut terms = Vec::new();
        while let Some(next) = self.peek() {
            if matches!(next, '|' | ')') {
                break;
            }
            let start = self.at;
            let (term, quantifiable) = self.term()?;
            let term = self.quantified(term, quantifiable, start)?;
            if !self.only_syntax {
                terms.push(term);
            }
        }
        Ok(self.build(|| Hir::concat(terms)))
    }

    /// One assertion or atom, and whether a quantifier may follow it.
    fn term(&mut self) -> Result<(Hir, bool), PatternError> {
        let start = self.at;
        let Some(next) = self.next() else { return Err(self.syntax("unexpected end")) };
        Ok(match next {
            '^' => (Hir::look(Look::Start), false),
            '$' => (Hir::look(Look::End), false),
            '.' => (self.class(class::not_line_terminator()), true),
            '(' => return self.group(start),
            '[' => {
                let set = class::parse_set(self, start)?;
                (self.class(set), true)
            }
            '\\' => return self.escape(start),
            '*' | '+' | '?' => return Err(self.syntax_at("a quantifier without anything to repeat", start)),
            '{' if self.counts_at(start).is_some() => {
                return Err(self.syntax_at("a quantifier without anything to repeat", start));
            }
            literal => (self.literal(literal), true),
        })
    }

    fn group(&mut self, start: usize) -> Result<(Hir, bool), PatternError> {
        let mut looks = false;
        if self.eat('?') {
            if self.eat_all("=") || self.eat_all("!") {
                looks = true;
                self.refuse("look-ahead", start)?;
            } else if self.eat_all("<=") || self.eat_all("<!") {
                looks = true;
                self.refuse("look-behind", start)?;
            } else if self.eat('<') {
                self.group_name(start)?;
            } else if !self.eat(':') {
                self.refuse("a group with flags", start)?;
                return Err(self.syntax_at("unknown kind of group", start));
            }
        }
        self.depth =
            self.depth.checked_sub(1).ok_or(PatternError::TooLarge { what: "the nesting of groups" })?;
        let inner = self.alternatives()?;
        self.depth += 1;
        if !self.eat(')') {
            return Err(self.syntax_at("`(` without `)`", start));
        }
        Ok((inner, !looks))
    }

    fn group_name(&mut self, start: usize) -> Result<(), PatternError> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let Some(end) = rest.find('>') else { return Err(self.syntax_at("a group name without `>`", start)) };
        let name = rest.get(..end).unwrap_or_default();
        let mut characters = name.chars();
        let identifier = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let valid =
            characters.next().is_some_and(|c| identifier(c) && !c.is_numeric()) && characters.all(identifier);
        if !valid {
            return Err(self.syntax_at("a group name that is no identifier", start));
        }
        self.at += end + 1;
        Ok(())
    }

    fn escape(&mut self, start: usize) -> Result<(Hir, bool), PatternError> {
        match self.peek() {
            Some('b') => {
                self.at += 1;
                return Ok((Hir::look(Look::WordAscii), false));
            }
            Some('B') => {
                self.at += 1;
                return Ok((Hir::look(Look::WordAsciiNegate), false));
            }
            Some('1'..='9') => {
                self.at += 1;
                self.refuse("a back-reference", start)?;
                while let Some('0'..='9') = self.peek() {
                    self.at += 1;
                }
                return Ok((Hir::empty(), true));
            }
            Some('k') => {
                self.refuse("a back-reference", start)?;
                self.at += 1;
                if !self.eat('<') {
                    return Err(self.syntax_at("`\\k` without a group name", start));
                }
                self.group_name(start)?;
                return Ok((Hir::empty(), true));
            }
            _ => {}
        }
        let hir = match class::parse_escape(self, start)? {
            class::Escape::Character(scalar) => match char::from_u32(scalar) {
                Some(character) => self.literal(character),
                // Half of a surrogate pair is in no text.
                None => Hir::fail(),
            },
            class::Escape::Set(set) => self.class(set),
        };
        Ok((hir, true))
    }

    fn quantified(&mut self, term: Hir, quantifiable: bool, start: usize) -> Result<Hir, PatternError> {
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts_at(self.at) {
                Some((min, max, end)) => {
                    // The quantifier is one byte longer than what is skipped here.
                    self.at = end - 1;
                    (min, max)
                }
                None => return Ok(term),
            },
            _ => return Ok(term),
        };
        if !quantifiable {
            return Err(self.syntax_at("a quantifier after an assertion", start));
        }
        if max.is_some_and(|max| max < min) {
            return Err(self.syntax_at("a quantifier whose bounds are out of order", start));
        }
        self.at += 1;
        let greedy = !self.eat('?');
        if matches!(self.peek(), Some('*' | '+' | '?')) {
            return Err(self.syntax("a quantifier after a quantifier"));
        }
        Ok(self.build(|| Hir::repetition(Repetition { min, max, greedy, sub: Box::new(term) })))
    }

    /// `{n}`, `{n,}` or `{n,m}` at a byte: the bounds and where it ends. Counts that do not fit are
    /// as large as can be, which the bound on the program refuses.
    fn counts_at(&self, at: usize) -> Option<(u32, Option<u32>, usize)> {
        let rest = self.source.get(at..)?.strip_prefix('{')?;
        let length = rest.find('}')?;
        let inner = rest.get(..length)?;
        let count = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u32>().unwrap_or(u32::MAX))
        };
        let (min, max) = match inner.split_once(',') {
            Some((min, "")) => (count(min)?, None),
            Some((min, max)) => (count(min)?, Some(count(max)?)),
            None => (count(inner)?, Some(count(inner)?)),
        };
        Some((min, max, at + length + 2))
    }

    fn literal(&self, character: char) -> Hir {
        self.build(|| Hir::literal(character.encode_utf8(&mut [0; 4]).as_bytes()))
    }

    fn class(&self, set: regex_syntax::hir::ClassUnicode) -> Hir {
        self.build(|| Hir::class(regex_syntax::hir::Class::Unicode(set)))
    }

    fn build(&self, hir: impl FnOnce() -> Hir) -> Hir {
        if self.only_syntax { Hir::empty() } else { hir() }
    }

    fn refuse(&self, what: &'static str, at: usize) -> Result<(), PatternError> {
        if self.only_syntax { Ok(()) } else { Err(PatternError::Unsupported { what, at }) }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.source.get(self.at..)?.chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    pub(super) fn eat_all(&mut self, expected: &str) -> bool {
        let found = self.source.get(self.at..).is_some_and(|rest| rest.starts_with(expected));
        if found {
            self.at += expected.len();
        }
        found
    }

    pub(super) fn syntax(&self, what: &'static str) -> PatternError {
        PatternError::Syntax { what, at: self.at }
    }

    pub(super) fn syntax_at(&self, what: &'static str, at: usize) -> PatternError {
        PatternError::Syntax { what, at }
    }
}
