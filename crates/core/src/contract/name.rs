//! The name of a tool.
//!
//! A name outside the specification's alphabet never gets past this type. Source:
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names>

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A tool name: 1 to 128 characters of `A-Z a-z 0-9 _ . -`, case-sensitive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Box<str>);

impl ToolName {
    /// The longest name, in characters.
    pub const MAX: usize = 128;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no tool name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty.
    #[error("a tool name has at least one character")]
    Empty,
    /// The text is too long.
    #[error("a tool name has at most 128 characters")]
    TooLong,
    /// The text holds another character.
    #[error("a tool name consists of A-Z, a-z, 0-9, underscore, hyphen and dot; {0:?} is none of these")]
    Character(char),
}

impl FromStr for ToolName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let foreign = |character: &char| !(character.is_ascii_alphanumeric() || "_.-".contains(*character));
        if let Some(character) = text.chars().find(foreign) {
            return Err(NameError::Character(character));
        }
        if text.len() > Self::MAX {
            return Err(NameError::TooLong);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{NameError, ToolName};

    #[test]
    fn a_name_has_one_to_128_characters_of_the_alphabet() {
        for (text, expected) in [
            ("a", Ok(())),
            ("Invoice_list.v2-b", Ok(())),
            ("", Err(NameError::Empty)),
            ("a b", Err(NameError::Character(' '))),
            ("a,b", Err(NameError::Character(','))),
            ("prix_é", Err(NameError::Character('é'))),
        ] {
            assert_eq!(text.parse::<ToolName>().map(|_| ()), expected, "{text}");
        }
        assert!("x".repeat(128).parse::<ToolName>().is_ok());
        assert_eq!("x".repeat(129).parse::<ToolName>(), Err(NameError::TooLong));
    }
}
