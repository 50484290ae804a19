//! `[audit]`: where the record of each call is kept.
//!
//! Without the table, records go to the log, which is no trail. The loader reads it; the gate opens the
//! trail once, at its start.

use schemars::JsonSchema;

use super::finding::Finding;
use super::located::Located;
use super::reader::Table;
use super::source::{ConnectionUrl, read_url};

/// Where the record of each call is kept: in a SQLite file, or in a PostgreSQL database that several
/// instances share. Takes effect when the server starts.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AuditTable {
    /// A SQLite file of its own, relative to the directory of `callgate.toml`. It is made if it is not
    /// there.
    pub path: Option<Located<String>>,
    /// A PostgreSQL database, prepared with `callgate audit init`. A URL with a password comes from the
    /// environment or a file.
    pub url: Option<Located<ConnectionUrl>>,
    /// What happens to calls while the trail cannot be written. Default: `refuse`.
    pub on_failure: Option<Located<OnFailure>>,
    /// What an answered call means for its record. Default: `full`.
    pub durability: Option<Located<Durability>>,
    /// After how many days a record is removed. Default: never.
    #[schemars(range(min = 1, max = 36_500))]
    pub retention_days: Option<Located<u64>>,
    /// Beyond which size of the store the oldest records are removed. Default: never.
    #[schemars(range(min = 1_048_576, max = 1_099_511_627_776_u64))]
    pub retention_bytes: Option<Located<u64>>,
    /// The place of the table.
    #[schemars(skip)]
    pub(crate) place: super::Place,
}

/// What happens to calls while the trail cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum OnFailure {
    /// Every call is refused.
    Refuse,
    /// Tools that change nothing go on; the hole is recorded when the trail can be written again.
    ServeReads,
}

/// What an answered call means for its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Durability {
    /// It survives the loss of power.
    Full,
    /// It survives the end of the process; the loss of power may take the last moments.
    Normal,
}

const ON_FAILURE: &[(&str, OnFailure)] =
    &[("refuse", OnFailure::Refuse), ("serve_reads", OnFailure::ServeReads)];

pub(super) const DURABILITY: &[(&str, Durability)] =
    &[("full", Durability::Full), ("normal", Durability::Normal)];

impl AuditTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let (has_path, has_url) = (table.value("path").is_some(), table.value("url").is_some());
        if has_path == has_url {
            let (message, remedy) = if has_path {
                ("[audit] has both `path` and `url`", "keep the one that the trail is in")
            } else {
                (
                    "[audit] does not say where the trail is",
                    "add a SQLite file, for example `path = \"audit.db\"`, or `url = \"env:AUDIT_URL\"`",
                )
            };
            table.reading().report(table.span(), Finding::error("audit_place", message, remedy));
        }
        let audit = Self {
            path: if has_path { table.required_string("path", "\"audit.db\"") } else { None },
            url: if has_url { read_url(&mut table) } else { None },
            on_failure: table.choice("on_failure", ON_FAILURE),
            durability: table.choice("durability", DURABILITY),
            retention_days: table.integer("retention_days", 1..=36_500),
            retention_bytes: table.integer("retention_bytes", 1_048_576..=1_099_511_627_776),
            place: table.reading().place(table.span()),
        };
        table.finish();
        audit
    }

    /// Whether two tables say the same, wherever they stand.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        fn value<T>(place: &Option<Located<T>>) -> Option<&T> {
            place.as_ref().map(|located| &**located)
        }
        value(&self.path) == value(&other.path)
            && value(&self.url) == value(&other.url)
            && value(&self.on_failure) == value(&other.on_failure)
            && value(&self.durability) == value(&other.durability)
            && value(&self.retention_days) == value(&other.retention_days)
            && value(&self.retention_bytes) == value(&other.retention_bytes)
    }
}
