//! What the parser accepts at most, and how it says what it does not accept.
//!
//! It must never hold a part of the refused text. The parser makes the errors; every caller of
//! [`Document::parse`](super::Document::parse) chooses the bounds.

use thiserror::Error;

/// Bounds on one JSON text. Whatever exceeds a bound is refused before memory is spent on it.
///
/// # Defaults
/// - `bytes`: 4 MiB, the largest message that a tool call needs without artifacts.
/// - `depth`: 64 levels, deeper than any hand-written schema or argument found in practice.
/// - `nodes`: 262,144 values and member names, 4 MiB of index.
/// - `number_bytes`: 1,024 characters in one number, so that exact arithmetic stays cheap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest text, in bytes.
    pub bytes: usize,
    /// The deepest nesting of arrays and objects.
    pub depth: usize,
    /// The largest number of values and member names together.
    pub nodes: usize,
    /// The longest number, in bytes of its text.
    pub number_bytes: usize,
}

impl Limits {
    /// The default bounds, usable in constants.
    pub const DEFAULT: Self = Self { bytes: 4 << 20, depth: 64, nodes: 1 << 18, number_bytes: 1024 };

    /// The same bounds with another bound on bytes.
    #[must_use]
    pub const fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// The same bounds with another bound on depth.
    #[must_use]
    pub const fn with_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// The same bounds with another bound on values and member names.
    #[must_use]
    pub const fn with_nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why a text is not accepted, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{kind} at byte {offset}")]
pub struct ParseError {
    /// The byte at which parsing stopped, counted from zero.
    pub offset: usize,
    /// What was wrong there.
    pub kind: ParseErrorKind,
}

/// The kinds of refusal of the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text is longer than [`Limits::bytes`].
    #[error("the text is longer than the bound")]
    TooLong,
    /// The text is not UTF-8.
    #[error("the text is not valid UTF-8")]
    Encoding,
    /// The text ends inside a value.
    #[error("the text ends inside a value")]
    UnexpectedEnd,
    /// A character stands where the grammar does not allow it.
    #[error("unexpected character")]
    UnexpectedCharacter,
    /// Something follows the value.
    #[error("unexpected text after the value")]
    TrailingText,
    /// A number does not follow the grammar of RFC 8259, section 6.
    #[error("malformed number")]
    Number,
    /// A number is longer than [`Limits::number_bytes`] or its exponent is beyond all use.
    #[error("the number is out of the accepted range")]
    NumberRange,
    /// A string holds a control character or an invalid escape.
    #[error("malformed string")]
    String,
    /// A string holds half of a surrogate pair, which is no character.
    #[error("unpaired surrogate in a string")]
    Surrogate,
    /// Arrays and objects nest deeper than [`Limits::depth`].
    #[error("the value is nested deeper than the bound")]
    TooDeep,
    /// The value has more parts than [`Limits::nodes`].
    #[error("the value has more parts than the bound")]
    TooManyNodes,
    /// An object has two members of one name.
    #[error("duplicate member name")]
    DuplicateMember,
}
