//! Rates and places of whole calls: which calls count, and what a refusal tells.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use callgate_core::contract::{Contract, Definition};
use callgate_core::invocation::Invocation;
use callgate_core::limits::Limits;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{Answer, Decision, Execution, Policy, Question};
use callgate_core::principal::Principal;
use callgate_core::rate::{Allowance, Rate};
use callgate_core::refusal::{Code, Refusal, Retry};

use super::support::{Gate, answers, code, definition, tool};

fn rate(calls: u32, burst: u32) -> Allowance {
    let number = |number| NonZeroU32::new(number).unwrap();
    Allowance::unbounded().with_rate(Rate::per_minute(number(calls), number(burst)))
}

/// Hides `hidden` and denies `denied`.
struct Decides;

impl Policy for Decides {
    fn is_visible(&self, _: &Principal, contract: &Contract) -> bool {
        contract.name().as_str() != "hidden"
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        let policies = Vec::new();
        Answer::now(Ok(match question.contract.name().as_str() {
            "denied" => Decision::Deny { policies, errors: Vec::new() },
            _ => Decision::Permit { policies },
        }))
    }
}

fn limited(name: &str, of_all: Allowance, of_caller: Allowance) -> Definition {
    let mut definition = definition(name);
    definition.allowance = of_all;
    definition.allowance_of_caller = of_caller;
    definition
}

fn unbounded() -> Allowance {
    Allowance::unbounded()
}

#[tokio::test(start_paused = true)]
async fn a_tool_past_its_rate_is_refused_and_others_are_not() {
    let gate = Gate::new([
        tool(&limited("shared", rate(60, 2), unbounded()), answers("1")),
        tool(&limited("own", unbounded(), rate(60, 1)), answers("1")),
    ]);
    for _ in 0..2 {
        assert_eq!(code(&gate.call("shared", "{}").await), "complete");
    }
    let refused = gate.call("shared", "{}").await.unwrap_err();
    assert_eq!(refused.code().as_str(), "rate_limited");
    assert_eq!(refused.retry(), Retry::After(Duration::from_secs(1)));
    assert_eq!(code(&gate.call("own", "{}").await), "complete");
    assert_eq!(code(&gate.call("own", "{}").await), "rate_limited");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(code(&gate.call("shared", "{}").await), "complete");
    assert_eq!(code(&gate.call("shared", "{}").await), "rate_limited");
}

#[tokio::test(start_paused = true)]
async fn a_call_refused_for_the_share_of_all_costs_its_caller_nothing_of_his_own() {
    let gate = Gate::new([tool(&limited("t", rate(60, 1), rate(6, 2)), answers("1"))]);
    assert_eq!(code(&gate.call("t", "{}").await), "complete");
    for _ in 0..5 {
        assert_eq!(code(&gate.call("t", "{}").await), "rate_limited");
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(code(&gate.call("t", "{}").await), "complete", "the second of his own two");
    tokio::time::advance(Duration::from_secs(1)).await;
    let refused = gate.call("t", "{}").await.unwrap_err();
    assert!(refused.public().contains("this caller"), "his own two are used up: {refused}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_could_not_be_read_is_recorded_and_counts_towards_its_caller() {
    let mut limits = Limits::default();
    limits.principal = rate(60, 1);
    let gate = Gate::with([tool(&definition("t"), answers("1"))], limits, Arc::new(Decides));
    let unread = || gate.call_with("t", "{}", |call| call.refused = Some((Code::MalformedCall, "not read")));
    let refused = unread().await.unwrap_err();
    assert_eq!((refused.code().as_str(), refused.public()), ("malformed_call", "not read"));
    assert_eq!(code(&unread().await), "rate_limited");
    let record = |code: &str| ("t".to_owned(), code.to_owned());
    assert_eq!(gate.records.taken(), [record("malformed_call"), record("rate_limited")]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_not_permitted_or_not_valid_use_nothing_of_the_tool_up() {
    let tools =
        ["open", "denied", "hidden"].map(|name| tool(&limited(name, rate(60, 1), rate(60, 1)), answers("1")));
    let gate = Gate::with(tools, Limits::default(), Arc::new(Decides));
    for _ in 0..3 {
        assert_eq!(code(&gate.call("denied", "{}").await), "forbidden");
        assert_eq!(code(&gate.call("open", r#"{"n":"x"}"#).await), "invalid_arguments");
    }
    assert_eq!(code(&gate.call("open", "{}").await), "complete");
}

#[tokio::test(start_paused = true)]
async fn hidden_and_absent_tools_look_the_same_at_and_past_every_limit() {
    let tools =
        || ["open", "hidden"].map(|name| tool(&limited(name, rate(60, 1), rate(60, 1)), answers("1")));
    for wanted in ["hidden", "absent"] {
        let mut limits = Limits::default();
        limits.principal = rate(60, 3);
        let gate = Gate::with(tools(), limits, Arc::new(Decides));
        let mut told = Vec::new();
        for _ in 0..5 {
            let refused = gate.call(wanted, "{}").await.unwrap_err();
            told.push((refused.code().as_str(), refused.public().to_owned(), refused.retry()));
        }
        assert_eq!(told[2].0, "unknown_tool");
        assert_eq!(told[3].0, "rate_limited");
        assert_eq!(told[3].2, Retry::After(Duration::from_secs(1)));
        assert_eq!(told[3], told[4]);
    }
}

fn slow<'a>(_: &'a Invocation<'a>) -> Answer<'a, Execution> {
    Answer::later(async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Execution::Complete(ToolOutput::structured("1"))
    })
}

#[tokio::test(start_paused = true)]
async fn places_at_a_tool_are_held_while_it_runs_and_come_back_however_it_ends() {
    let gate = Gate::new([tool(&limited("slow", unbounded().with_concurrency(2), unbounded()), slow)]);
    let (one, other, third) =
        tokio::join!(gate.call("slow", "{}"), gate.call("slow", "{}"), gate.call("slow", "{}"));
    let mut codes = [code(&one), code(&other), code(&third)];
    codes.sort_unstable();
    assert_eq!(codes, ["busy", "complete", "complete"]);
    let given_up = tokio::time::timeout(Duration::from_secs(1), gate.call("slow", "{}")).await;
    assert!(given_up.is_err());
    let (one, other) = tokio::join!(gate.call("slow", "{}"), gate.call("slow", "{}"));
    assert_eq!([code(&one), code(&other)], ["complete", "complete"]);
}
