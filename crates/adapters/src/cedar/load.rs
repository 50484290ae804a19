//! From texts and a catalogue to policies in force, or to everything that is wrong with them.
//!
//! Nothing that does not fit the schema of the catalogue is ever loaded, and a tool that a policy names
//! and nobody has is an error: a misspelled prohibition would prohibit nothing. The gateway calls it for
//! each snapshot.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use callgate_core::contract::digest::DigestBuilder;
use callgate_core::offer::Offer;
use callgate_core::port::Clock;
use callgate_core::snapshot::Catalogue;
use cedar_policy::{
    ActionConstraint, Authorizer, EntityUid, PolicySet, ResourceConstraint, Schema, ValidationError,
    ValidationMode, ValidationWarning, Validator,
};
use miette::Diagnostic as _;

use super::engine::{CedarPolicy, Judged, Sorting};
use super::entities::{Callers, of_catalogue, uid};
use super::fault::{PolicyFault, PolicySeverity};
use super::limits::PolicyLimits;
use super::offers::{Family, JudgedOffers, KnownOffers};
use super::schema::{CALL, GET, LIST, READ, call_of, of_catalogue as schema_of};
use super::texts::{PolicyText, Rule, deep, rules, span};
use super::tools::{KnownTool, known};
use super::types::quoted;

/// What texts gave.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The policies, if there is no error.
    pub policy: Option<CedarPolicy>,
    /// Everything that was found.
    pub faults: Vec<PolicyFault>,
}

/// Loads the policies of a server for its catalogue.
#[must_use]
pub fn load(
    texts: &[PolicyText],
    server: &str,
    catalogue: &Catalogue,
    clock: Arc<dyn Clock>,
    limits: PolicyLimits,
) -> Loaded {
    deep(|| load_deep(texts, server, catalogue, clock, limits))
        .unwrap_or_else(|fault| Loaded { policy: None, faults: vec![fault] })
}

fn load_deep(
    texts: &[PolicyText],
    server: &str,
    catalogue: &Catalogue,
    clock: Arc<dyn Clock>,
    limits: PolicyLimits,
) -> Loaded {
    let mut faults = Vec::new();
    let rules = rules(texts, &limits, &mut faults);
    let tools = known(catalogue, limits.type_depth);
    let offers = KnownOffers::of(catalogue);
    let text = schema_of(&tools, &offers);
    let loading = Loading { texts, rules: &rules, tools: &tools, offers: &offers, server };
    let schema = match Schema::from_cedarschema_str(&text) {
        Ok((schema, _)) => schema,
        Err(error) => return internal(faults, error),
    };
    loading.judge(&schema, &mut faults);
    loading.check_names(&mut faults);
    loading.check_scopes(&mut faults);
    if faults.iter().any(|fault| fault.severity == PolicySeverity::Error) {
        return Loaded { policy: None, faults };
    }
    match loading.build(schema, text, clock, limits) {
        Ok(policy) => Loaded { policy: Some(policy), faults },
        Err(error) => internal(faults, error),
    }
}

/// Something that no text is the reason of.
fn internal(mut faults: Vec<PolicyFault>, error: impl std::fmt::Display) -> Loaded {
    faults.push(PolicyFault {
        severity: PolicySeverity::Error,
        code: "policy_schema",
        message: format!("the catalogue cannot be expressed in Cedar: {error}"),
        remedy: "report this; until then, serve without the tool that it names".to_owned(),
        text: None,
        span: 0..0,
    });
    Loaded { policy: None, faults }
}

struct Loading<'l> {
    texts: &'l [PolicyText],
    rules: &'l [Rule],
    tools: &'l [KnownTool],
    offers: &'l KnownOffers,
    server: &'l str,
}

