//! A tool that is one operation of a repository: its projects, and the contract that the operation brings.
//!
//! Input and output are those of the operation; the file only narrows them. The judge of tools calls it.

use std::sync::Arc;

use callgate_adapters::repository::Repository;
use callgate_core::snapshot::Tool as GateTool;

use super::{Judge, Judged};
use crate::build::contract::{Origins, compile};
use crate::config::{Effect, Finding, Located, Operation, OperationKind, Source, Tool, listed, meant};
use crate::repository_tool::{Plan, ReadTool, SearchTool, schemas};

/// Matches of a page where nothing is said: a model reads them all.
const MAX_MATCHES: usize = 100;
/// Lines of a reading where nothing is said.
const MAX_LINES: usize = 1000;

impl Judge<'_> {
    /// Judges a tool that is one operation.
    pub(super) fn operation(
        &self,
        tool: &Tool,
        operation: &Operation,
        repository: Option<Arc<Repository>>,
        judged: &mut Judged,
    ) {
        check_reads(tool, &mut judged.findings);
        let projects = self.projects(tool, operation, &mut judged.findings);
        let (Some(kind), Some(repository)) = (&operation.operation, repository) else { return };
        let rows = match **kind {
            OperationKind::Search => MAX_MATCHES,
            OperationKind::Read => MAX_LINES,
        };
        let (max_rows, max_bytes) = self.bounds(tool, rows);
        let is_listed = operation.list_projects.as_ref().is_none_or(|listed| **listed);
        let project = schemas::project(&projects, is_listed);
        let (input, output, title, description) = match **kind {
            OperationKind::Search => (
                schemas::search_input(&project),
                schemas::search_output(max_rows),
                schemas::SEARCH_TITLE,
                schemas::SEARCH_DESCRIPTION,
            ),
            OperationKind::Read => (
                schemas::read_input(&project),
                schemas::read_output(),
                schemas::READ_TITLE,
                schemas::READ_DESCRIPTION,
            ),
        };
        let mut definition = self.definition(tool, &input, output, max_bytes);
        definition.title.get_or_insert_with(|| title.to_owned());
        definition.description.get_or_insert_with(|| description.to_owned());
        definition.recorded = vec!["project".to_owned()];
        // The debug form of texts quotes and escapes them, so that no two implementations share one.
        definition.implementation = Some(format!("{:?} {:?} {projects:?}", **kind, self.place_of_data(tool)));
        let origins = Origins { tool, schemas: None };
        let contract = compile(&definition, &origins, self.gate, &mut judged.findings);
        let Some(contract) = contract.filter(|_| !judged.has_errors()) else { return };
        let plan = Plan {
            repository,
            projects,
            max_rows,
            max_bytes,
            cursor_lifetime: self.cursor_lifetime(),
            seals: Arc::clone(self.seals),
        };
        judged.tool = Some(match **kind {
            OperationKind::Search => GateTool::new(contract, SearchTool(plan)),
            OperationKind::Read => GateTool::new(contract, ReadTool(plan)),
        });
    }

    /// The projects that the tool may be used on, in the order of the source.
    fn projects(&self, tool: &Tool, operation: &Operation, findings: &mut Vec<Finding>) -> Vec<String> {
        let source = tool.source.as_ref().and_then(|name| self.config.source(name.as_str()));
        let Some(Source::Repository(source)) = source else { return Vec::new() };
        let all: Vec<&str> = source.projects.iter().map(|(name, _)| name.as_str()).collect();
        let Some(chosen) = &operation.projects else {
            return all.into_iter().map(ToOwned::to_owned).collect();
        };
        for name in chosen.iter().filter(|name| !all.contains(&name.as_str())) {
            let message = format!("the source has no project `{}`{}", name.as_str(), meant(name, &all));
            let remedy = format!("use some of {}", listed(&all));
            findings.push(Finding::error("unknown_project", message, remedy).at(name.place().clone()));
        }
        if chosen.is_empty() {
            let finding = Finding::error(
                "empty_value",
                format!("[tool.{}] may be used on no project", tool.name.as_str()),
                format!("remove `projects` to allow all, or use some of {}", listed(&all)),
            );
            findings.push(finding.at(chosen.place().clone()));
        }
        let is_chosen = |name: &&str| chosen.iter().any(|other| other.as_str() == *name);
        all.into_iter().filter(is_chosen).map(ToOwned::to_owned).collect()
    }
}

/// An operation of a repository only reads.
fn check_reads(tool: &Tool, findings: &mut Vec<Finding>) {
    let Some(effect) = tool.effect.as_ref().filter(|effect| ***effect != Effect::Read) else { return };
    // What changes something was reported already.
    if **effect <= Effect::Preview {
        let message = "an operation of a repository reads and does nothing else";
        let finding = Finding::error("wrong_effect", message, "write `effect = \"read\"`");
        findings.push(finding.at(Located::place(effect).clone()));
    }
}
