//! What a record says, owned and bounded, without its place in the chain.
//!
//! A record of the gate borrows from the call, so it is copied here when it is handed over. Whatever a
//! client, an identity provider or a driver sent is cut to a length; nothing of it can make a record too
//! large to keep. The trail makes bodies; stores write and read them.

use std::sync::Arc;

use callgate_core::contract::digest::Digest;
use callgate_core::port::{Decision, Record};
use callgate_protocol::json::{self, Document, push_integer, push_string};

use super::Limits;
use super::column::Column;

/// The value of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// Text.
    Text(String),
    /// Text that many records share.
    Shared(Arc<str>),
    /// Text that is part of the program.
    Word(&'static str),
    /// A whole number.
    Integer(i64),
    /// A digest.
    Digest(Digest),
}

impl Value {
    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Shared(text) => Some(text),
            Self::Word(text) => Some(text),
            Self::Null | Self::Integer(_) | Self::Digest(_) => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The digest, if it is one.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        match self {
            Self::Digest(digest) => Some(digest),
            _ => None,
        }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// The columns of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body([Value; Column::COUNT]);

/// Who writes, the same in every record of a process.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) server: Arc<str>,
    pub(super) version: Arc<str>,
}

impl Body {
    /// A body of a kind, with nothing else in it.
    #[must_use]
    pub fn new(kind: &'static str, time_us: i64) -> Self {
        let mut body = Self([const { Value::Null }; Column::COUNT]);
        body.set(Column::Kind, Value::Word(kind));
        body.set(Column::Time, Value::Integer(time_us));
        body
    }

    /// A body of its columns, as a store gives them back.
    #[must_use]
    pub fn of(values: [Value; Column::COUNT]) -> Self {
        Self(values)
    }

    /// The value of a column.
    #[must_use]
    pub fn get(&self, column: Column) -> &Value {
        // Every column has its place, by the type of the array.
        self.0.get(column as usize).unwrap_or(&Value::Null)
    }

    /// The text of a column.
    #[must_use]
    pub fn text(&self, column: Column) -> Option<&str> {
        self.get(column).text()
    }

    /// The values in the order of the columns.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.iter()
    }

    /// Puts a value into a column.
    pub fn set(&mut self, column: Column, value: Value) {
        if let Some(place) = self.0.get_mut(column as usize) {
            *place = value;
        }
    }

    /// What the gate hands over.
    pub(super) fn of_record(record: &Record<'_>, writer: &Writer, limits: &Limits) -> Self {
        let text =
            |text: Option<&str>, limit| text.map_or(Value::Null, |text| Value::Text(bounded(text, limit)));
        let digest = |digest: Option<Digest>| digest.map_or(Value::Null, Value::Digest);
        let mut body = Self::new("call", record.started.0);
        body.set(Column::Call, Value::Text(record.call.to_string()));
        body.set(Column::Server, Value::Shared(Arc::clone(&writer.server)));
        body.set(Column::ServerVersion, Value::Shared(Arc::clone(&writer.version)));
        body.set(Column::Transport, Value::Word(record.transport.as_str()));
        if let Some(principal) = record.principal {
            body.set(Column::Principal, text(Some(&principal.subject), limits.identity));
            body.set(Column::Tenant, text(principal.tenant.as_deref(), limits.identity));
            body.set(Column::Client, text(principal.client.as_deref(), limits.identity));
            body.set(Column::Purpose, text(principal.purpose.as_deref(), limits.identity));
        }
        body.set(Column::Tool, text(Some(record.requested), limits.name));
        body.set(Column::Contract, digest(record.contract.map(|contract| contract.digest().0)));
        body.set(Column::Input, digest(record.input.map(|input| input.0)));
        let arguments = record.view.map_or(Value::Null, |view| Value::Text(shown(view, limits.arguments)));
        body.set(Column::Arguments, arguments);
        if let Some(decision) = record.decision {
            body.set(Column::Decision, Value::Word(decision.as_str()));
            body.set(Column::Policies, Value::Text(policies(decision, limits.policies)));
        }
        body.set(Column::Policy, Value::Digest(record.policy));
        body.set(Column::Approved, Value::Integer(i64::from(record.approved)));
        body.set(Column::Idempotency, Value::Word(record.idempotency.as_str()));
        body.set(Column::Result, Value::Word(record.result.as_str()));
        body.set(Column::Code, record.code.map_or(Value::Null, |code| Value::Word(code.as_str())));
        body.set(Column::Detail, text(record.detail, limits.detail));
        body.set(Column::Effect, Value::Word(record.effect.as_str()));
        let latency = i64::try_from(record.latency.as_micros()).unwrap_or(i64::MAX);
        body.set(Column::Latency, Value::Integer(latency));
        body
    }

    /// What the trail says of records that it lost.
    pub(super) fn gap(time_us: i64, lost: u64, since_us: i64, reason: &str, limits: &Limits) -> Self {
        let mut detail = String::from("{\"lost\":");
        push_integer(&mut detail, lost);
        detail.push_str(",\"since_us\":");
        push_integer(&mut detail, since_us);
        detail.push_str(",\"reason\":");
        push_string(&mut detail, &bounded(reason, limits.detail / 2));
        detail.push('}');
        let mut body = Self::new("gap", time_us);
        body.set(Column::Detail, Value::Text(detail));
        body
    }
}

