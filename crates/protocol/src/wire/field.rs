//! How a value is read from JSON and written to it, and what is said when it does not fit.
//!
//! A refusal must never repeat the value. The macros of this module and every wire type call it.

use std::fmt;

use super::raw::RawJson;
use crate::id::Id;
use crate::json::{Document, Kind, Limits, Value, push_string};
use crate::logging::LogLevel;

/// A type with a JSON form.
pub trait Wire: Sized {
    /// True when `null` is a value of this type and not the absence of one.
    const ACCEPTS_NULL: bool = false;

    /// Reads a value.
    ///
    /// # Errors
    /// The place that does not fit, and what was expected there.
    fn read(value: Value<'_>) -> Result<Self, WireError>;

    /// Appends the JSON text.
    fn write(&self, out: &mut String);

    /// The JSON text.
    #[must_use]
    fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Reads a JSON text.
    ///
    /// # Errors
    /// A text that is no JSON, or a value that does not fit.
    fn from_json(text: &str) -> Result<Self, WireError> {
        let document = Document::parse(text, &Limits::DEFAULT).map_err(|_| WireError::new("JSON text"))?;
        Self::read(document.root())
    }
}

/// A value that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    /// The JSON Pointer of the place.
    pub pointer: String,
    /// What was expected there.
    pub expected: &'static str,
}

impl WireError {
    /// A refusal of the value itself.
    #[must_use]
    pub fn new(expected: &'static str) -> Self {
        Self { pointer: String::new(), expected }
    }

    /// A refusal of an object that lacks a member.
    #[must_use]
    pub fn missing(name: &str) -> Self {
        Self::new("a value, for the member is required").within(name)
    }

    /// The same refusal, seen from the object or array around it.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        self.pointer.insert_str(0, &name);
        self.pointer.insert(0, '/');
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the value" } else { &self.pointer };
        write!(f, "expected {} at {place}", self.expected)
    }
}

impl std::error::Error for WireError {}

/// Reads an optional member: `null` is absence unless the type has a `null` of its own.
pub(super) fn read_optional<T: Wire>(value: Value<'_>, name: &str) -> Result<Option<T>, WireError> {
    if value.is_null() && !T::ACCEPTS_NULL {
        return Ok(None);
    }
    T::read(value).map(Some).map_err(|error| error.within(name))
}

/// Writes an object, member by member.
pub(super) struct ObjectWriter<'o> {
    out: &'o mut String,
    first: bool,
}

impl<'o> ObjectWriter<'o> {
    pub(super) fn open(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    pub(super) fn member<T: Wire>(&mut self, name: &str, value: &T) {
        self.name(name);
        value.write(self.out);
    }

    pub(super) fn optional<T: Wire>(&mut self, name: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.member(name, value);
        }
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        push_string(self.out, value);
    }

    pub(super) fn others(&mut self, others: &Entries<RawJson>) {
        for (name, value) in others.iter() {
            self.member(name, value);
        }
    }

    pub(super) fn close(self) {
        self.out.push('}');
    }

    fn name(&mut self, name: &str) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        push_string(self.out, name);
        self.out.push(':');
    }
}

/// An object used as a map, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries<T>(Vec<(String, T)>);

impl<T> Entries<T> {
    /// The map without entries.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Sets the value under a key; an entry that is there keeps its place.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<T>) {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(name, _)| *name == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<String>, T> FromIterator<(K, T)> for Entries<T> {
    fn from_iter<I: IntoIterator<Item = (K, T)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<T: Wire> Wire for Entries<T> {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        if value.kind() != Kind::Object {
            return Err(WireError::new("an object"));
        }
        let entries = value.members().map(|(name, member)| {
            let name = name.as_str().unwrap_or_default().into_owned();
            T::read(member).map_err(|error| error.within(&name)).map(|member| (name, member))
        });
        // The parser has refused repeated names, so none replaces another here.
        entries.collect::<Result<Vec<_>, _>>().map(Self)
    }

    fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        for (name, value) in self.iter() {
            object.member(name, value);
        }
        object.close();
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        if value.kind() != Kind::Array {
            return Err(WireError::new("an array"));
        }
        let items = value.items().enumerate();
        items.map(|(at, item)| T::read(item).map_err(|error| error.within(&at.to_string()))).collect()
    }

    fn write(&self, out: &mut String) {
        out.push('[');
        for (at, item) in self.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            item.write(out);
        }
        out.push(']');
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        T::read(value).map(Self::new)
    }

    fn write(&self, out: &mut String) {
        T::write(self, out);
    }
}

impl Wire for String {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        value.as_str().map(std::borrow::Cow::into_owned).ok_or(WireError::new("a string"))
    }

    fn write(&self, out: &mut String) {
        push_string(out, self);
    }
}

impl Wire for bool {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        value.as_bool().ok_or(WireError::new("true or false"))
    }

    fn write(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl Wire for Id {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        Self::from_value(value).ok_or(WireError::new("a string or an integer"))
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.as_json());
    }
}

impl Wire for LogLevel {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        value.as_str().and_then(|name| Self::of_name(&name)).ok_or(WireError::new(Self::EXPECTED))
    }

    fn write(&self, out: &mut String) {
        push_string(out, self.as_str());
    }
}
