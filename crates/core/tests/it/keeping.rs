//! What outlives a call: results that overflow, and states that are good for one effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_core::artifact::Body;
use callgate_core::call::Call;
use callgate_core::contract::{
    Contract, Definition, Delivery, Effect, IDEMPOTENCY_KEY, Idempotency, KeySource, Mask, Resolution,
};
use callgate_core::limits::Limits;
use callgate_core::outcome::{Outcome, ToolOutput};
use callgate_core::policy::LocalPolicy;
use callgate_core::port::{Answer, Credentials, Execution, MemoryLedgerLimits, SilentPeer, Transport};
use callgate_core::principal::Principal;

use callgate_protocol::json::{self, Document};

use super::support::{Gate, PermitsAll, answers, code, definition, tool};

fn overflowing(schema: Option<&str>) -> Definition {
    let mut definition = definition("report");
    definition.output_schema = schema.map(str::to_owned);
    definition.output_bytes = Some(64);
    definition.delivery = Delivery::Overflow;
    definition
}

fn dana() -> Principal {
    Principal::new("dana").with_tenant("tenant-a")
}

/// The URI of the link that the call gave, and the structured result.
async fn link(gate: &Gate) -> (String, Option<String>) {
    let settled = gate.call("report", "{}").await.unwrap();
    let Outcome::Complete(output) = settled.outcome() else { panic!("{settled:?}") };
    let content: serde_json::Value = serde_json::from_str(output.content.as_ref().unwrap()).unwrap();
    assert_eq!(content[1]["type"], "resource_link");
    let structured = output.structured.as_ref().map(|document| document.text().to_owned());
    (content[1]["uri"].as_str().unwrap().to_owned(), structured)
}

async fn read(gate: &Gate, uri: &str) -> Body {
    let principal = dana();
    let artifacts = gate.pipeline.keeping(&gate.snapshot).artifacts(&principal);
    artifacts.read(uri).await.unwrap().unwrap().body
}

#[tokio::test]
async fn a_result_over_its_bound_becomes_a_link_to_what_it_was_and_one_within_does_not() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#;
    let exact: &'static str = Box::leak(format!(r#"{{"a":"{}"}}"#, "x".repeat(56)).into_boxed_str());
    let over: &'static str = Box::leak(format!(r#"{{"a":"{}"}}"#, "x".repeat(57)).into_boxed_str());
    assert_eq!((exact.len(), over.len()), (64, 65));
    let gate = Gate::new([tool(&overflowing(Some(SCHEMA)), answers(exact))]);
    let settled = gate.call("report", "{}").await.unwrap();
    let Outcome::Complete(output) = settled.outcome() else { panic!("{settled:?}") };
    assert_eq!(output.structured.as_ref().unwrap().text(), exact);

    let gate = Gate::new([tool(&overflowing(Some(SCHEMA)), answers(over))]);
    let (uri, structured) = link(&gate).await;
    assert_eq!(read(&gate, &uri).await, Body::Text(over.to_owned()));
    let structured: serde_json::Value = serde_json::from_str(&structured.unwrap()).unwrap();
    assert_eq!(structured["artifact"]["uri"], uri);
    assert_eq!(structured["artifact"]["bytes"], 65);
    assert_eq!(structured["artifact"]["name"], "report.json");
    // The link fits the schema that the tool shows.
    let settled = gate.call("report", "{}").await.unwrap();
    let schema = settled.contract().output().unwrap();
    let Outcome::Complete(output) = settled.outcome() else { panic!("{settled:?}") };
    assert_eq!(schema.is_valid(output.structured.as_ref().unwrap().root()), Ok(true));

    // What does not fit the contract is not kept either.
    let wrong: &'static str = Box::leak(format!(r#"{{"b":"{}"}}"#, "x".repeat(99)).into_boxed_str());
    let gate = Gate::new([tool(&overflowing(Some(SCHEMA)), answers(wrong))]);
    assert_eq!(code(&gate.call("report", "{}").await), "output_invalid");
}

