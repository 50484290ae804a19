//! JSON text that is carried and not understood, and numbers that keep their digits.
//!
//! A raw text must always be one valid JSON value on one line, so that it can be written into any
//! message and any framing.

use std::fmt;

use super::field::{Wire, WireError};
use crate::json::{Decimal, Document, Kind, Limits, ParseError, Value, push_integer, push_raw};

/// One JSON value as text, valid and without line breaks.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// The text of a value.
    #[must_use]
    pub fn from_value(value: Value<'_>) -> Self {
        let mut text = String::with_capacity(value.raw().len());
        push_raw(&mut text, value.raw());
        Self(text.into_boxed_str())
    }

    /// Checks a text.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let document = Document::parse(text, &Limits::DEFAULT)?;
        Ok(Self::from_value(document.root()))
    }

    /// The text of a wire value.
    #[must_use]
    pub fn of(value: &impl Wire) -> Self {
        Self(value.to_json().into_boxed_str())
    }

    /// The text `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, indexed for reading.
    #[must_use]
    pub fn document(&self) -> Document {
        // The text was accepted once, and these bounds are the widest there are.
        let limits = Limits::DEFAULT.with_bytes(usize::MAX).with_depth(usize::MAX).with_nodes(usize::MAX);
        Document::parse(&*self.0, &limits).unwrap_or_else(|_| Document::null())
    }

    /// Reads the value as a wire type.
    ///
    /// # Errors
    /// Where the value does not fit.
    pub fn read<T: Wire>(&self) -> Result<T, WireError> {
        T::read(self.document().root())
    }

    /// True for an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl From<Value<'_>> for RawJson {
    fn from(value: Value<'_>) -> Self {
        Self::from_value(value)
    }
}

impl fmt::Debug for RawJson {
    /// Shows the size only: payloads do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.0.len())
    }
}

impl Wire for RawJson {
    const ACCEPTS_NULL: bool = true;

    fn read(value: Value<'_>) -> Result<Self, WireError> {
        Ok(Self::from_value(value))
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.0);
    }
}

/// A number with the digits it arrived in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// Takes a JSON number from its text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Decimal::parse(text).map(|_| Self(text.into()))
    }

    /// A number from a float, or nothing for infinities and not-a-number, which JSON lacks.
    #[must_use]
    pub fn from_f64(number: f64) -> Option<Self> {
        Self::parse(&format!("{number}"))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number, exactly.
    #[must_use]
    pub fn decimal(&self) -> Option<Decimal<'_>> {
        Decimal::parse(&self.0)
    }

    /// The number as an integer, if it is whole and in range.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.decimal().and_then(Decimal::to_i128).and_then(|number| number.try_into().ok())
    }

    /// The nearest float.
    #[must_use]
    pub fn to_f64_lossy(&self) -> f64 {
        self.decimal().map_or(f64::NAN, Decimal::to_f64_lossy)
    }
}

macro_rules! number_from {
    ($($type:ty),*) => {$(
        impl From<$type> for Number {
            fn from(number: $type) -> Self {
                let mut text = String::new();
                push_integer(&mut text, number);
                Self(text.into_boxed_str())
            }
        }
    )*};
}

number_from!(i32, i64, u32, u64, usize);

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Wire for Number {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        if value.kind() == Kind::Number {
            Ok(Self(value.raw().into()))
        } else {
            Err(WireError::new("a number"))
        }
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.0);
    }
}
