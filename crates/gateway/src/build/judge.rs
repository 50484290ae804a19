//! One tool of the file: what all kinds of tools have in common, and on to the kind that it is.
//!
//! Everything that can be found is found, also when something else is wrong; only then nothing is
//! built. Each kind of work has a file of its own below. The build step calls it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::repository::Repository;
use callgate_core::contract::{
    Definition, Effect as CoreEffect, Idempotency, KeyScope, KeySource, Resolution,
};
use callgate_core::limits::Limits as GateLimits;
use callgate_core::snapshot::Tool as GateTool;

use super::sources::http::Remote;
use super::sources::{Database, Ready};
use super::{Opened, limits, output_bytes};
use crate::config::{
    Config, Effect, Finding, IdempotencyTable, Key, Limits, LimitsTable, Located, Severity, Sharing, Source,
    Tool, Unknown, Work, listed, meant,
};
use crate::cursor::Seals;
use crate::files::FileState;

mod operation;
mod query;
mod request;
mod write;

/// Rows of a result where nothing is said.
const MAX_ROWS: usize = 1000;
/// Bytes of the rows of a result where nothing is said.
const MAX_BYTES: usize = 256 << 10;
/// How long a cursor stays valid where nothing is said, in seconds.
const CURSOR_LIFETIME_S: u64 = 3600;

/// What a tool is judged by.
pub(super) struct Judge<'j> {
    pub(super) config: &'j Config,
    pub(super) directory: &'j Path,
    pub(super) limits: &'j Limits,
    pub(super) gate: &'j GateLimits,
    pub(super) opened: &'j Opened,
    pub(super) seals: &'j Arc<Seals>,
}

/// What came of a tool.
#[derive(Default)]
pub(super) struct Judged {
    pub(super) tool: Option<GateTool>,
    pub(super) findings: Vec<Finding>,
    pub(super) files: Vec<FileState>,
}

impl Judged {
    fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

impl Judge<'_> {
    pub(super) async fn tool(&self, tool: &Tool) -> Judged {
        let mut judged = Judged::default();
        self.check_effect(tool, &mut judged.findings);
        let ready = self.source(tool, &mut judged.findings);
        match &tool.work {
            Work::Query(query) => {
                let database = ready.and_then(|ready| database(tool, ready, &mut judged.findings));
                self.query(tool, query, database, &mut judged).await;
            }
            Work::Write(write) => {
                let database = ready.and_then(|ready| database(tool, ready, &mut judged.findings));
                self.write(tool, write, database, &mut judged).await;
            }
            Work::Operation(operation) => {
                let repository = ready.and_then(|ready| repository(tool, ready, &mut judged.findings));
                self.operation(tool, operation, repository, &mut judged);
            }
            Work::Request(request) => {
                let remote = ready.and_then(|ready| remote(tool, ready, &mut judged.findings));
                self.request(tool, request, remote, &mut judged);
            }
        }
        judged
    }

    fn check_effect(&self, tool: &Tool, findings: &mut Vec<Finding>) {
        let Some(effect) = &tool.effect else { return };
        if **effect > Effect::Preview && !changes(tool) {
            findings.push(
                Finding::error(
                    "effect_not_served",
                    "queries and operations only read; what changes something is a list of statements or a request",
                    "write `statements` instead of `sql`, or declare what only reads with the effect `read`, `external_read` or `preview`",
                )
                .at(effect.place().clone()),
            );
        }
    }

    fn source(&self, tool: &Tool, findings: &mut Vec<Finding>) -> Option<Ready> {
        let name = tool.source.as_ref()?;
        if let Some(opened) = self.opened.get(name.as_str()) {
            return opened.clone();
        }
        // A source whose table has an error was reported there.
        let written: Vec<&str> = self.opened.keys().map(String::as_str).collect();
        let remedy = match written.is_empty() {
            true => format!("add a table `[source.{}]`", name.as_str()),
            false => format!("use one of {}, or add a table `[source.{}]`", listed(&written), name.as_str()),
        };
        findings.push(
            Finding::error(
                "unknown_source",
                format!("there is no source `{}`{}", name.as_str(), meant(name, &written)),
                remedy,
            )
            .at(name.place().clone()),
        );
        None
    }

    /// How many rows and bytes a result may have.
    fn bounds(&self, tool: &Tool, rows: usize) -> (usize, usize) {
        let number = |own: &Option<Located<u64>>, general: fn(&LimitsTable) -> Option<&Located<u64>>| {
            let general = self.config.limits.as_ref().and_then(general);
            own.as_ref().or(general).and_then(|number| usize::try_from(**number).ok())
        };
        (
            number(&tool.max_rows, |table| table.max_rows.as_ref()).unwrap_or(rows),
            number(&tool.max_bytes, |table| table.max_bytes.as_ref()).unwrap_or(MAX_BYTES),
        )
    }

    fn cursor_lifetime(&self) -> Duration {
        let lifetime = self.config.limits.as_ref().and_then(|table| table.cursor_lifetime_s.as_ref());
        Duration::from_secs(lifetime.map_or(CURSOR_LIFETIME_S, |seconds| **seconds))
    }

