//! Texts with places for values: `/tickets/{id}`.
//!
//! A template says where values stand, never what they may be: how each is encoded is said by what the template is
//! for. The requests of HTTP tools are made of them.

use std::ops::Range;

use super::finding::Finding;
use super::located::Located;
use super::reader::Reading;

/// A text with places for values.
#[derive(Clone, Debug)]
pub struct Template {
    /// As it was written.
    pub text: Located<String>,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A text that stands for itself.
    Literal(String),
    /// The place of a value.
    Value {
        /// Whose value: an input property, `tenant` or `principal`.
        name: String,
        /// Where the place stands in the template, in bytes.
        at: Range<usize>,
    },
}

impl Template {
    /// Reads a template. `{name}` is the place of a value, `{{` and `}}` are braces.
    pub(crate) fn read(text: Located<String>, reading: &Reading) -> Option<Self> {
        match parts(&text) {
            Ok(parts) => Some(Self { text, parts }),
            Err(at) => {
                let finding = Finding::error(
                    "bad_template",
                    "a brace here neither begins nor ends the place of a value",
                    "write `{name}` for the value of an input, and `{{` or `}}` for a brace itself",
                );
                reading.report(text.place_within(at..at + 1).span(), finding);
                None
            }
        }
    }

    /// The one value that it is, with nothing around it.
    pub(crate) fn only_value(&self) -> Option<&str> {
        match &self.parts[..] {
            [Part::Value { name, .. }] => Some(name),
            _ => None,
        }
    }

    /// The text, where it has no place for a value.
    pub(crate) fn literal(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => Some(text.as_str()),
                Part::Value { .. } => None,
            })
            .collect()
    }
}

/// The parts of a text, or where a brace is out of place.
fn parts(text: &str) -> Result<Vec<Part>, usize> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        match character {
            '{' | '}' if rest.peek().is_some_and(|(_, next)| *next == character) => {
                rest.next();
                literal.push(character);
            }
            '{' => {
                let from = at + 1;
                let end = rest.find(|(_, next)| matches!(next, '{' | '}')).filter(|(_, end)| *end == '}');
                let Some((end, _)) = end.filter(|(end, _)| *end > from) else { return Err(at) };
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                let name = text.get(from..end).unwrap_or_default().to_owned();
                parts.push(Part::Value { name, at: at..end + 1 });
            }
            '}' => return Err(at),
            other => literal.push(other),
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};

    #[test]
    fn a_template_is_texts_and_places_of_values() {
        let literal = |text: &str| Part::Literal(text.to_owned());
        let value = |name: &str, at| Part::Value { name: name.to_owned(), at };
        for (text, expected) in [
            ("", Ok(vec![])),
            ("/a", Ok(vec![literal("/a")])),
            ("/a/{b}", Ok(vec![literal("/a/"), value("b", 3..6)])),
            ("{b}{c}", Ok(vec![value("b", 0..3), value("c", 3..6)])),
            ("ä{b}ü", Ok(vec![literal("ä"), value("b", 2..5), literal("ü")])),
            ("{{b}}", Ok(vec![literal("{b}")])),
            ("{{{b}}}", Ok(vec![literal("{"), value("b", 2..5), literal("}")])),
            ("{}", Err(0)),
            ("a{b", Err(1)),
            ("a}b", Err(1)),
            ("{a{b}", Err(0)),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }
}
