//! A value together with its place in the file.
//!
//! Later checks point at the place; nothing here reads or changes a file.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::finding::Place;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    value: T,
    place: Place,
}

impl<T> Located<T> {
    /// A value at a place.
    #[must_use]
    pub fn new(value: T, place: Place) -> Self {
        Self { value, place }
    }

    /// Where the value was written.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The value without its place.
    #[must_use]
    pub fn into_value(self) -> T {
        self.value
    }
}

impl Located<String> {
    /// The place of a range of bytes inside this string.
    ///
    /// Exact when the file holds the string as it is; a string with escapes gives its whole place.
    #[must_use]
    pub fn place_within(&self, range: std::ops::Range<usize>) -> Place {
        let span = self.place.span();
        let raw = self.place.file().text().get(span.clone()).unwrap_or_default();
        let inner = |quote: &str| raw.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let (open, text) = if let Some(text) = inner("\"\"\"").or_else(|| inner("'''")) {
            // A newline right after the opening quotes is not part of the string.
            let trimmed = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
            (3 + text.len() - trimmed.len(), trimmed)
        } else if let Some(text) = inner("\"").or_else(|| inner("'")) {
            (1, text)
        } else {
            (0, raw)
        };
        if text != self.value {
            return self.place.clone();
        }
        let start = span.start + open;
        self.place.file().place(start + range.start..start + range.end)
    }
}

impl<T: fmt::Display> fmt::Display for Located<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
