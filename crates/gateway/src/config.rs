//! `callgate.toml`: what it may say, and reading it with every error at once.
//!
//! Reading has two parts. [`parse`] turns text into a [`Config`] and collects everything that is wrong
//! with the text itself; it touches nothing outside. What needs the sources, the SQL and the schema
//! files is checked by the build step. A configuration with an error is never served in part.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use toml::de::DeTable;

mod approval;
mod artifacts;
mod audit;
mod auth;
mod finding;
mod json;
mod keywords;
mod limits;
mod located;
mod mask;
mod policy;
mod rate;
mod reader;
mod seal;
mod secret;
mod server;
mod shape;
mod source;
mod store;
mod template;
mod text;
mod tls;
mod tool;

pub use approval::ApprovalTable;
pub use artifacts::ArtifactsTable;
pub use audit::{AuditTable, Durability, OnFailure};
pub use auth::{AuthTable, ClaimsTable, IntrospectionTable, LocalPrincipal, OAuthTable, TokenTable};
pub use finding::{Finding, Place, Report, Severity, SourceFile};
pub use json::Places;
pub use limits::Limits;
pub use located::Located;
pub use policy::PolicyTable;
pub use rate::{AddressTable, AllowanceTable, ToolLimitsTable};
pub use seal::{SealKeyTable, SealTable};
pub use secret::{HeaderText, SecretRef};
pub use server::{HttpTable, LimitsTable, ServerTable};
pub use shape::{ObjectSchema, Property, Shape};
pub use source::{
    ConnectionUrl, CredentialKind, CredentialTable, HttpSource, Kind, PostgresSource, RepositorySource, Sent,
    Source, SqliteSource,
};
pub use store::{StoreKind, StoreTable};
pub use template::{Part, Template};
pub use tls::{TlsEnd, TlsTable};
pub use tool::{
    Body, Deliver, Direction, Effect, Formulas, HeaderValue, IdempotencyTable, Key, Operation, OperationKind,
    Page, PageKey, Query, ReconcileTable, Request, RequestTable, ResponseTable, RowsTable, Sharing,
    StatementTable, Tool, Unknown, Work, Write,
};

pub(crate) use json::{nearest_place, push_toml};
pub(crate) use mask::FieldMask;
pub(crate) use reader::{Reading, Table, listed, meant, nearest};
pub(crate) use secret::is_credential_header;
pub(crate) use shape::read_file;
pub(crate) use source::bare;
pub(crate) use text::read_text;

/// Everything that a `callgate.toml` says.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, title = "callgate.toml")]
pub struct Config {
    /// What the server says about itself.
    #[schemars(required)]
    pub server: Option<ServerTable>,
    /// How the server is reached over HTTP.
    pub http: Option<HttpTable>,
    /// Who calls.
    pub auth: Option<AuthTable>,
    /// Who may do what. Without it local callers may read, and everything else waits for an approval.
    pub policy: Option<PolicyTable>,
    /// The certificate with which the server ends TLS.
    pub tls: Option<TlsTable>,
    /// Where the record of each call is kept; without it, in the log.
    pub audit: Option<AuditTable>,
    /// How much is kept of results that leave as a link.
    pub artifacts: Option<ArtifactsTable>,
    /// Where effects are kept; a tool that changes something needs it.
    pub store: Option<StoreTable>,
    /// How a call that needs an approval gets one.
    pub approval: Option<ApprovalTable>,
    /// The keys that seal state and cursors; without them a key that only this process knows.
    pub seal: Option<SealTable>,
    /// Bounds for every tool that does not set its own.
    pub limits: Option<LimitsTable>,
    /// The stores and services that tools work on, by name.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Source>>")]
    pub source: Vec<(Located<String>, Source)>,
    /// The tools, by name.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Tool>>")]
    pub tool: Vec<Tool>,
}

