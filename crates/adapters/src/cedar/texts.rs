//! From texts to single policies with their names and places.
//!
//! Every policy has one name: its `@id`, or `policyN` by its place among all texts. Nothing is judged
//! here but the syntax. The loader calls it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr as _;

use cedar_policy::{Policy, PolicyId, PolicySet};
use miette::Diagnostic;

use super::fault::PolicyFault;
use super::limits::PolicyLimits;
use super::mentions::Mentions;

/// One text of policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyText {
    /// The name to show for it.
    pub name: String,
    /// The policies.
    pub text: String,
}

impl PolicyText {
    /// A text with its name.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// One policy and where it is written.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) policy: Policy,
    pub(super) text: usize,
    pub(super) span: Range<usize>,
    pub(super) mentions: Mentions,
}

/// Everything that is wrong with the syntax of the texts, which is known before any catalogue is.
#[must_use]
pub fn check_syntax(texts: &[PolicyText], limits: &PolicyLimits) -> Vec<PolicyFault> {
    let mut faults = Vec::new();
    rules(texts, limits, &mut faults);
    faults
}

/// The policies of all texts, in their order.
pub(super) fn rules(texts: &[PolicyText], limits: &PolicyLimits, faults: &mut Vec<PolicyFault>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (index, text) in texts.iter().enumerate() {
        let set = match PolicySet::from_str(&text.text) {
            Ok(set) => set,
            Err(errors) => {
                faults.extend(errors.iter().map(|error| syntax(error, index, &text.text)));
                continue;
            }
        };
        for (at, span) in spans(&text.text).into_iter().enumerate() {
            // The parser names policies by their order in the text, which is the order of the spans.
            let parsed = PolicyId::new(format!("policy{at}"));
            let Some(policy) = set.policy(&parsed) else {
                faults.push(PolicyFault::error(
                    "policy_template",
                    "this is a template, and nothing here fills its slots",
                    "write the principal or the resource instead of `?principal` or `?resource`",
                    index,
                    span,
                ));
                continue;
            };
            let id = match policy.annotation("id") {
                Some(id) if !id.trim().is_empty() => id.trim().to_owned(),
                _ => format!("policy{}", rules.len()),
            };
            if names.insert(id.clone(), rules.len()).is_some() {
                faults.push(PolicyFault::error(
                    "duplicate_policy",
                    format!("another policy is named `{id}` as well"),
                    "give each policy an `@id` of its own; decisions are recorded by it",
                    index,
                    span,
                ));
                continue;
            }
            if rules.len() == limits.policies {
                faults.push(PolicyFault::error(
                    "too_many",
                    format!("there are more than {} policies", limits.policies),
                    "say the same with fewer policies, for example by groups and labels",
                    index,
                    span,
                ));
                return rules;
            }
            let mentions = Mentions::of(policy);
            rules.push(Rule { policy: policy.new_id(PolicyId::new(&id)), id, text: index, span, mentions });
        }
    }
    rules
}

fn syntax(error: &cedar_policy::ParseError, text: usize, written: &str) -> PolicyFault {
    let remedy = error.help().map_or_else(
        || "correct the syntax; a policy is `permit (principal, action, resource) when { ... };`".to_owned(),
        |help| help.to_string(),
    );
    PolicyFault::error(
        "bad_policy",
        format!("this is not Cedar: {error}"),
        remedy,
        text,
        span(error, written),
    )
}

/// The first place that a diagnostic points to.
pub(super) fn span(error: &dyn Diagnostic, written: &str) -> Range<usize> {
    let label = error.labels().and_then(|mut labels| labels.next());
    label.map_or(0..0, |label| {
        let start = label.offset().min(written.len());
        start..start.saturating_add(label.len()).min(written.len())
    })
}

/// The places of the policies of a text that was parsed: each ends with a semicolon outside of strings and
/// comments.
fn spans(text: &str) -> Vec<Range<usize>> {
    let (mut spans, mut start, mut in_string, mut escaped) = (Vec::new(), None, false, false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '/' if characters.peek().is_some_and(|(_, next)| *next == '/') => {
                while characters.next_if(|(_, next)| *next != '\n').is_some() {}
                continue;
            }
            ';' => {
                spans.push(start.take().unwrap_or(at)..at + 1);
                continue;
            }
            '"' => in_string = true,
            _ => {}
        }
        if !character.is_whitespace() {
            start.get_or_insert(at);
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::spans;

    #[test]
    fn a_policy_ends_at_a_semicolon_outside_of_strings_and_comments() {
        let text = "// a; b\n@id(\"x;\\\"y\")\npermit(principal, action, resource); // c;\n\nforbid(principal, action, resource);";
        let found: Vec<_> = spans(text).into_iter().map(|span| &text[span]).collect();
        assert_eq!(
            found,
            [
                "@id(\"x;\\\"y\")\npermit(principal, action, resource);",
                "forbid(principal, action, resource);"
            ]
        );
    }
}
