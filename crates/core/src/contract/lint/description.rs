//! Rules on names and descriptions: what a model chooses by.

use super::words::{is_vague, promised_change, words};
use super::{Finding, Severity};
use crate::contract::definition::Definition;
use crate::contract::effect::Effect;

/// Shorter descriptions cannot say what, when and when not.
const SHORT: usize = 40;
/// Longer ones are manuals.
const LONG: usize = 1200;

/// Ways to say where a tool ends.
const WHEN_NOT: &[&str] =
    &[" not ", "n't ", " only ", "instead", " never ", " except ", "unless", "rather than", " without "];

/// Orders to the model, which belong to whoever runs the model and not to a tool.
const ORDERS: &[&str] = &[
    "ignore previous",
    "ignore all",
    "disregard",
    "you must always",
    "always call this",
    "before any other tool",
    "do not tell",
    "don't tell",
    "without telling",
    "system prompt",
    "<important>",
    "do not mention",
];

/// Starts of well-known credentials; the rest of the word must look random.
const CREDENTIAL_STARTS: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "ASIA",
    "xoxb-",
    "xoxp-",
    "AIza",
    "eyJ",
    "-----BEGIN",
];

pub(super) fn judge_name(definition: &Definition, findings: &mut Vec<Finding>) {
    let name = &definition.name;
    if is_vague(name) {
        findings.push(Finding::new(
            Severity::Warning,
            "name-vague",
            "name",
            format!("`{name}` does not say which business action it carries out"),
            "name the object and the action, such as invoice_list",
        ));
    }
    if matches!(definition.effect, Effect::Read | Effect::ExternalRead)
        && let Some(word) = promised_change(name)
        // `list_closed`, `get_set`: a name that also says that it reads is fine.
        && !words(name).iter().any(|word| ["list", "get", "search", "find", "read", "show", "count"].contains(&word.as_str()))
    {
        findings.push(Finding::new(
            Severity::Warning,
            "name-effect",
            "name",
            format!("`{word}` promises a change, and the declared effect is `{}`", definition.effect),
            "rename the tool or declare its true effect",
        ));
    }
}

pub(super) fn judge(definition: &Definition, findings: &mut Vec<Finding>) {
    let mut report = |severity, rule, message: String, remedy: &str| {
        findings.push(Finding::new(severity, rule, "description", message, remedy));
    };
    let text = match definition.description.as_deref().map(str::trim) {
        None | Some("") => {
            let remedy = "say what it does, when to use it, when not, and what comes back";
            report(Severity::Warning, "description-missing", "there is no description".into(), remedy);
            return;
        }
        Some(text) => text,
    };
    let lower = format!(" {} ", text.to_lowercase());
    if text.chars().count() < SHORT {
        let message = format!("{} characters are too few to choose by", text.chars().count());
        report(
            Severity::Warning,
            "description-short",
            message,
            "say what it does, when to use it and what comes back",
        );
    }
    if text.chars().count() > LONG {
        let message = format!("{} characters are sent with every request of a model", text.chars().count());
        report(Severity::Warning, "description-tutorial", message, "move the tutorial to the manual");
    }
    if !WHEN_NOT.iter().any(|phrase| lower.contains(phrase)) {
        let message = "it does not say when not to use the tool".into();
        report(
            Severity::Warning,
            "description-when-not",
            message,
            "add a sentence such as: it does not send reminders",
        );
    }
    if let Some(order) = ORDERS.iter().find(|order| lower.contains(*order)) {
        let message = format!("it gives an order to the model: \"{order}\"");
        report(
            Severity::Warning,
            "description-instruction",
            message,
            "describe the tool; leave policy to the gate",
        );
    }
}

pub(super) fn looks_like_credential(word: &str) -> bool {
    let word = word.trim_matches(|character: char| "\"'`()[]<>,;".contains(character));
    CREDENTIAL_STARTS.iter().any(|start| {
        word.strip_prefix(start).is_some_and(|rest| {
            *start == "-----BEGIN" || (rest.len() >= 12 && rest.bytes().any(|byte| byte.is_ascii_digit()))
        })
    })
}
