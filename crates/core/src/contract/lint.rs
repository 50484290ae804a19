//! What a machine can judge of a tool definition before a model meets it.
//!
//! An error makes a tool unfit to serve; a warning costs wrong choices, unbounded work or misread
//! results. Lint must never judge by annotations, and never shows a value that looks like a secret.
//! `callgate check`, the configuration loader and the server's builder call [`lint`].

mod description;
mod input;
mod output;
mod recorded;
mod text;
mod words;

use std::fmt;

use callgate_protocol::json::Document;

use super::definition::Definition;
use crate::limits::Limits;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The tool is served, and will be used worse than it could be.
    Warning,
    /// The tool is not served.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One finding, with its place and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The stable name of the rule.
    pub rule: &'static str,
    /// The member of the definition: `name`, `description`, `inputSchema`, `outputSchema`.
    pub member: &'static str,
    /// The place inside the member as a JSON pointer; empty for the member itself.
    pub pointer: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    fn new(
        severity: Severity,
        rule: &'static str,
        member: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            rule,
            member,
            pointer: String::new(),
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    fn at(mut self, pointer: &str) -> Self {
        pointer.clone_into(&mut self.pointer);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, rule, member, pointer, message, remedy } = self;
        write!(f, "{severity}[{rule}] {member}{pointer}: {message}; {remedy}")
    }
}

/// Judges a definition. Schemas that do not parse are left to [`Contract::new`](super::Contract::new),
/// which names their faults.
#[must_use]
pub fn lint(definition: &Definition, limits: &Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    description::judge_name(definition, &mut findings);
    description::judge(definition, &mut findings);
    let texts = [("title", &definition.title), ("description", &definition.description)];
    for (member, written) in texts {
        text::judge(member, "", written.as_deref().unwrap_or_default(), &mut findings);
    }
    let bounds = limits.message;
    if let Ok(schema) = Document::parse(definition.input_schema.as_str(), &bounds) {
        input::judge(schema.root(), limits, &mut findings);
        recorded::judge(definition, schema.root(), &mut findings);
        text::judge_schema("inputSchema", schema.root(), &mut findings);
    }
    match definition.output_schema.as_deref().map(|text| Document::parse(text, &bounds)) {
        Some(Ok(schema)) => {
            output::judge(schema.root(), &mut findings);
            text::judge_schema("outputSchema", schema.root(), &mut findings);
        }
        Some(Err(_)) => {}
        None => findings.push(Finding::new(
            Severity::Warning,
            "output-undeclared",
            "outputSchema",
            "the shape of the result is not declared",
            "declare an output schema, so that results are checked before they leave",
        )),
    }
    findings
}

/// Judges a text that reaches a model and belongs to no tool, such as the instructions of a server.
#[must_use]
pub fn lint_text(member: &'static str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    text::judge(member, "", text, &mut findings);
    findings
}

/// The names of all rules with their severity, for the manual.
pub const RULES: &[(&str, Severity, &str)] = &[
    ("name-vague", Severity::Warning, "the name does not say which business action the tool carries out"),
    ("name-effect", Severity::Warning, "the name promises another effect than the declared one"),
    ("description-missing", Severity::Warning, "there is no description"),
    ("description-short", Severity::Warning, "the description is too short to choose by"),
    ("description-when-not", Severity::Warning, "the description does not say when not to use the tool"),
    (
        "description-tutorial",
        Severity::Warning,
        "the description is a tutorial and costs tokens with every request",
    ),
    ("description-instruction", Severity::Warning, "the description gives orders to the model"),
    ("text-credential", Severity::Error, "a text that reaches a model holds something like a credential"),
    ("text-hidden", Severity::Error, "a text that reaches a model holds characters that people cannot see"),
    ("input-identity", Severity::Error, "an argument claims what must come from the principal or the policy"),
    ("input-credential", Severity::Error, "an argument asks the model for a credential"),
    (
        "recorded-unknown",
        Severity::Error,
        "a name that is to be recorded in the audit trail is no argument of the tool",
    ),
    (
        "recorded-secret",
        Severity::Error,
        "an argument that sounds like a secret would stand in the audit trail",
    ),
    ("input-open", Severity::Warning, "the input accepts members that it does not declare"),
    ("input-undescribed", Severity::Warning, "an argument has no description"),
    ("input-unbounded-string", Severity::Warning, "a string has no bound on its length"),
    ("input-unbounded-array", Severity::Warning, "an array has no bound on its items"),
    ("input-unbounded-number", Severity::Warning, "a number has no bounds"),
    ("input-default", Severity::Warning, "a default does not fit its own schema"),
    ("header-secret", Severity::Warning, "a secret would be mirrored into a header"),
    ("header-personal", Severity::Warning, "personal data would be mirrored into a header"),
    ("output-undeclared", Severity::Warning, "the shape of the result is not declared"),
    ("output-money", Severity::Warning, "an amount of money is not an integer in minor units"),
    ("output-time", Severity::Warning, "a point in time has no format that fixes its zone"),
    ("output-internal", Severity::Warning, "a result member looks like an internal field"),
];

#[cfg(test)]
mod tests;
