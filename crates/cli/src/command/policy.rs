//! `callgate policy`: what is decided of a call and why, expected decisions, and the schema of policies.
//!
//! Nothing is called and nothing is served; the decisions are those that a server with the same files
//! makes.

use std::fmt::Write as _;

use callgate_adapters::cedar::{
    Changed, ExplainedPolicy, Explanation, PolicyCase, PolicyChange, PolicyState,
};
use callgate_adapters::parse_rfc3339;
use callgate_core::contract::schema::Verdict;
use callgate_core::port::Decision;
use callgate_core::principal::Principal;
use callgate_gateway::config::Report;
use callgate_gateway::{PolicyReview, PolicyTests, policy_schema};
use callgate_protocol::json::{Document, Kind, Limits};

use super::check::show;
use crate::args::{Explain, Policy, PolicySchema, PolicyTest};
use crate::exit::Failure;
use crate::print::{out, say};

pub(crate) fn run(command: &Policy) -> Result<(), Failure> {
    match command {
        Policy::Explain(arguments) => explain(arguments),
        Policy::Test(arguments) => test(arguments),
        Policy::Schema(arguments) => print_schema(arguments),
    }
}

/// Shows why something cannot be judged.
fn refused(report: Report) -> Failure {
    show(&report);
    Failure::Configuration
}

fn print_schema(arguments: &PolicySchema) -> Result<(), Failure> {
    let schema = policy_schema(&arguments.config).map_err(refused)?;
    out(format_args!("{schema}"));
    Ok(())
}

fn explain(arguments: &Explain) -> Result<(), Failure> {
    let usage = |problem: String| Failure::Usage(problem);
    let review = PolicyReview::load(&arguments.config).map_err(refused)?;
    let contract = review.contract(&arguments.tool).map_err(usage)?;
    let given = Document::parse(arguments.args.as_str(), &Limits::DEFAULT)
        .map_err(|error| usage(format!("--args is not JSON: {error}")))?;
    if given.root().kind() != Kind::Object {
        return Err(usage("--args must be one JSON object, for example '{\"status\":\"open\"}'".to_owned()));
    }
    let at = arguments.at.as_deref().map(parse_rfc3339).transpose();
    let at = at.map_err(|error| usage(format!("--at: {error}; write it as 2026-12-01T10:00:00Z")))?;
    let mut principal = Principal::new(arguments.principal.as_str())
        .with_groups(arguments.groups.iter().map(String::as_str))
        .with_scopes(arguments.scopes.iter().map(String::as_str));
    principal.tenant = arguments.tenant.as_deref().map(Into::into);
    principal.purpose = arguments.purpose.as_deref().map(Into::into);
    principal.client = arguments.client.as_deref().map(Into::into);
    let mut case = PolicyCase::new(&principal, contract, given.root());
    (case.approved, case.at) = (arguments.approved || arguments.second_person, at);
    case.second_person = arguments.second_person;
    let explanation = review.explain(case).map_err(usage)?;
    out(format_args!("{}", text(&review, &explanation)));
    if !matches!(contract.input().validate(given.root()), Verdict::Valid) {
        say!(
            "note: the arguments do not fit the input schema; such a call is refused before policies are asked"
        );
    }
    Ok(())
}

