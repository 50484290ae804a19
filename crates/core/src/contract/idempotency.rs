//! How a repeated call of a tool that changes something is recognised, and what is done when nobody knows
//! whether the change happened.
//!
//! A tool above `preview` must declare both: without a key a client that lost an answer cannot ask again
//! without doing it twice, and without a way to find out an unknown outcome stays unknown for ever.
//! [`super::definition`] checks it; the validate step makes the key, the ledger keeps it.

use std::time::Duration;

use callgate_protocol::json::Value;

use super::definition::DefinitionFault;
use super::digest::DigestBuilder;
use super::effect::Effect;
use crate::limits::Limits;

/// The `_meta` key of a request that carries an idempotency key.
pub const IDEMPOTENCY_KEY: &str = "dev.callgate/idempotencyKey";

/// How a repeated call is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Idempotency {
    /// Where the key stands.
    pub key: KeySource,
    /// Whose calls share keys. Default: each principal has its own.
    pub scope: KeyScope,
    /// How long a repeated call is recognised, counted from when it is known that the effect happened. Default: 24 hours.
    pub retention: Duration,
}

impl Idempotency {
    /// The key of each principal, kept for 24 hours.
    #[must_use]
    pub const fn new(key: KeySource) -> Self {
        Self { key, scope: KeyScope::Principal, retention: Duration::from_secs(24 * 60 * 60) }
    }

    /// Whose calls share keys.
    #[must_use]
    pub const fn with_scope(mut self, scope: KeyScope) -> Self {
        self.scope = scope;
        self
    }

    /// How long a repeated call is recognised.
    #[must_use]
    pub const fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }
}

/// Where the idempotency key of a call stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// In an argument at the top level: a required string.
    Argument(String),
    /// In the request, under [`IDEMPOTENCY_KEY`] in `_meta`: a string.
    Request,
    /// The arguments as a whole are the key: equal arguments are one intention.
    Input,
}

/// Whose calls share keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyScope {
    /// Each principal has its own keys.
    Principal,
    /// All principals of a tenant share their keys, and a result that is stored under one.
    Tenant,
}

impl KeyScope {
    /// The name in configuration and digests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Tenant => "tenant",
        }
    }
}

/// How an unknown outcome becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// The backend keeps the key with the effect, and tells whether it knows it.
    Backend,
    /// A person looks at the backend and says what it shows.
    Person,
}

impl Resolution {
    /// The name in configuration and digests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Person => "person",
        }
    }
}

/// Finds what a declaration lacks or has too much.
pub(super) fn check(
    effect: Effect,
    idempotency: Option<&Idempotency>,
    resolution: Option<Resolution>,
    input: Option<Value<'_>>,
    limits: &Limits,
    faults: &mut Vec<DefinitionFault>,
) {
    let changes = effect.changes_something();
    match idempotency {
        None if changes => faults.push(DefinitionFault::new(
            "idempotency",
            "the tool changes something, and nothing says how a repeated call is recognised: a caller whose \
             answer was lost could not ask again without doing it twice",
            "name an argument that carries a key, or take the key from the request, or let equal arguments be one call",
        )),
        Some(_) if !changes => faults.push(DefinitionFault::new(
            "idempotency",
            format!("a tool with the effect `{effect}` changes nothing, so no call of it has to be kept apart"),
            "remove it, or declare the effect that the tool has",
        )),
        _ => {}
    }
    match resolution {
        None if changes => faults.push(DefinitionFault::new(
            "resolution",
            "the tool changes something, and nothing says who finds out whether it did when its answer is lost",
            "say `backend` where the backend keeps the key with the effect, or `person`",
        )),
        Some(_) if !changes => faults.push(DefinitionFault::new(
            "resolution",
            format!("a tool with the effect `{effect}` changes nothing, so its outcome cannot be unknown"),
            "remove it, or declare the effect that the tool has",
        )),
        _ => {}
    }
    let Some(idempotency) = idempotency else { return };
    if idempotency.retention.is_zero() || idempotency.retention > limits.key_retention_max {
        let remedy = format!("choose at most {} hours", limits.key_retention_max.as_secs() / 3600);
        faults.push(DefinitionFault::new("idempotency", "its retention is zero or too long", remedy));
    }
    if let (KeySource::Argument(name), Some(input)) = (&idempotency.key, input) {
        check_argument(name, input, faults);
    }
}

fn check_argument(name: &str, input: Value<'_>, faults: &mut Vec<DefinitionFault>) {
    let property = input.get("properties").and_then(|properties| properties.get(name));
    let is_string =
        property.and_then(|property| property.get("type")).is_some_and(|kind| kind.is_str("string"));
    let is_required =
        input.get("required").is_some_and(|required| required.items().any(|item| item.is_str(name)));
    if !(is_string && is_required) {
        faults.push(DefinitionFault::new(
            "idempotency",
            format!("the argument `{name}` is not declared, or is not a required string"),
            "declare it in the input schema with \"type\": \"string\" and name it under \"required\"",
        ));
    }
}

/// What of a declaration belongs into the digest of the contract.
pub(super) fn digest(
    idempotency: Option<&Idempotency>,
    resolution: Option<Resolution>,
    builder: &mut DigestBuilder,
) {
    if let Some(idempotency) = idempotency {
        let (kind, name) = match &idempotency.key {
            KeySource::Argument(name) => ("argument", name.as_str()),
            KeySource::Request => ("request", ""),
            KeySource::Input => ("input", ""),
        };
        builder.field("key", kind).field("argument", name).field("keyScope", idempotency.scope.as_str());
        builder.field("retention", &idempotency.retention.as_millis().to_string());
    }
    if let Some(resolution) = resolution {
        builder.field("resolution", resolution.as_str());
    }
}
