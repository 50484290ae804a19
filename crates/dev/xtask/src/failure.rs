//! The one error of this program: a sentence for the person at the terminal.
//!
//! It says which place, what was expected and what to do. It carries no structure, because nothing here reacts
//! to a failure except by reporting it and exiting non-zero. Every module returns it.

use std::fmt;

/// What went wrong, in words.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// Wraps a finished sentence.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// A failure that was reported already, so that something else can be the last line.
    pub(crate) fn told() -> Self {
        Self(String::new())
    }

    /// Whether it was reported already.
    pub(crate) fn is_told(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Puts the place in front of an error that only knows its cause.
pub(crate) trait Place<T> {
    /// Names what was being done when the error came up.
    fn at(self, place: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Place<T> for Result<T, E> {
    fn at(self, place: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure(format!("{place}: {error}")))
    }
}
