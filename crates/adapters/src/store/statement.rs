//! Statements that both dialects understand, their values and their rows.
//!
//! A statement names its values `$1`, `$2` and so on. `{now}` is the clock of the store in microseconds since
//! 1970, so that instances whose clocks differ agree. No value ever becomes part of the text.

use std::borrow::Cow;

use callgate_core::contract::digest::Digest;

/// A value that is bound or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A text without a zero byte, which PostgreSQL does not keep.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Digest> for Value {
    fn from(digest: Digest) -> Self {
        Self::Bytes(digest.as_bytes().to_vec())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A statement with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    sql: Cow<'static, str>,
    values: Vec<Value>,
}

impl Statement {
    /// A statement without values.
    #[must_use]
    pub fn new(sql: impl Into<Cow<'static, str>>) -> Self {
        Self { sql: sql.into(), values: Vec::new() }
    }

    /// Binds the next value.
    #[must_use]
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The text, as it was written.
    #[must_use]
    pub fn sql(&self) -> &str {
        &self.sql
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }
}

/// A row that a statement gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub(super) Vec<Value>);

impl Row {
    /// The number in a column.
    #[must_use]
    pub fn integer(&self, at: usize) -> Option<i64> {
        match self.0.get(at) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// The text in a column.
    #[must_use]
    pub fn text(&self, at: usize) -> Option<&str> {
        match self.0.get(at) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The bytes in a column.
    #[must_use]
    pub fn bytes(&self, at: usize) -> Option<&[u8]> {
        match self.0.get(at) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The digest in a column.
    #[must_use]
    pub fn digest(&self, at: usize) -> Option<Digest> {
        self.bytes(at)?.try_into().ok().map(Digest::from_bytes)
    }
}

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    #[cfg(feature = "sqlite")]
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
}

impl Dialect {
    /// The text in this dialect.
    pub(super) fn render(self, sql: &str) -> String {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => sql
                .replace('$', "?")
                .replace("{now}", "(cast(unixepoch('subsec') * 1000 as integer) * 1000)")
                .replace("{integer}", "integer")
                .replace("{bytes}", "blob")
                .replace("{strict}", " strict"),
            #[cfg(feature = "postgres")]
            Self::Postgres => sql
                .replace("{now}", "((extract(epoch from clock_timestamp()) * 1000000)::bigint)")
                .replace("{integer}", "bigint")
                .replace("{bytes}", "bytea")
                .replace("{strict}", ""),
        }
    }
}