    /// What every kind of tool says in the same way.
    fn definition(&self, tool: &Tool, input: &str, output: String, max_bytes: usize) -> Definition {
        // What a query or an operation may not declare was reported.
        let served = changes(tool);
        let effect = match tool
            .effect
            .as_ref()
            .map(|effect| **effect)
            .filter(|effect| served || *effect <= Effect::Preview)
        {
            Some(Effect::ExternalRead) => CoreEffect::ExternalRead,
            Some(Effect::Preview) => CoreEffect::Preview,
            Some(Effect::Append) => CoreEffect::Append,
            Some(Effect::Update) => CoreEffect::Update,
            Some(Effect::Destructive) => CoreEffect::Destructive,
            // A missing effect is an error already; nothing is built then.
            Some(Effect::Read) | None => CoreEffect::Read,
        };
        let mut definition = Definition::new(tool.name.as_str(), effect, input);
        let text = |text: &Option<Located<String>>| text.as_ref().map(|text| text.trim().to_owned());
        definition.title = text(&tool.title);
        definition.description = text(&tool.description);
        definition.output_schema = Some(output);
        definition.timeout = tool.timeout_ms.as_ref().map(|timeout| Duration::from_millis(**timeout));
        definition.output_bytes = Some(output_bytes(max_bytes));
        (definition.allowance, definition.allowance_of_caller) = limits::of_tool(tool.limits.as_ref());
        let scopes = tool.scopes.iter().flat_map(|scopes| scopes.iter());
        definition.scopes = scopes.map(|scope| scope.to_string()).collect();
        let labels = tool.labels.iter().flat_map(|labels| labels.iter());
        definition.labels = labels.map(|label| label.to_string()).collect();
        definition.idempotency = tool.idempotency.as_ref().map(idempotency);
        definition.resolution = tool.unknown.as_ref().map(|unknown| match **unknown {
            Unknown::Backend => Resolution::Backend,
            Unknown::Person => Resolution::Person,
        });
        // The key stands beside the data that the statements change.
        let is_effect = tool.effect.as_ref().is_some_and(|effect| **effect > Effect::Preview);
        if matches!(tool.work, Work::Write(_)) && is_effect {
            definition.resolution.get_or_insert(Resolution::Backend);
        }
        let confirmed = tool.confirm.iter().flat_map(|names| names.iter());
        definition.confirmed = confirmed.map(|name| name.to_string()).collect();
        let recorded = tool.recorded.iter().flat_map(|names| names.iter());
        definition.recorded = recorded.map(|name| name.to_string()).collect();
        definition
    }

    /// The source of a tool and where its data is: a cursor goes on with one question to one store.
    fn place_of_data(&self, tool: &Tool) -> Option<(String, String)> {
        tool.source.as_ref().map(|name| {
            let place = self.config.source(name.as_str()).map(Source::place_of_data).unwrap_or_default();
            (name.to_string(), place)
        })
    }
}

/// Whether a tool does something that can change anything.
fn changes(tool: &Tool) -> bool {
    matches!(tool.work, Work::Request(_) | Work::Write(_))
}

/// How a repeated call is recognised. With an error in the table nothing is built, so that any key will do.
fn idempotency(table: &IdempotencyTable) -> Idempotency {
    let key = match (table.key.as_ref().map(|key| **key), &table.argument) {
        (Some(Key::Request), _) => KeySource::Request,
        (Some(Key::Argument), Some(argument)) => KeySource::Argument(argument.to_string()),
        (Some(Key::Input | Key::Argument) | None, _) => KeySource::Input,
    };
    let mut idempotency = Idempotency::new(key);
    if table.scope.as_ref().is_some_and(|scope| **scope == Sharing::Tenant) {
        idempotency = idempotency.with_scope(KeyScope::Tenant);
    }
    if let Some(seconds) = &table.retention_s {
        idempotency = idempotency.with_retention(Duration::from_secs(**seconds));
    }
    idempotency
}

/// The store of a tool that is a query.
fn database(tool: &Tool, ready: Ready, findings: &mut Vec<Finding>) -> Option<Database> {
    match ready {
        Ready::Database(database) => Some(database),
        Ready::Repository(_) => {
            let remedy = "write `operation = \"search\"` or `operation = \"read\"` instead of `sql`, or name a database";
            findings.push(wrong_kind(tool, "is a repository, which answers no query", remedy));
            None
        }
        Ready::Remote(_) => {
            let remedy = "write a table `request` instead of `sql`, or name a database";
            findings.push(wrong_kind(tool, "is a service, which answers no query", remedy));
            None
        }
    }
}

/// The directories of a tool that is an operation.
fn repository(tool: &Tool, ready: Ready, findings: &mut Vec<Finding>) -> Option<Arc<Repository>> {
    match ready {
        Ready::Repository(repository) => Some(repository),
        Ready::Database(_) => {
            let remedy =
                "write a query under `sql` instead of `operation`, or name a source of kind `repository`";
            findings.push(wrong_kind(tool, "is a database, which has no operations", remedy));
            None
        }
        Ready::Remote(_) => {
            let remedy =
                "write a table `request` instead of `operation`, or name a source of kind `repository`";
            findings.push(wrong_kind(tool, "is a service, which has no operations", remedy));
            None
        }
    }
}

/// The service of a tool that is a request.
fn remote(tool: &Tool, ready: Ready, findings: &mut Vec<Finding>) -> Option<Remote> {
    let (is, remedy) = match ready {
        Ready::Remote(remote) => return Some(remote),
        Ready::Database(_) => (
            "is a database, which takes no request",
            "write a query under `sql` instead, or name a source of kind `http`",
        ),
        Ready::Repository(_) => (
            "is a repository, which takes no request",
            "write `operation` instead, or name a source of kind `http`",
        ),
    };
    findings.push(wrong_kind(tool, is, remedy));
    None
}

fn wrong_kind(tool: &Tool, is: &str, remedy: &str) -> Finding {
    let name = tool.source.as_ref();
    let message = format!("the source `{}` {is}", name.map(|name| name.as_str()).unwrap_or_default());
    let place = name.map_or(tool.name.place(), Located::place);
    Finding::error("source_kind", message, remedy).at(place.clone())
}
