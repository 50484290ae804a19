//! Whole messages with typed contents.
//!
//! The decoder reads envelopes without types; these are for clients, gateways and tests that write or
//! read one whole message.

use super::base::ErrorObject;
use super::field::{Entries, ObjectWriter, Wire, WireError};
use super::raw::RawJson;
use crate::id::Id;
use crate::json::{Kind, Value};

/// A request or, without an id, a notification.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Call<P> {
    /// The id; nothing for a notification.
    pub id: Option<Id>,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Option<P>,
    /// Members that JSON-RPC does not name.
    pub other: Entries<RawJson>,
}

impl<P> Call<P> {
    /// A request.
    #[must_use]
    pub fn request(id: Id, method: impl Into<String>, params: P) -> Self {
        Self { id: Some(id), method: method.into(), params: Some(params), other: Entries::new() }
    }

    /// A notification.
    #[must_use]
    pub fn notification(method: impl Into<String>, params: Option<P>) -> Self {
        Self { id: None, method: method.into(), params, other: Entries::new() }
    }
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer<R> {
    /// The id of the request; nothing only in an error whose sender could not read it.
    pub id: Option<Id>,
    /// The result, or the error.
    pub outcome: Result<R, ErrorObject>,
    /// Members that JSON-RPC does not name.
    pub other: Entries<RawJson>,
}

impl<R> Answer<R> {
    /// A result.
    #[must_use]
    pub fn result(id: Id, result: R) -> Self {
        Self { id: Some(id), outcome: Ok(result), other: Entries::new() }
    }

    /// An error.
    #[must_use]
    pub fn error(id: Option<Id>, error: ErrorObject) -> Self {
        Self { id, outcome: Err(error), other: Entries::new() }
    }
}

fn check_version(value: Value<'_>) -> Result<(), WireError> {
    if value.kind() != Kind::Object {
        return Err(WireError::new("an object"));
    }
    match value.get("jsonrpc") {
        Some(version) if version.is_str("2.0") => Ok(()),
        _ => Err(WireError::new("\"2.0\"").within("jsonrpc")),
    }
}

fn read_member<T: Wire>(value: Value<'_>, name: &str) -> Result<Option<T>, WireError> {
    value.get(name).map(|member| T::read(member).map_err(|error| error.within(name))).transpose()
}

fn others(value: Value<'_>, known: &[&str]) -> Entries<RawJson> {
    let unknown = value.members().filter(|(name, _)| !known.iter().any(|known| name.is_str(known)));
    unknown.map(|(name, member)| (name.as_str().unwrap_or_default(), RawJson::from_value(member))).collect()
}

impl<P: Wire> Wire for Call<P> {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        check_version(value)?;
        Ok(Self {
            id: read_member(value, "id")?,
            method: read_member(value, "method")?.ok_or_else(|| WireError::missing("method"))?,
            params: read_member(value, "params")?,
            other: others(value, &["jsonrpc", "id", "method", "params"]),
        })
    }

    fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.text("jsonrpc", "2.0");
        object.optional("id", self.id.as_ref());
        object.text("method", &self.method);
        object.optional("params", self.params.as_ref());
        object.others(&self.other);
        object.close();
    }
}

impl<R: Wire> Wire for Answer<R> {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        check_version(value)?;
        let outcome = match (read_member(value, "result")?, read_member(value, "error")?) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(error),
            _ => return Err(WireError::new("either `result` or `error`")),
        };
        let id = match value.get("id") {
            Some(id) if id.is_null() && outcome.is_err() => None,
            _ => read_member(value, "id")?,
        };
        if id.is_none() && outcome.is_ok() {
            return Err(WireError::missing("id"));
        }
        Ok(Self { id, outcome, other: others(value, &["jsonrpc", "id", "result", "error"]) })
    }

    fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.text("jsonrpc", "2.0");
        object.optional("id", self.id.as_ref());
        match &self.outcome {
            Ok(result) => object.member("result", result),
            Err(error) => object.member("error", error),
        }
        object.others(&self.other);
        object.close();
    }
}