impl Loading<'_> {
    /// Judges the policies against the schema.
    fn judge(&self, schema: &Schema, faults: &mut Vec<PolicyFault>) {
        let Ok(set) = PolicySet::from_policies(self.rules.iter().map(|rule| rule.policy.clone())) else {
            // Names that stand twice were reported where they stand.
            return;
        };
        let result = Validator::new(schema.clone()).validate(&set, ValidationMode::Strict);
        let mut found = Vec::new();
        for error in result.validation_errors() {
            let Some(rule) = self.rule(error.policy_id().as_ref()) else { continue };
            let (code, remedy) = self.remedy(rule, error);
            let span = self.place(rule, span(error, &self.texts[rule.text].text));
            found.push(PolicyFault::error(code, brief(error, rule), brief(&remedy, rule), rule.text, span));
        }
        for warning in result.validation_warnings() {
            let Some(rule) = self.rule(warning.policy_id().as_ref()) else { continue };
            let span = self.place(rule, span(warning, &self.texts[rule.text].text));
            found.push(unusual(warning, rule, span));
        }
        // That a policy never applies follows from a name in it that nothing has.
        let is_named = |fault: &PolicyFault| matches!(fault.code, "unknown_action" | "unknown_entity");
        let named: Vec<_> = found
            .iter()
            .filter(|fault| is_named(fault))
            .map(|fault| (fault.text, fault.span.start))
            .collect();
        found.retain(|fault| {
            let inside = |(text, at): &(Option<usize>, usize)| fault.text == *text && fault.span.contains(at);
            fault.code != "never_applies" || !named.iter().any(inside)
        });
        // A policy is judged once for each tool that it may concern; one place is reported once.
        let mut seen = BTreeSet::new();
        found.sort_by_key(|fault| (fault.text, fault.span.start, fault.severity));
        found.retain(|fault| seen.insert((fault.text, fault.span.start, fault.span.end, fault.code)));
        faults.extend(found);
    }

    fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// The place of a diagnostic, or that of the whole policy where it has none of its own.
    fn place(&self, rule: &Rule, span: Range<usize>) -> Range<usize> {
        if span.start >= rule.span.start && span.end <= rule.span.end && !span.is_empty() {
            span
        } else {
            rule.span.clone()
        }
    }

    fn remedy(&self, rule: &Rule, error: &ValidationError) -> (&'static str, String) {
        let help = error.help().map(|help| help.to_string());
        match error {
            ValidationError::UnrecognizedEntityType(_) => (
                "unknown_entity",
                "use one of `Principal`, `Group`, `Tenant`, `Tool`, `Server`, `Effect` and `Action`, or \
                 `Resource` and `Prompt` where the server has resources and prompts"
                    .to_owned(),
            ),
            ValidationError::UnrecognizedActionId(_) => (
                "unknown_action",
                format!(
                    "use `Action::\"{LIST}\"`, `action in Action::\"{CALL}\"`, or `Action::\"{CALL}:NAME\"` \
                     with the name of a tool; `Action::\"{READ}\"` is for resources and `Action::\"{GET}\"` for \
                     prompts, where the server has any{}",
                    help.map(|help| format!(" ({help})")).unwrap_or_default()
                ),
            ),
            ValidationError::UnsafeAttributeAccess(_) => ("unknown_attribute", self.typed(rule, help)),
            ValidationError::UnsafeOptionalAttributeAccess(_) => (
                "optional_attribute",
                "ask first whether it is there, for example `context.arguments has note && \
                 context.arguments.note == \"x\"`"
                    .to_owned(),
            ),
            ValidationError::InvalidEnumEntity(_) => {
                ("unknown_effect", "use an effect that tools can have".to_owned())
            }
            ValidationError::UnexpectedType(_) | ValidationError::IncompatibleTypes(_) => (
                "wrong_type",
                help.unwrap_or_else(|| {
                    "compare values of the same type; `callgate policy schema` prints the types".to_owned()
                }),
            ),
            _ => (
                "bad_policy",
                help.unwrap_or_else(|| "correct it; `callgate policy schema` prints the schema".to_owned()),
            ),
        }
    }

    /// What to do about an attribute that is not there for each tool that a policy may concern.
    fn typed(&self, rule: &Rule, help: Option<String>) -> String {
        let action = match rule.policy.resource_constraint() {
            ResourceConstraint::Eq(uid) => call_of(uid.id().unescaped()),
            _ => call_of("NAME"),
        };
        let one = matches!(rule.policy.action_constraint(), ActionConstraint::Eq(_));
        let mut remedy = help.map(|help| format!("{help}; ")).unwrap_or_default();
        if matches!(rule.policy.resource_constraint(), ResourceConstraint::Any | ResourceConstraint::In(_))
            && self.offers.iter().next().is_some()
        {
            remedy.push_str("write `resource is Tool` where only tools are meant; ");
        }
        if one {
            remedy.push_str(
                "`callgate policy schema` prints what there is; decimals and values of several types have \
                 no type in Cedar, so no policy can speak of them",
            );
        } else {
            remedy.push_str(&format!(
                "write `action == Action::{}` for the policy to concern one tool and its arguments, or ask \
                 first whether it is there with `context.arguments has`",
                quoted(&action)
            ));
        }
        remedy
    }

    /// Tools, servers and labels that nobody has.
    fn check_names(&self, faults: &mut Vec<PolicyFault>) {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        let labels: BTreeSet<&str> =
            self.tools.iter().flat_map(|tool| &tool.labels).map(String::as_str).collect();
        let labels = labels.into_iter().chain(self.offers.iter().flat_map(Offer::labels).map(String::as_str));
        let labels: BTreeSet<&str> = labels.collect();
        let [resources, prompts] =
            Family::ALL.map(|family| self.offers.family(family).map(Offer::name).collect::<Vec<_>>());
        let labels: Vec<&str> = labels.into_iter().collect();
        for rule in self.rules {
            let mut literals = rule.policy.entity_literals();
            literals.sort_by_key(ToString::to_string);
            literals.dedup();
            for literal in literals {
                let (kind, id) = (literal.type_name().to_string(), literal.id().unescaped());
                let (code, what, known): (_, _, &[&str]) = match kind.as_str() {
                    "Tool" => ("unknown_tool", "tool", &names),
                    "Resource" => ("unknown_resource", "resource", &resources),
                    "Prompt" => ("unknown_prompt", "prompt", &prompts),
                    "Server" => ("unknown_server", "server", std::slice::from_ref(&self.server)),
                    _ => continue,
                };
                if !known.contains(&id) {
                    faults.push(self.nobody(code, what, id, known, rule));
                }
            }
            for label in &rule.mentions.labels {
                if !labels.contains(&label.as_str()) {
                    faults.push(self.nobody("unknown_label", "label", label, &labels, rule).warning());
                }
            }
        }
    }

    fn nobody(&self, code: &'static str, what: &str, id: &str, known: &[&str], rule: &Rule) -> PolicyFault {
        let written = self.texts[rule.text].text.get(rule.span.clone()).unwrap_or_default();
        let literal = quoted(id);
        let span = match written.find(&literal) {
            Some(at) => rule.span.start + at..rule.span.start + at + literal.len(),
            None => rule.span.clone(),
        };
        let nearest = known
            .iter()
            .map(|name| (strsim::damerau_levenshtein(name, id), *name))
            .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
            .min();
        let meant = nearest.map(|(_, name)| format!("; did you mean `{name}`?")).unwrap_or_default();
        let remedy = match what {
            "server" => format!("use `Server::{}`", quoted(self.server)),
            "label" => {
                "give the label to a tool, a resource or a prompt, or remove it from the policy".to_owned()
            }
            _ => format!("use the name of a {what} of this server, or remove the policy"),
        };
        PolicyFault::error(code, format!("there is no {what} `{id}`{meant}"), remedy, rule.text, span)
    }

    /// A scope that Cedar takes and that never matches.
    fn check_scopes(&self, faults: &mut Vec<PolicyFault>) {
        for rule in self.rules {
            let ActionConstraint::Eq(action) = rule.policy.action_constraint() else { continue };
            if action.id().unescaped() == CALL {
                // The validator says of it only that it never applies.
                faults
                    .retain(|fault| fault.text != Some(rule.text) || !rule.span.contains(&fault.span.start));
                faults.push(PolicyFault::error(
                    "call_is_a_group",
                    format!(
                        "`action == Action::\"{CALL}\"` never applies: `{CALL}` is the group of all calls"
                    ),
                    format!("write `action in Action::\"{CALL}\"`"),
                    rule.text,
                    rule.span.clone(),
                ));
            }
        }
    }

    fn build(
        &self,
        schema: Schema,
        text: String,
        clock: Arc<dyn Clock>,
        limits: PolicyLimits,
    ) -> Result<CedarPolicy, String> {
        let decoy = KnownTool::decoy();
        let base = of_catalogue(self.server, self.tools.iter().chain([&decoy]), self.offers.iter(), &schema)?;
        let (server, list_action, call) =
            (uid("Server", self.server)?, uid("Action", LIST)?, uid("Action", CALL)?);
        let mut sorting = Sorting::default();
        let mut judged = |tool: &KnownTool| -> Result<Judged, String> {
            let own = uid("Tool", &tool.name)?;
            let call_action = uid("Action", &call_of(&tool.name))?;
            let calls: [EntityUid; 2] = [call_action.clone(), call.clone()];
            let call = sorting.concerned(self.rules, &calls, &own, &server)?;
            Ok(Judged {
                list: sorting.concerned(self.rules, std::slice::from_ref(&list_action), &own, &server)?,
                call_settled: sorting.part(self.rules, &call, true)?,
                call_open: sorting.part(self.rules, &call, false)?,
                call,
                tool: tool.clone(),
                uid: own,
                call_action,
            })
        };
        let decoy = judged(&decoy)?;
        let tools = self.tools.iter().map(judged).collect::<Result<Vec<_>, _>>()?;
        let offers = JudgedOffers::new(self.offers, self.rules, &mut sorting, (&list_action, &server))?;
        let mut revision = DigestBuilder::new("callgate/policy/cedar/1");
        revision.field("server", self.server).field("schema", &text);
        self.texts.iter().for_each(|text| {
            revision.field("policies", &text.text);
        });
        self.tools.iter().for_each(|tool| tool.digest_into(&mut revision));
        self.offers.iter().for_each(|offer| offer.digest_into(&mut revision));
        let all = || {
            let tools = tools.iter().chain([&decoy]).map(|judged| &judged.list.mentions);
            tools.chain(offers.each().map(|judged| &judged.list.mentions))
        };
        let steady = !all().any(|mentions| mentions.time);
        // A list that depends on the time differs between two callers who ask at different times.
        let same_for_all = steady && !all().any(|mentions| mentions.caller);
        let kept = limits
            .principals
            .min(limits.kept_entities / (2 * tools.len() + offers.each().count() + 8))
            .max(16);
        Ok(CedarPolicy {
            rules: self.rules.to_vec(),
            tools,
            offers,
            base,
            list_action,
            limits,
            clock,
            callers: Callers::new(kept),
            schema: text,
            revision: revision.finish(),
            same_for_all,
            steady,
            authorizer: Authorizer::new(),
            evaluations: AtomicU64::new(0),
        })
    }
}

fn unusual(warning: &ValidationWarning, rule: &Rule, span: Range<usize>) -> PolicyFault {
    match warning {
        ValidationWarning::InvalidActionApplication(_) => PolicyFault::error(
            "never_applies",
            format!("the policy `{}` never applies: no action fits its principal and resource", rule.id),
            "correct its scope, or remove the policy",
            rule.text,
            span,
        ),
        ValidationWarning::ImpossiblePolicy(_) => PolicyFault::error(
            "never_applies",
            format!("the policy `{}` never applies: its conditions are false for every tool", rule.id),
            "correct its conditions, or remove the policy",
            rule.text,
            span,
        )
        .warning(),
        other => PolicyFault::error(
            "unusual_text",
            brief(other, rule),
            "write it with characters of one script and without marks of direction",
            rule.text,
            span,
        )
        .warning(),
    }
}

/// The message without the name of the policy, which the place shows.
fn brief(message: &dyn std::fmt::Display, rule: &Rule) -> String {
    let name = format!("for policy `{}`", rule.id);
    message.to_string().replace(&format!("{name}, "), "").replace(&format!("{name}: "), "")
}
