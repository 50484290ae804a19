//! From a configuration to tools that can be served, or to everything that is wrong with it.
//!
//! Here the sources are opened, the statements judged by their stores, the schemas compiled and the
//! definitions linted. A tool with an error is not built; the configuration as a whole is then refused
//! by whoever asked. The loader calls it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use callgate_core::contract::lint::lint_text;
use callgate_core::limits::Limits as GateLimits;
use callgate_core::snapshot::Tool as GateTool;
use callgate_server::Tls;
use futures_util::StreamExt as _;

use crate::callers::Settings;
use crate::config::{Config, Effect, Finding, Limits};
use crate::cursor::Seals;
use crate::files::FileState;

pub(crate) mod auth;
mod columns;
mod contract;
mod judge;
mod limits;
pub(crate) mod seal;
mod shapes;
mod sources;

pub(crate) use limits::into_server;

use judge::Judge;
use sources::Opened;

pub(crate) use sources::{postgres_options, read_url, sqlite_options, unreachable};

/// How many tools are judged at once: each asks its store a few questions.
const AT_ONCE: usize = 8;

/// What a configuration gave.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) tools: Vec<Arc<GateTool>>,
    pub(crate) findings: Vec<Finding>,
    /// What the file says of callers.
    pub(crate) settings: Settings,
    /// The certificate with which TLS is ended.
    pub(crate) tls: Option<Tls>,
    /// The files besides the configuration whose change changes the result.
    pub(crate) files: Vec<FileState>,
}

/// Builds every tool of a configuration.
pub(crate) async fn build(config: &Config, directory: &Path, limits: &Limits, seals: &Arc<Seals>) -> Built {
    let mut built = Built::default();
    let opened = sources::open(config, directory, &mut built).await;
    auth::build(config, directory, &mut built);
    let gate = gate_limits(config);
    limits::check(config, &gate, &mut built.findings);
    check_names(config, &mut built.findings);
    check_sources(config, &mut built.findings);
    check_server(config, &mut built.findings);
    check_store(config, &mut built.findings);
    let judge = Judge { config, directory, limits, gate: &gate, opened: &opened, seals };
    let judged: Vec<_> = futures_util::stream::iter(&config.tool)
        .map(|tool| judge.tool(tool))
        .buffered(AT_ONCE)
        .collect()
        .await;
    for judged in judged {
        built.findings.extend(judged.findings);
        built.files.extend(judged.files);
        built.tools.extend(judged.tool.map(Arc::new));
    }
    built
}

/// The bytes of a result with so many bytes of rows: around them stand the cursor and its key.
pub(crate) fn output_bytes(max_bytes: usize) -> usize {
    max_bytes.saturating_add(128 << 10)
}

/// The bounds of the gate that a configuration asks for.
pub(crate) fn gate_limits(config: &Config) -> GateLimits {
    let mut gate = GateLimits::default();
    // The largest result of any tool must be one message.
    let messages = config.tool.iter().filter(|tool| !tool.is_file());
    let own = messages.filter_map(|tool| tool.max_bytes.as_ref());
    let general = config.limits.as_ref().and_then(|table| table.max_bytes.as_ref());
    let largest = own.chain(general).filter_map(|bytes| usize::try_from(**bytes).ok()).max().unwrap_or(0);
    gate.message.bytes = gate.message.bytes.max(output_bytes(largest));
    gate.call_timeout_max = Duration::from_secs(3600);
    limits::into_gate(config, &mut gate);
    let Some(table) = &config.limits else { return gate };
    if let Some(timeout) = &table.timeout_ms {
        gate.call_timeout = Duration::from_millis(**timeout);
    }
    gate
}

/// Names that differ only in case are one name for a reader and two for the protocol.
fn check_names(config: &Config, findings: &mut Vec<Finding>) {
    for (index, tool) in config.tool.iter().enumerate() {
        let same = |other: &&crate::config::Tool| other.name.eq_ignore_ascii_case(&tool.name);
        if let Some(first) = config.tool.iter().take(index).find(same) {
            findings.push(
                Finding::error(
                    "similar_name",
                    format!("`{}` and `{}` differ in case only", tool.name.as_str(), first.name.as_str()),
                    "rename one of them; a model cannot tell them apart",
                )
                .at(tool.name.place().clone()),
            );
        }
    }
}

/// The texts of the server itself reach a model as those of its tools do.
fn check_server(config: &Config, findings: &mut Vec<Finding>) {
    let Some(server) = &config.server else { return };
    let texts = [("name", &server.name), ("title", &server.title), ("instructions", &server.instructions)];
    for (member, text) in texts {
        let Some(text) = text else { continue };
        for found in lint_text(member, text.as_str()) {
            findings.push(Finding::error(found.rule, found.message, found.remedy).at(text.place().clone()));
        }
    }
}

/// An effect that nothing keeps would happen again when its call is repeated.
fn check_store(config: &Config, findings: &mut Vec<Finding>) {
    if config.store.is_some() {
        return;
    }
    for tool in &config.tool {
        let Some(effect) = tool.effect.as_ref().filter(|effect| ***effect > Effect::Preview) else {
            continue;
        };
        let message = format!("`{}` changes something, and the file has no [store]", tool.name.as_str());
        let remedy = "add `[store]` with `kind = \"sqlite\"` and `path = \"store.db\"`, and run `callgate migrate`: \
                      without a ledger a repeated call would be done twice";
        findings.push(Finding::error("no_store", message, remedy).at(effect.place().clone()));
    }
}

/// A source without a tool is reached at each load for nothing; often its tool names another one.
fn check_sources(config: &Config, findings: &mut Vec<Finding>) {
    for (name, _) in &config.source {
        let used = |tool: &crate::config::Tool| tool.source.as_ref().is_some_and(|source| **source == **name);
        if !config.tool.iter().any(used) {
            let message = format!("no tool uses the source `{}`", name.as_str());
            let finding = Finding::warning("unused_source", message, "remove it, or name it in a tool");
            findings.push(finding.at(name.place().clone()));
        }
    }
}