/// The explanation for people.
fn text(review: &PolicyReview, explanation: &Explanation) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    if explanation.missing_scopes.is_empty() {
        let _ = writeln!(text, "decision: {}", decided(explanation));
    } else {
        let scopes = explanation.missing_scopes.join(" ");
        let _ = writeln!(text, "decision: needs_scope (the caller is challenged for the scopes {scopes})");
        let _ = writeln!(text, "with them: {}", decided(explanation));
    }
    let decision = &explanation.decision;
    if !decision.policies().is_empty() {
        let _ = writeln!(text, "decided by: {}", decision.policies().join(", "));
    }
    if !explanation.visible {
        let forbids = |policy: &&ExplainedPolicy| !policy.permits && policy.state == PolicyState::Holds;
        let hiding: Vec<_> = explanation.list.iter().filter(forbids).map(|policy| &*policy.id).collect();
        if !hiding.is_empty() {
            let _ = writeln!(text, "hidden by: {}", hiding.join(", "));
        }
    }
    for error in decision.errors() {
        let _ = writeln!(text, "because: {error}");
    }
    if !explanation.inexpressible.is_empty() {
        let names = explanation.inexpressible.join(", ");
        let _ = writeln!(text, "not seen by policies: {names}");
    }
    for (title, policies) in
        [("policies for listing", &explanation.list), ("policies for calling", &explanation.call)]
    {
        let _ = writeln!(text, "\n{title}:");
        if policies.is_empty() {
            let _ = writeln!(text, "  none, so it is denied");
        }
        for policy in policies {
            let _ = writeln!(text, "  {}", line(review, policy));
        }
    }
    if !matches!(decision, Decision::Permit { .. }) {
        let _ = writeln!(text, "\nwhat would change it:");
        for Changed { change, visible, decision, .. } in &explanation.changes {
            let seen = if explanation.visible || !visible { "" } else { "the caller sees the tool; " };
            let seen = if matches!(decision, Decision::Permit { .. }) { "" } else { seen };
            let _ = writeln!(text, "  {}: {seen}{}", changed(change), decision.as_str());
        }
        if explanation.changes.is_empty() {
            let _ = writeln!(
                text,
                "  no approval, group, scope or tenant that a policy names, and no prohibition to take away"
            );
        }
    }
    text
}

fn decided(explanation: &Explanation) -> &'static str {
    if explanation.visible {
        explanation.decision.as_str()
    } else {
        "hidden (the caller does not see the tool; it is answered as one that does not exist)"
    }
}

fn line(review: &PolicyReview, policy: &ExplainedPolicy) -> String {
    let effect = if policy.permits { "permit" } else { "forbid" };
    let place = review.place(policy);
    let place =
        place.map_or_else(String::new, |place| format!(" ({}:{})", place.file().name(), place.line()));
    let state = match &policy.state {
        PolicyState::Holds => "applies".to_owned(),
        PolicyState::ConditionFalse => "does not apply: its conditions are false".to_owned(),
        PolicyState::OtherCallers => "does not apply: it is about other callers".to_owned(),
        PolicyState::Failed(error) => format!("fails, which denies: {error}"),
    };
    format!("{effect} {}{place}: {state}", policy.id)
}

fn changed(change: &PolicyChange) -> String {
    match change {
        PolicyChange::Approval => "an approval".to_owned(),
        PolicyChange::SecondPerson => "an approval by a second person".to_owned(),
        PolicyChange::Group(group) => format!("the group `{group}`"),
        PolicyChange::Scope(scope) => format!("the scope `{scope}`"),
        PolicyChange::Tenant(tenant) => format!("the tenant `{tenant}`"),
        PolicyChange::Without(policies) => format!("without the policies {}", policies.join(", ")),
    }
}

fn test(arguments: &PolicyTest) -> Result<(), Failure> {
    let review = PolicyReview::load(&arguments.config).map_err(refused)?;
    let tests = PolicyTests::load(&arguments.file).map_err(refused)?;
    let results = tests.run(&review).map_err(refused)?;
    let mut failed = 0;
    for test in &results {
        match &test.failure {
            None => say!("ok      {}", test.name),
            Some(failure) => {
                failed += 1;
                say!("FAILED  {} ({}:{})", test.name, test.place.file().name(), test.place.line());
                say!("        {failure}");
                for line in text(&review, &test.explanation).lines() {
                    say!("        | {line}");
                }
            }
        }
    }
    say!("{} of {} decisions as expected", results.len() - failed, results.len());
    if failed == 0 { Ok(()) } else { Err(Failure::Decisions { failed }) }
}
