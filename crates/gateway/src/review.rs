//! The policies of a file outside of a server: explained, tested, and their schema.
//!
//! It judges by the same policies and the same code as the gate, and runs no tool. Only tools of the file
//! are known here; tools of Rust are not. The command line is the caller.

use std::path::Path;
use std::sync::Arc;

use callgate_adapters::cedar::{CedarPolicy, ExplainedPolicy, Explanation, PolicyCase, PolicyLimits, schema};
use callgate_adapters::oauth::Hierarchy;
use callgate_core::contract::Contract;
use callgate_core::snapshot::Catalogue;

use crate::build::auth::scopes;
use crate::check::seals;
use crate::config::{Finding, Limits, Place, Report};
use crate::load::load;
use crate::policy::Policies;

mod cases;

pub use cases::{PolicyTest, PolicyTests};

/// The policies of a file, judged with its tools.
#[derive(Debug)]
pub struct PolicyReview {
    policy: CedarPolicy,
    policies: Policies,
    catalogue: Catalogue,
    hierarchy: Hierarchy,
    required: Vec<String>,
    report: Report,
}

impl PolicyReview {
    /// Loads a file as a server does.
    ///
    /// # Errors
    /// Everything that is wrong with the file or its policies; that it has none.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Report> {
        let path = path.as_ref();
        let seals = Arc::new(seals());
        let loaded = load(path, &Limits::default(), &seals);
        if loaded.report.has_errors() {
            return Err(loaded.report);
        }
        let (hierarchy, required) = scopes::of(&loaded.config);
        let Some(policies) = loaded.policies else {
            let finding = Finding::error(
                "no_policy",
                format!(
                    "{} has no policies: local callers may read, and nothing else is permitted",
                    path.display()
                ),
                "add `[policy]` with `files = [\"policies/*.cedar\"]`",
            );
            return Err(Report::new(vec![finding]));
        };
        let catalogue = catalogue(loaded.tools)?;
        let (policy, found) = policies.judge(&catalogue, &seals.clock);
        let report = Report::new(loaded.report.findings().iter().cloned().chain(found).collect());
        match policy {
            Some(policy) => Ok(Self { policy, policies, catalogue, hierarchy, required, report }),
            None => Err(report),
        }
    }

    /// What should be better about the file.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The contract of a tool.
    ///
    /// # Errors
    /// Names that are near, or all of them.
    pub fn contract(&self, tool: &str) -> Result<&Contract, String> {
        if let Some(tool) = self.catalogue.find(tool) {
            return Ok(tool.contract());
        }
        let names: Vec<&str> = self.catalogue.tools().map(|tool| tool.contract().name().as_str()).collect();
        Err(format!(
            "there is no tool `{tool}`{}; the tools are {}",
            crate::config::meant(tool, &names),
            crate::config::listed(&names)
        ))
    }

    /// Explains a call. As at the gate, the scopes of the caller stand for what they imply, and those that the
    /// file asks of every caller are asked for with those of the tool.
    ///
    /// # Errors
    /// The caller cannot be expressed in Cedar.
    pub fn explain(&self, case: PolicyCase<'_>) -> Result<Explanation, String> {
        let mut principal = case.principal.clone();
        principal.scopes = self.hierarchy.expand(principal.scopes);
        let mut asked = PolicyCase::new(&principal, case.contract, case.arguments);
        (asked.approved, asked.at) = (case.approved, case.at);
        let mut explanation = self.policy.explain(asked)?;
        if !explanation.visible {
            // A tool that is not seen tells nothing of its scopes; those of all callers are asked for all the same.
            explanation.missing_scopes.clear();
        }
        for scope in self.required.iter().filter(|scope| !principal.has_scope(scope)) {
            if !explanation.missing_scopes.contains(scope) {
                explanation.missing_scopes.push(scope.clone());
            }
        }
        Ok(explanation)
    }

    /// Where a policy is written.
    #[must_use]
    pub fn place(&self, policy: &ExplainedPolicy) -> Option<Place> {
        self.policies.place(policy.text, policy.span.clone())
    }
}

/// The Cedar schema of the tools of a file, whether or not it has policies.
///
/// # Errors
/// Everything that is wrong with the file apart from its policies.
pub fn policy_schema(path: impl AsRef<Path>) -> Result<String, Report> {
    let loaded = load(path.as_ref(), &Limits::default(), &Arc::new(seals()));
    // Policies with faults must not keep their author from the schema that tells how to mend them.
    let is_of_policy = |finding: &Finding| {
        let file = finding.place.as_ref().map(|place| place.file().name());
        file.is_some_and(|name| name.ends_with(".cedar"))
    };
    let others: Vec<_> =
        loaded.report.findings().iter().filter(|finding| !is_of_policy(finding)).cloned().collect();
    let report = Report::new(others);
    if report.has_errors() {
        return Err(report);
    }
    Ok(schema(&catalogue(loaded.tools)?, &PolicyLimits::default()))
}

fn catalogue(tools: Vec<Arc<callgate_core::snapshot::Tool>>) -> Result<Catalogue, Report> {
    Catalogue::new(tools).map_err(|error| {
        let finding = Finding::error("similar_name", error.to_string(), "rename one of them");
        Report::new(vec![finding])
    })
}