/// Reads the text of a configuration. A part that cannot be read is left out of the configuration and
/// is in the findings. Passwords are blotted out of the text that findings show.
#[must_use]
pub fn parse(name: &str, text: &str, limits: &Limits) -> (Config, Vec<Finding>) {
    let (document, errors) = DeTable::parse_recoverable(text);
    let reading = Reading::new(SourceFile::new(name, secret::blotted(text, document.get_ref())));
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let finding = Finding::error(
            "bad_toml",
            format!("this is not TOML: {}", error.message()),
            "correct the syntax; strings need quotes, and each key stands once",
        );
        reading.report(span, finding);
    }
    let config = Config::read(&reading, document.get_ref(), limits);
    (config, reading.into_findings())
}

impl Config {
    fn read(reading: &Reading, document: &DeTable<'_>, limits: &Limits) -> Self {
        let mut root = Table::new(reading, document, "the file", 0..0);
        if root.value("server").is_none() {
            let finding = Finding::error(
                "missing_key",
                "the file lacks the table [server]",
                "add `[server]` and under it a name, for example `name = \"billing\"`",
            );
            reading.report(0..0, finding);
        }
        let server = root.table("server", "[server]").map(ServerTable::read);
        let http = root.table("http", "[http]").map(HttpTable::read);
        let auth = root.table("auth", "[auth]").map(AuthTable::read);
        let policy = root.table("policy", "[policy]").map(PolicyTable::read);
        let tls = root.table("tls", "[tls]").map(TlsTable::read);
        let audit = root.table("audit", "[audit]").map(AuditTable::read);
        let artifacts = root.table("artifacts", "[artifacts]").map(ArtifactsTable::read);
        let store = root.table("store", "[store]").map(StoreTable::read);
        let approval = root.table("approval", "[approval]").map(ApprovalTable::read);
        let seal = root.table("seal", "[seal]").map(SealTable::read);
        let limit_table = root.table("limits", "[limits]").map(LimitsTable::read);
        let mut sources = root.named_tables("source");
        let mut tools = root.named_tables("tool");
        bound(reading, &mut sources, limits.sources, "sources");
        bound(reading, &mut tools, limits.tools, "tools");
        root.finish();
        Self {
            server,
            http,
            auth,
            policy,
            tls,
            audit,
            artifacts,
            store,
            approval,
            seal,
            limits: limit_table,
            source: sources
                .into_iter()
                .filter_map(|(name, table)| Source::read(table).map(|source| (name, source)))
                .collect(),
            tool: tools.into_iter().map(|(name, table)| Tool::read(name, table)).collect(),
        }
    }

    /// The source of that name.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.source.iter().find(|(other, _)| other.as_str() == name).map(|(_, source)| source)
    }
}

fn bound<T>(reading: &Reading, tables: &mut Vec<(Located<String>, T)>, limit: usize, what: &str) {
    if let Some((first, _)) = tables.get(limit) {
        let finding = Finding::error(
            "too_many",
            format!("the file has more than {limit} {what}"),
            "split it into several servers",
        );
        reading.report(first.place().span(), finding);
        tables.truncate(limit);
    }
}

/// The JSON Schema of `callgate.toml`, with which editors complete it.
#[must_use]
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_null));
    let schema = settings.into_generator().into_root_schema_for::<Config>();
    let schema = sorted(schema.to_value());
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// The same value with its members in the order of their names, which otherwise depends on what else is
/// linked into the binary.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(members) => {
            let members: std::collections::BTreeMap<_, _> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            serde_json::Value::Object(members.into_iter().collect())
        }
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// Takes out what says that a value may be null: TOML has no null, a key is there or not.
fn without_null(schema: &mut Schema) {
    let null = serde_json::json!({ "type": "null" });
    if let Some(serde_json::Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| *choice != null);
        if let [serde_json::Value::Object(only)] = &mut choices[..] {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (key, value) in only {
                if schema.get(&key).is_none() {
                    schema.insert(key, value);
                }
            }
        }
    }
    if let Some(serde_json::Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &mut types[..] {
            let only = only.take();
            schema.insert("type".to_owned(), only);
        }
    }
}

#[cfg(test)]
mod tests;