/// A text of at most so many characters. PostgreSQL has no text with a zero byte in it, so there is none
/// in any store.
pub(super) fn bounded(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit.saturating_mul(4)));
    let mut characters = text.chars();
    for character in characters.by_ref().take(limit) {
        out.push(if character == '\0' { '\u{FFFD}' } else { character });
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// The arguments for the trail; values that do not fit any more are replaced by their size.
fn shown(view: &str, limit: usize) -> String {
    if view.len() <= limit {
        return view.to_owned();
    }
    let Ok(document) = Document::parse(view, &json::Limits::DEFAULT) else { return "{}".to_owned() };
    // Each name and its substitute need room too.
    let members = document.root().len();
    let room = limit / members.max(1);
    let mut out = String::from("{");
    for (name, value) in document.root().members() {
        if out.len().saturating_add(name.raw_len()).saturating_add(32) > limit {
            break;
        }
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(name.raw());
        out.push(':');
        let left = limit.saturating_sub(out.len()).saturating_sub(1);
        if value.raw_len() <= room.min(left) {
            out.push_str(value.raw());
        } else {
            out.push_str("\"(");
            push_integer(&mut out, value.raw_len());
            out.push_str(" bytes)\"");
        }
    }
    out.push('}');
    out
}

fn policies(decision: &Decision, limit: usize) -> String {
    let mut out = String::from("[");
    let mut left_out = 0_usize;
    for policy in decision.policies() {
        let before = out.len();
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, &bounded(policy, limit));
        if out.len().saturating_add(16) > limit {
            out.truncate(before);
            left_out += 1;
        }
    }
    if left_out > 0 {
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, &format!("(+{left_out})"));
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use super::{bounded, policies, shown};
    use callgate_core::port::Decision;
    use callgate_protocol::json::{Document, Limits};

    #[test]
    fn texts_are_cut_at_a_character_and_hold_no_zero() {
        assert_eq!(bounded("äöü", 2), "äö…");
        assert_eq!(bounded("a\0b", 9), "a\u{FFFD}b");
        assert_eq!(bounded("abc", 3), "abc");
    }

    #[test]
    fn arguments_that_are_too_large_are_named_with_their_size() {
        let view = format!(r#"{{"a":"{}","b":[1.0,2],"c":true}}"#, "x".repeat(5000));
        let kept = shown(&view, 4096);
        assert_eq!(kept, r#"{"a":"(5002 bytes)","b":[1.0,2],"c":true}"#);
        let many: Vec<String> = (0..500).map(|n| format!(r#""n{n}":"{}""#, "y".repeat(100))).collect();
        let kept = shown(&format!("{{{}}}", many.join(",")), 4096);
        assert!(kept.len() <= 4096, "{}", kept.len());
        assert!(Document::parse(kept, &Limits::DEFAULT).is_ok());
    }

    #[test]
    fn a_long_list_of_policies_is_cut_and_counted() {
        let policies_of =
            |n: usize| Decision::Permit { policies: (0..n).map(|n| format!("policy-{n}")).collect() };
        assert_eq!(policies(&policies_of(2), 100), r#"["policy-0","policy-1"]"#);
        let text = policies(&policies_of(100), 100);
        assert!(text.len() <= 112 && text.ends_with(")\"]"), "{text}");
    }
}
