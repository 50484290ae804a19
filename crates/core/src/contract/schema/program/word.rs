//! A string of the schema, ready for comparison with strings of values.
//!
//! Names of members, constants and enumerations are short, and comparing their fingerprints settles them.
//! The compiler makes words, the evaluator compares.

use callgate_protocol::json::{Fingerprint, Part};

/// A member name or a constant.
#[derive(Clone, Debug)]
pub(in crate::contract::schema) struct Word {
    print: Fingerprint,
    text: Box<str>,
}

impl Word {
    pub(in crate::contract::schema) fn new(text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        Self { print: Fingerprint::of(text.as_bytes()), text }
    }

    pub(in crate::contract::schema) fn text(&self) -> &str {
        &self.text
    }

    /// Whether this is the word of a string with that fingerprint.
    #[inline(always)]
    pub(in crate::contract::schema) fn is(&self, print: Fingerprint, part: Part<'_>) -> bool {
        self.print == print && (print.is_complete() || part.plain_bytes() == Some(self.text.as_bytes()))
    }

    /// Whether a value is this word and is written without escapes.
    #[inline(always)]
    pub(in crate::contract::schema) fn is_plain_value(&self, part: Part<'_>) -> bool {
        part.has_fingerprint(&self.print)
            && (self.print.is_complete() || part.plain_bytes() == Some(self.text.as_bytes()))
    }

    /// Whether a value is this word.
    pub(in crate::contract::schema) fn is_value(&self, part: Part<'_>) -> bool {
        self.is_plain_value(part) || (!part.is_plain() && part.value().is_str(&self.text))
    }

    /// The place among the words of the one that a value is.
    #[inline(always)]
    pub(in crate::contract::schema) fn position(words: &[Self], part: Part<'_>) -> Option<usize> {
        match part.fingerprint() {
            Some(print) => {
                for (at, word) in words.iter().enumerate() {
                    if word.is(print, part) {
                        return Some(at);
                    }
                }
                None
            }
            None => words.iter().position(|word| part.value().is_str(&word.text)),
        }
    }
}
