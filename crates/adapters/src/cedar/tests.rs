//! Policies as the gate meets them: loaded for a catalogue, then asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use callgate_core::contract::{Contract, Definition, Effect, Idempotency, KeySource, Resolution};
use callgate_core::invocation::Invocation;
use callgate_core::port::{Answer, Clock, Decision, Execute, Execution, Policy as _, Question, Timestamp};
use callgate_core::principal::Principal;
use callgate_core::snapshot::{Catalogue, Tool};
use callgate_protocol::json::{Document, Limits};

use super::{CedarPolicy, Loaded, PolicyLimits, PolicySeverity, PolicyText, load};

mod agreement;
mod decisions;
mod explained;
mod faults;
mod offers;

pub(super) struct Nothing;

impl Execute for Nothing {
    fn execute<'a>(&'a self, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
        unreachable!("policies run no tool")
    }
}

/// A clock that stands still until it is set.
#[derive(Default)]
pub(super) struct SetClock(pub(super) AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

pub(super) fn tool(name: &str, effect: Effect, properties: &str, labels: &[&str]) -> Arc<Tool> {
    let schema = format!(r#"{{"type":"object","properties":{{{properties}}},"required":[]}}"#);
    let mut definition = Definition::new(name, effect, schema);
    if effect.changes_something() {
        definition.idempotency = Some(Idempotency::new(KeySource::Input));
        definition.resolution = Some(Resolution::Person);
    }
    definition.labels = labels.iter().map(|label| (*label).to_owned()).collect();
    Arc::new(Tool::new(Contract::new(&definition, &Default::default()).unwrap(), Nothing))
}

/// Three tools, of which one changes something and one has a decimal.
pub(super) fn catalogue() -> Catalogue {
    Catalogue::new([
        tool(
            "invoice_list",
            Effect::Read,
            r#""status":{"type":"string"},"n":{"type":"integer"}"#,
            &["finance"],
        ),
        tool(
            "invoice_pay",
            Effect::Append,
            r#""amount":{"type":"integer"},"rate":{"type":"number"}"#,
            &["finance"],
        ),
        tool("weather", Effect::ExternalRead, r#""city":{"type":["string","null"]}"#, &[]),
    ])
    .unwrap()
}

pub(super) fn loaded(texts: &[&str], clock: Arc<SetClock>) -> Loaded {
    let texts: Vec<_> =
        texts.iter().enumerate().map(|(at, text)| PolicyText::new(format!("{at}.cedar"), *text)).collect();
    load(&texts, "billing", &catalogue(), clock, PolicyLimits::default())
}

pub(super) fn policy(text: &str) -> CedarPolicy {
    let loaded = loaded(&[text], Arc::default());
    let errors: Vec<_> =
        loaded.faults.iter().filter(|fault| fault.severity == PolicySeverity::Error).collect();
    assert_eq!(errors, Vec::<&super::PolicyFault>::new());
    loaded.policy.unwrap()
}

pub(super) fn dana() -> Principal {
    Principal::new("dana").with_tenant("tenant-a").with_groups(["staff"]).with_scopes(["invoices:read"])
}

/// What is decided of a call, without the waiting.
pub(super) fn decide(
    policy: &CedarPolicy,
    catalogue: &Catalogue,
    principal: &Principal,
    tool: &str,
    arguments: &str,
    approved: bool,
) -> Decision {
    let arguments = Document::parse(arguments, &Limits::DEFAULT).unwrap();
    let contract = catalogue.find(tool).unwrap().contract();
    let mut question = Question::new(principal, contract, arguments.root());
    question.approved = approved;
    match policy.decide(question) {
        Answer::Now(Some(decision)) => decision.unwrap(),
        _ => panic!("the policy waits"),
    }
}

pub(super) fn sees(policy: &CedarPolicy, principal: &Principal) -> Vec<String> {
    let catalogue = catalogue();
    let set = policy.visible(principal, &catalogue);
    let names = catalogue.tools().enumerate().filter(|(at, _)| set.contains(*at));
    names.map(|(_, tool)| tool.contract().name().to_string()).collect()
}
