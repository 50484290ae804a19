//! Exact JSON: a bounded parser that keeps the text, and a view of it that never loses a digit.
//!
//! A [`Document`] owns the text of one JSON value and an index of its parts. A [`Value`] is a
//! position in that index: copying it is free, and [`Value::raw`] gives back the very bytes that
//! were received, so what is checked is what is forwarded. Numbers stay text and are compared as
//! exact decimals ([`Decimal`]); duplicate member names are refused while parsing.
//!
//! This module must never pass a number through a float, and never accept a text that RFC 8259
//! does not define. The decoder, the schema evaluator and the digest are its callers.

mod bounds;
mod de;
mod memory;
mod number;
mod parse;
mod scan;
mod value;
mod write;

pub use bounds::{Limits, ParseError, ParseErrorKind};
pub use de::{ArgumentError, from_value};
pub use memory::Memory;
pub use number::Decimal;
pub use value::{Document, Entries, Entry, Fingerprint, Items, Kind, Members, Part, Parts, Value, unescape};
pub use write::{escape_into, escaped_len, push_integer, push_raw, push_string};

#[cfg(test)]
mod tests;