#[tokio::test]
async fn a_text_overflows_as_a_text_and_other_content_as_its_json() {
    let text = "é\n".repeat(100);
    let given = text.clone();
    let gate = Gate::new([tool(&overflowing(None), move |_| {
        Answer::now(Execution::Complete(ToolOutput::text(&given)))
    })]);
    let (uri, structured) = link(&gate).await;
    assert_eq!(structured, None);
    assert_eq!(read(&gate, &uri).await, Body::Text(text));
    let blocks: &'static str = r#"[{"type":"text","text":"0123456789"},{"type":"text","text":"0123456789"}]"#;
    let gate = Gate::new([tool(&overflowing(None), move |_| {
        Answer::now(Execution::Complete(ToolOutput::content(blocks)))
    })]);
    let (uri, _) = link(&gate).await;
    assert_eq!(read(&gate, &uri).await, Body::Text(blocks.to_owned()));
}

#[tokio::test]
async fn masked_fields_are_masked_in_what_is_kept() {
    let mut definition = overflowing(Some(
        r#"{"type":"object","properties":{"secret":{"type":"string"},"a":{"type":"string"}}}"#,
    ));
    definition.masked.push(Mask::new("/secret", 0));
    let given: &'static str =
        Box::leak(format!(r#"{{"secret":"hunter2","a":"{}"}}"#, "x".repeat(99)).into_boxed_str());
    let gate = Gate::new([tool(&definition, answers(given))]);
    let (uri, _) = link(&gate).await;
    let Body::Text(kept) = read(&gate, &uri).await else { panic!("it is text") };
    assert!(!kept.contains("hunter2") && kept.contains("\"a\""), "{kept}");
}

#[tokio::test]
async fn without_room_and_for_errors_nothing_overflows() {
    let mut limits = Limits::default();
    limits.artifact_bytes = 99;
    let long: &'static str = Box::leak(format!(r#""{}""#, "x".repeat(98)).into_boxed_str());
    let gate = Gate::with([tool(&overflowing(None), answers(long))], limits, Arc::new(LocalPolicy::new()));
    assert_eq!(code(&gate.call("report", "{}").await), "output_too_large");
    let mut limits = Limits::default();
    limits.artifact_bytes_of_principal = 99;
    let gate = Gate::with([tool(&overflowing(None), answers(long))], limits, Arc::new(LocalPolicy::new()));
    assert_eq!(code(&gate.call("report", "{}").await), "store_full");
    let gate = Gate::new([tool(&overflowing(None), |_| {
        Answer::now(Execution::Complete(ToolOutput::text(&"x".repeat(99)).as_error()))
    })]);
    assert_eq!(code(&gate.call("report", "{}").await), "output_too_large");
}

#[test]
fn a_result_that_may_overflow_has_a_schema_without_references() {
    let refers = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}"##;
    let faults = Contract::new(&overflowing(Some(refers)), &Limits::default()).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].member, "outputSchema");
    let dialect = r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}"#;
    let contract = Contract::new(&overflowing(Some(dialect)), &Limits::default()).unwrap();
    assert!(contract.rendered().contains(r#""outputSchema":{"$schema":"http://json-schema.org/draft-07/"#));
}

#[tokio::test]
async fn a_tool_makes_artifacts_only_if_its_contract_says_so() {
    let makes = |delivery| {
        let mut definition = definition("report");
        definition.delivery = delivery;
        tool(&definition, |invocation| {
            Answer::later(async move {
                match invocation.artifacts() {
                    Ok(artifacts) => {
                        let writer = artifacts.begin("a.csv", "text/csv").await.unwrap();
                        Execution::Complete(writer.finish(None).await.unwrap().output())
                    }
                    Err(refusal) => Execution::Failed(refusal),
                }
            })
        })
    };
    for (delivery, expected) in [
        (Delivery::Inline, "tool_failed"),
        (Delivery::Overflow, "complete"),
        (Delivery::Artifact, "complete"),
    ] {
        let gate = Gate::new([makes(delivery)]);
        assert_eq!(code(&gate.call("report", "{}").await), expected, "{delivery:?}");
    }
}

/// A gate with a tool of that effect, which keeps a state in its first round and acts in the second.
fn acting(effect: Effect, limits: Limits) -> (Gate, Arc<AtomicUsize>) {
    let mut definition = definition("act");
    definition.effect = effect;
    if effect.changes_something() {
        definition.idempotency = Some(Idempotency::new(KeySource::Request));
        definition.resolution = Some(Resolution::Person);
    }
    let acts = Arc::new(AtomicUsize::new(0));
    let acted = Arc::clone(&acts);
    let act = tool(&definition, move |invocation| {
        if invocation.state().is_none() {
            invocation.keep("agreed");
            return Answer::now(Execution::Asks);
        }
        acted.fetch_add(1, Ordering::Relaxed);
        Answer::now(Execution::Complete(ToolOutput::text("done")))
    });
    let gate = Gate::with([act], limits, Arc::new(PermitsAll)).ledger(MemoryLedgerLimits::DEFAULT);
    (gate, acts)
}

/// A key that no call had before: a repeated call would get its stored result.
fn fresh_key() -> Document {
    static KEYS: AtomicUsize = AtomicUsize::new(0);
    let key = KEYS.fetch_add(1, Ordering::Relaxed);
    Document::parse(format!("{{\"{IDEMPOTENCY_KEY}\":\"{key}\"}}"), &json::Limits::DEFAULT).unwrap()
}

async fn state(gate: &Gate) -> String {
    let (arguments, meta) = (Document::empty_object(), fresh_key());
    let credentials = Credentials::new(Transport::Stdio, None);
    let mut call = Call::new("act", arguments.root(), credentials, &SilentPeer);
    call.meta = Some(meta.root());
    let settled = gate.pipeline.call(&gate.snapshot, &call).await.unwrap();
    let Outcome::InputRequired(questions) = settled.outcome() else { panic!("{settled:?}") };
    questions.state.clone().unwrap()
}

/// Calls with a state, and gives the code of the answer.
async fn send(gate: &Gate, state: &str) -> &'static str {
    let (arguments, meta) = (Document::empty_object(), fresh_key());
    let credentials = Credentials::new(Transport::Stdio, None);
    let mut call = Call::new("act", arguments.root(), credentials, &SilentPeer);
    call.meta = Some(meta.root());
    call.request_state = Some(state);
    code(&gate.pipeline.call(&gate.snapshot, &call).await)
}

