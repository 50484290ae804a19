//! One statement with its parameters found.
//!
//! It must be exactly one statement; a semicolon may end it and nothing may follow. Both sources
//! render it in the way that their store writes parameters.

use std::ops::Range;

use callgate_core::port::Fault;

use super::lexer::{Dialect, Token, tokens};

/// One statement with its parameters found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    parameters: Vec<(String, Range<usize>)>,
    words: Vec<Range<usize>>,
    sql: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Range<usize>),
    Parameter(usize, Range<usize>, Tested),
}

/// Whether a use of a parameter only asks whether there is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tested {
    /// `:name is null`, which gives PostgreSQL no type to read the value by.
    ForNull,
    /// Every other use.
    No,
}

impl Template {
    /// Finds the parameters of a statement.
    ///
    /// # Errors
    /// An unterminated quote or comment, a placeholder of another style, more than one statement, or none.
    pub fn parse(sql: &str, dialect: Dialect) -> Result<Self, Fault> {
        let mut template =
            Self { parts: Vec::new(), parameters: Vec::new(), words: Vec::new(), sql: sql.to_owned() };
        let mut ended: Option<Range<usize>> = None;
        let mut empty = true;
        let tokens = tokens(sql, dialect)?;
        for (index, (token, range)) in tokens.iter().enumerate() {
            let range = range.clone();
            if let (Some(semicolon), false) = (&ended, matches!(token, Token::Blank | Token::Semicolon)) {
                return Err(Fault {
                    code: "sql_statements",
                    message: "a second statement follows".to_owned(),
                    remedy: "a tool is one query; make another tool, or a view".to_owned(),
                    at: Some(semicolon.start..range.end),
                });
            }
            empty &= matches!(token, Token::Blank | Token::Semicolon);
            match token {
                Token::Parameter(name) => {
                    let tested = tested(sql, tokens.get(index + 1..).unwrap_or_default());
                    template.push_parameter(name, range, tested);
                }
                Token::Semicolon => ended = Some(range),
                // What follows the semicolon is left out, so that the statement can be wrapped.
                _ if ended.is_some() => {}
                Token::Word => {
                    template.words.push(range.clone());
                    template.push_text(range);
                }
                Token::Blank | Token::Other => template.push_text(range),
            }
        }
        if empty {
            return Err(Fault {
                code: "sql_syntax",
                message: "there is no statement".to_owned(),
                remedy: "write a query that starts with `select`".to_owned(),
                at: None,
            });
        }
        Ok(template)
    }

    /// The names of the parameters, each once, in the order of their first use, and where that is.
    #[must_use]
    pub fn parameters(&self) -> &[(String, Range<usize>)] {
        &self.parameters
    }

    /// The first place of a word, in any case.
    #[must_use]
    pub fn word(&self, word: &str) -> Option<Range<usize>> {
        let found = |range: &&Range<usize>| {
            self.sql.get((*range).clone()).is_some_and(|text| text.eq_ignore_ascii_case(word))
        };
        self.words.iter().find(found).cloned()
    }

    /// The statement with each parameter written as `write` gives it for its number, and the way back
    /// from offsets in it to offsets in the original.
    #[must_use]
    pub fn render(&self, write: impl Fn(usize) -> String) -> (String, Offsets) {
        let mut text = String::with_capacity(self.sql.len());
        let mut offsets = Offsets(Vec::with_capacity(self.parts.len()));
        for part in &self.parts {
            match part {
                Part::Text(range) => {
                    offsets.0.push((text.len(), range.clone()));
                    text.push_str(self.sql.get(range.clone()).unwrap_or_default());
                }
                Part::Parameter(number, range, _) => {
                    offsets.0.push((text.len(), range.clone()));
                    text.push_str(&write(*number));
                }
            }
        }
        (text, offsets)
    }

    /// The statement with parameters `$1`, `$2` and so on, the way back, and which parameter each
    /// number stands for.
    ///
    /// A parameter that is only tested for NULL somewhere gets a second number there, read as text:
    /// PostgreSQL fixes the type of a number at its first use, and that use has none to give.
    #[must_use]
    pub fn render_numbered(&self) -> (String, Offsets, Vec<usize>) {
        let mut text = String::with_capacity(self.sql.len());
        let mut offsets = Offsets(Vec::with_capacity(self.parts.len()));
        let mut numbers: Vec<(usize, Tested)> = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(range) => {
                    offsets.0.push((text.len(), range.clone()));
                    text.push_str(self.sql.get(range.clone()).unwrap_or_default());
                }
                Part::Parameter(parameter, range, tested) => {
                    offsets.0.push((text.len(), range.clone()));
                    let use_ = (*parameter, *tested);
                    let number = numbers.iter().position(|known| *known == use_).unwrap_or_else(|| {
                        numbers.push(use_);
                        numbers.len() - 1
                    });
                    let cast = if *tested == Tested::ForNull { "::text" } else { "" };
                    text.push_str(&format!("${}{cast}", number + 1));
                }
            }
        }
        (text, offsets, numbers.into_iter().map(|(parameter, _)| parameter).collect())
    }

    /// The first word.
    #[must_use]
    pub fn first_word(&self) -> Option<&str> {
        self.words.first().and_then(|range| self.sql.get(range.clone()))
    }

    /// The statement with its parameters as they were written, and without its end.
    #[must_use]
    pub fn render_named(&self) -> String {
        let name =
            |number| self.parameters.get(number).map_or_else(String::new, |(name, _)| format!(":{name}"));
        self.render(name).0
    }

    fn push_text(&mut self, range: Range<usize>) {
        if let Some(Part::Text(last)) = self.parts.last_mut()
            && last.end == range.start
        {
            last.end = range.end;
        } else {
            self.parts.push(Part::Text(range));
        }
    }

    fn push_parameter(&mut self, name: &str, range: Range<usize>, tested: Tested) {
        let number = self.parameters.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.parameters.push((name.to_owned(), range.clone()));
            self.parameters.len() - 1
        });
        self.parts.push(Part::Parameter(number, range, tested));
    }
}

/// Whether `is null` or `is not null` follows.
fn tested(sql: &str, rest: &[(Token, Range<usize>)]) -> Tested {
    let mut words = rest
        .iter()
        .filter(|(token, _)| *token != Token::Blank)
        .map(|(_, range)| sql.get(range.clone()).unwrap_or_default().to_ascii_lowercase());
    let is = words.next().is_some_and(|word| word == "is");
    let next = words.next().unwrap_or_default();
    let null = next == "null" || (next == "not" && words.next().is_some_and(|word| word == "null"));
    if is && null { Tested::ForNull } else { Tested::No }
}

/// The way from a rendered statement back to the one that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offsets(Vec<(usize, Range<usize>)>);

impl Offsets {
    /// The offset in the original that belongs to an offset in the rendered text.
    #[must_use]
    pub fn original(&self, rendered: usize) -> usize {
        match self.0.iter().rev().find(|(start, _)| *start <= rendered) {
            Some((start, range)) => (range.start + (rendered - start)).min(range.end),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests;
