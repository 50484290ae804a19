//! What a tool says that changes something: how a repeated call is recognised, who finds out what became of a lost
//! one, and what a person sees who is asked.
//!
//! What must be said is decided by the contract. The tool is the caller.

use schemars::JsonSchema;

use crate::config::finding::Finding;
use crate::config::located::Located;
use crate::config::reader::Table;

/// How a repeated call is recognised.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct IdempotencyTable {
    /// Where the key of a call is: `request` for `_meta["dev.callgate/idempotencyKey"]`, `argument` for an input, `input`
    /// where equal arguments are one call.
    #[schemars(required, with = "Option<KeyWord>")]
    pub key: Option<Located<Key>>,
    /// The input that carries the key: a required string.
    pub argument: Option<Located<String>>,
    /// Whose calls share keys. Default: `principal`.
    #[schemars(with = "Option<ScopeWord>")]
    pub scope: Option<Located<Sharing>>,
    /// For how many seconds a repeated call is recognised. Default: 86,400.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub retention_s: Option<Located<u64>>,
}

/// Where the key of a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// In the request.
    Request,
    /// In an argument.
    Argument,
    /// The arguments as a whole are the key.
    Input,
}

/// Whose calls share keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each principal has its own.
    Principal,
    /// All principals of a tenant share theirs.
    Tenant,
}

/// Who finds out what became of a lost call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The backend, which keeps the key with the effect.
    Backend,
    /// A person, who looks at the backend.
    Person,
}

const KEYS: &[(&str, Key)] = &[("request", Key::Request), ("argument", Key::Argument), ("input", Key::Input)];
const SHARING: &[(&str, Sharing)] = &[("principal", Sharing::Principal), ("tenant", Sharing::Tenant)];
const UNKNOWN: &[(&str, Unknown)] = &[("backend", Unknown::Backend), ("person", Unknown::Person)];

impl IdempotencyTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        if table.value("key").is_none() {
            table.missing("key", "\"request\"");
        }
        let idempotency = Self {
            key: table.choice("key", KEYS),
            argument: table.string("argument"),
            scope: table.choice("scope", SHARING),
            retention_s: table.integer("retention_s", 1..=31_536_000),
        };
        let is_argument = idempotency.key.as_ref().map(|key| **key == Key::Argument);
        let (place, message, remedy) = match (is_argument, &idempotency.argument) {
            (Some(true), None) => (
                table.span(),
                format!("{} does not say which argument the key is in", table.name()),
                "add `argument` with the name of a required string of the input",
            ),
            (Some(false), Some(argument)) => (
                argument.place().span(),
                format!("{} names an argument, and the key is not in one", table.name()),
                "remove it, or write `key = \"argument\"`",
            ),
            _ => {
                table.finish();
                return idempotency;
            }
        };
        table.reading().report(place, Finding::error("conflicting_keys", message, remedy));
        table.finish();
        idempotency
    }
}

pub(super) fn unknown(table: &mut Table<'_, '_>) -> Option<Located<Unknown>> {
    table.choice("unknown", UNKNOWN)
}

/// Stands for the words of `key` in the generated schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum KeyWord {
    /// In `_meta["dev.callgate/idempotencyKey"]` of the request.
    Request,
    /// In an argument.
    Argument,
    /// Equal arguments are one call.
    Input,
}

/// Stands for the words of `scope` in the generated schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum ScopeWord {
    /// Each principal has its own keys.
    Principal,
    /// All principals of a tenant share their keys.
    Tenant,
}

/// Stands for the words of `unknown` in the generated schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum UnknownWord {
    /// The backend keeps the key with the effect.
    Backend,
    /// A person looks at the backend.
    Person,
}