#[tokio::test]
async fn a_state_is_good_for_one_effect_and_for_many_reads() {
    for (effect, again, times) in [(Effect::Append, "invalid_state", 1), (Effect::Read, "complete", 3)] {
        let (gate, acts) = acting(effect, Limits::default());
        let state = state(&gate).await;
        let call = async || send(&gate, &state).await;
        assert_eq!(call().await, "complete");
        assert_eq!(call().await, again);
        assert_eq!(call().await, again);
        assert_eq!(acts.load(Ordering::Relaxed), times, "{effect}");
    }
}

#[tokio::test]
async fn of_many_calls_with_one_state_at_once_one_acts() {
    let (gate, acts) = acting(Effect::Destructive, Limits::default());
    let state = state(&gate).await;
    let calls = (0..32).map(|_| send(&gate, &state));
    let results = futures_util::future::join_all(calls).await;
    assert_eq!(results.iter().filter(|result| **result == "complete").count(), 1);
    assert_eq!(acts.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn where_no_used_state_can_be_remembered_none_is_taken() {
    let mut limits = Limits::default();
    limits.spent = 1;
    let (gate, acts) = acting(Effect::Append, limits);
    let (first, second) = (state(&gate).await, state(&gate).await);
    let call = async |state: &str| send(&gate, state).await;
    assert_eq!(call(&first).await, "complete");
    assert_eq!(call(&second).await, "store_full");
    assert_eq!(acts.load(Ordering::Relaxed), 1);
    // When the first could not be sent again anyway, there is room.
    gate.clock.0.store(1, Ordering::Relaxed);
    let later = state(&gate).await;
    gate.clock.0.store(600_000_000, Ordering::Relaxed);
    assert_eq!(call(&first).await, "invalid_state");
    assert_eq!(call(&later).await, "complete");
}
