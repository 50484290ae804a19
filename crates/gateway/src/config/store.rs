//! `[store]`: where the gate keeps what it must not forget: the ledger of effects, and what other parts share.
//!
//! A tool that changes something needs it. Its tables are made by `callgate migrate`, never in secret. The loader
//! reads the table; the gate opens the store once, at its start.

use schemars::JsonSchema;

use super::audit::{DURABILITY, Durability};
use super::finding::Finding;
use super::located::Located;
use super::reader::Table;
use super::source::{ConnectionUrl, read_url};

/// Where the gate keeps what it must not forget: in a SQLite file, or in a PostgreSQL database that several
/// instances share. `callgate migrate` makes its tables. Takes effect when the server starts.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StoreTable {
    /// `sqlite` or `postgres`.
    #[schemars(required)]
    pub kind: Option<Located<StoreKind>>,
    /// With `sqlite`: a file of its own, relative to the directory of `callgate.toml`.
    pub path: Option<Located<String>>,
    /// With `postgres`: the database. A URL with a password comes from the environment or a file.
    pub url: Option<Located<ConnectionUrl>>,
    /// What an answer means for what was written. With `normal` the loss of power may let an effect happen
    /// twice. Default: `full`.
    pub durability: Option<Located<Durability>>,
    /// With `postgres`: how many connections are open at most. Default: 8.
    #[schemars(range(min = 1, max = 256))]
    pub connections: Option<Located<u64>>,
    /// How many effects the ledger holds at most; beyond it calls that change something are refused. Default:
    /// 1,000,000.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_effects: Option<Located<u64>>,
    /// How large a result may be that a repeated call gets again, in bytes. Default: 65,536.
    #[schemars(range(min = 0, max = 16_777_216))]
    pub max_result_bytes: Option<Located<u64>>,
    /// After which silence of an instance, in milliseconds, nobody knows any more how its calls ended. Default:
    /// 15,000.
    #[schemars(range(min = 1_000, max = 3_600_000))]
    pub lost_after_ms: Option<Located<u64>>,
    /// The place of the table.
    #[schemars(skip)]
    pub(crate) place: super::Place,
}

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum StoreKind {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
}

const KINDS: &[(&str, StoreKind)] = &[("sqlite", StoreKind::Sqlite), ("postgres", StoreKind::Postgres)];

impl StoreTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        if table.value("kind").is_none() {
            table.missing("kind", "\"sqlite\"");
        }
        let kind = table.choice("kind", KINDS);
        let (path, url) = match kind.as_deref() {
            Some(StoreKind::Sqlite) => {
                misplaced(&mut table, "url", "sqlite", "path");
                (table.required_string("path", "\"store.db\""), None)
            }
            Some(StoreKind::Postgres) => {
                misplaced(&mut table, "path", "postgres", "url");
                (None, read_url(&mut table))
            }
            None => {
                // Which of them belongs there is not known.
                let _ = (table.value("path"), table.value("url"));
                (None, None)
            }
        };
        let store = Self {
            kind,
            path,
            url,
            durability: table.choice("durability", DURABILITY),
            connections: table.integer("connections", 1..=256),
            max_effects: table.integer("max_effects", 1..=1_000_000_000),
            max_result_bytes: table.integer("max_result_bytes", 0..=16_777_216),
            lost_after_ms: table.integer("lost_after_ms", 1_000..=3_600_000),
            place: table.reading().place(table.span()),
        };
        table.finish();
        store
    }

    /// Whether two tables say the same, wherever they stand.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        fn value<T>(place: &Option<Located<T>>) -> Option<&T> {
            place.as_ref().map(|located| &**located)
        }
        value(&self.kind) == value(&other.kind)
            && value(&self.path) == value(&other.path)
            && value(&self.url) == value(&other.url)
            && value(&self.durability) == value(&other.durability)
            && value(&self.connections) == value(&other.connections)
            && value(&self.max_effects) == value(&other.max_effects)
            && value(&self.max_result_bytes) == value(&other.max_result_bytes)
            && value(&self.lost_after_ms) == value(&other.lost_after_ms)
    }
}

/// A key of the other kind.
fn misplaced(table: &mut Table<'_, '_>, key: &'static str, kind: &str, wanted: &str) {
    let Some(value) = table.value(key) else { return };
    let message = format!("a store of kind `{kind}` has no `{key}`");
    let finding = Finding::error("store_place", message, format!("write `{wanted}`, or change `kind`"));
    table.reading().report(value.span(), finding);
}
