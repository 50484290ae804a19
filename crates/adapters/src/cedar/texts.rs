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
    let check = || {
        let mut faults = Vec::new();
        rules(texts, limits, &mut faults);
        faults
    };
    deep(check).unwrap_or_else(|fault| vec![fault])
}

/// The stack on which policies are read: what reads them goes down as deep as they are, with frames of
/// several KiB in builds that are not optimised. Only what is used of it takes memory.
const STACK: usize = 64 << 20;

/// Does something that goes down into policies on a thread with a stack that is large enough for it.
pub(super) fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, PolicyFault> {
    let fault = |message: &str| {
        let remedy = "free memory or threads of this machine and load again";
        PolicyFault { text: None, ..PolicyFault::error("not_loaded", message, remedy, 0, 0..0) }
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("callgate-policy".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, work);
        let thread = thread.map_err(|_| fault("no thread could be made for reading policies"))?;
        thread.join().map_err(|_| fault("reading the policies panicked"))
    })
}

/// The policies of all texts, in their order.
pub(super) fn rules(texts: &[PolicyText], limits: &PolicyLimits, faults: &mut Vec<PolicyFault>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (index, text) in texts.iter().enumerate() {
        let pieces = pieces(&text.text);
        let before = faults.len();
        faults.extend(pieces.iter().filter_map(|piece| piece.fault(index, limits)));
        if faults.len() > before {
            // Nothing that is too deep is ever parsed.
            continue;
        }
        let set = match PolicySet::from_str(&text.text) {
            Ok(set) => set,
            Err(errors) => {
                faults.extend(errors.iter().map(|error| syntax(error, index, &text.text)));
                continue;
            }
        };
        if pieces.len() != set.policies().count() + set.templates().count() {
            // A policy without a place would be left out, a prohibition too: none of the text is taken.
            faults.push(PolicyFault::error(
                "bad_policy",
                "the policies of this text cannot be told apart",
                "write each policy on lines of its own, with comments of `//` and printed characters only",
                index,
                0..0,
            ));
            continue;
        }
        for (at, Piece { span, .. }) in pieces.into_iter().enumerate() {
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

/// One policy of a text, by its place, and how large and deep it is.
#[derive(Debug)]
struct Piece {
    span: Range<usize>,
    /// Operators, brackets and attributes; an operator of two characters counts twice.
    parts: usize,
    /// Brackets within brackets.
    depth: usize,
}

impl Piece {
    fn fault(&self, text: usize, limits: &PolicyLimits) -> Option<PolicyFault> {
        let (message, remedy) = if self.depth > limits.policy_depth {
            (
                format!("the brackets of this policy are more than {} deep", limits.policy_depth),
                "write it flatter, for example as several policies",
            )
        } else if self.parts > limits.policy_parts {
            (
                format!(
                    "this policy has more than {} operators, brackets and attributes",
                    limits.policy_parts
                ),
                "split it into several policies, or use a set, a group or a label",
            )
        } else {
            return None;
        };
        Some(PolicyFault::error("policy_too_large", message, remedy, text, self.span.clone()))
    }
}

/// The policies of a text, parsed or not: each ends with a semicolon outside of strings and comments. A
/// comment of Cedar ends with its line, and a carriage return ends a line as well.
fn pieces(text: &str) -> Vec<Piece> {
    let (mut pieces, mut start, mut in_string, mut escaped) = (Vec::new(), None, false, false);
    let (mut parts, mut open, mut depth) = (0, 0_usize, 0);
    let mut characters = text.char_indices().peekable();
    let mut word = 0;
    while let Some((at, character)) = characters.next() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '/' if characters.peek().is_some_and(|(_, next)| *next == '/') => {
                while characters.next_if(|(_, next)| !matches!(next, '\n' | '\r')).is_some() {}
                continue;
            }
            ';' => {
                let span = start.take().unwrap_or(at)..at + 1;
                pieces.push(Piece { span, parts, depth });
                (parts, open, depth, word) = (0, 0, 0, at + 1);
                continue;
            }
            '"' => in_string = true,
            '(' | '[' | '{' => {
                open += 1;
                parts += 1;
                depth = depth.max(open);
            }
            ')' | ']' | '}' => open = open.saturating_sub(1),
            '&' | '|' | '+' | '-' | '*' | '!' | '.' => parts += 1,
            _ => {}
        }
        if !character.is_alphanumeric() {
            parts += usize::from(text.get(word..at).is_some_and(|word| word == "if"));
            word = at + character.len_utf8();
        }
        if !character.is_whitespace() {
            start.get_or_insert(at);
        }
    }
    // What does not end is no policy, but it is parsed all the same.
    pieces.extend(start.map(|start| Piece { span: start..text.len(), parts, depth }));
    pieces
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use cedar_policy::PolicySet;
    use proptest::prelude::*;

    use super::{PolicyLimits, PolicyText, pieces, rules};

    #[test]
    fn a_policy_ends_at_a_semicolon_outside_of_strings_and_comments() {
        let text = "// a; b\n@id(\"x;\\\"y\")\npermit(principal, action, resource); // c;\n\nforbid(principal, action, resource);";
        let found: Vec<_> = pieces(text).into_iter().map(|piece| &text[piece.span]).collect();
        assert_eq!(
            found,
            [
                "@id(\"x;\\\"y\")\npermit(principal, action, resource);",
                "forbid(principal, action, resource);"
            ]
        );
    }

    #[test]
    fn parts_and_depth_are_counted_outside_of_strings() {
        let count = |text| pieces(text).iter().map(|piece| (piece.parts, piece.depth)).collect::<Vec<_>>();
        assert_eq!(count("permit(a) when { !(b.c && [1]) };"), [(8, 3)]);
        assert_eq!(count("permit(\"((&&\"); forbid() when { if a then b else iffy };"), [(1, 1), (3, 1)]);
        assert_eq!(count("((("), [(3, 3)]);
    }

    #[test]
    fn a_carriage_return_ends_a_comment_so_no_policy_behind_it_is_lost() {
        let text =
            "permit(principal, action, resource);\n// no writes\rforbid(principal, action, resource);\r";
        let (mut faults, texts) = (Vec::new(), [PolicyText::new("a.cedar", text)]);
        let rules = rules(&texts, &PolicyLimits::default(), &mut faults);
        assert_eq!(faults, []);
        let written: Vec<_> = rules.iter().map(|rule| &text[rule.span.clone()]).collect();
        assert_eq!(written, ["permit(principal, action, resource);", "forbid(principal, action, resource);"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// Whatever stands between policies, Cedar and the places agree on how many there are.
        #[test]
        fn each_policy_that_cedar_reads_has_its_place(parts in prop::collection::vec(prop::sample::select(vec![
            "permit(principal, action, resource);", "forbid(principal, action, resource)\nwhen { true };",
            "@id(\"a;//b\")", "permit(principal, action, resource) when { \"\\\";\" == \"//\" };", "// a; \"b",
            "//", "/", "\n", "\r", "\r\n", "\t", " ", "\u{85}", "\u{a0}", "\u{2028}", "\"", ";",
        ]), 0..12)) {
            let text = parts.concat();
            if let Ok(set) = PolicySet::from_str(&text) {
                prop_assert_eq!(pieces(&text).len(), set.policies().count(), "{:?}", text);
            }
        }
    }
}
