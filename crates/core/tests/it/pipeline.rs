//! Each refusal of the gate, and what is recorded of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::call::{Header, MirroredHeaders};
use callgate_core::contract::KeySource;
use callgate_core::contract::digest::ShownDigest;
use callgate_core::contract::{Contract, Effect};
use callgate_core::limits::Limits;
use callgate_core::outcome::{Outcome, ToolOutput};
use callgate_core::port::{
    Answer, Credentials, Decision, Execution, MemoryLedgerLimits, Policy, Question, Transport,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;

use super::support::{Gate, PermitsAll, answers, changing, code, definition, tool};

fn recorded(tool: &str, outcome: &str) -> Vec<(String, String)> {
    vec![(tool.to_owned(), outcome.to_owned())]
}

#[tokio::test]
async fn a_call_that_passes_every_step_is_answered_recorded_and_has_a_receipt() {
    let gate = Gate::new([tool(&definition("echo"), answers(r#"{"n":9007199254740993}"#))]);
    let settled = gate.call("echo", r#"{"n":1}"#).await.unwrap();
    let Outcome::Complete(output) = settled.outcome() else { panic!("{settled:?}") };
    assert_eq!(output.structured.as_ref().unwrap().text(), r#"{"n":9007199254740993}"#);
    assert_eq!(gate.records.taken(), recorded("echo", "answered"));
    let mut receipt = String::new();
    let policy = ShownDigest::new(settled.receipt().policy);
    settled.receipt().write(&mut receipt, settled.contract().shown_digest(), &policy);
    assert!(
        receipt.starts_with(r#"{"call":""#)
            && receipt.contains(r#""effect":"none","replayed":false,"contract":"sha256:"#)
    );
}

#[tokio::test]
async fn two_spellings_of_one_input_have_one_digest_and_two_calls_two_ids() {
    let gate = Gate::new([tool(&definition("echo"), answers("1"))]);
    let one = gate.call("echo", r#"{"n":1,"s":"é"}"#).await.unwrap();
    let other = gate.call("echo", r#"{"s":"\u00e9","n":1.0}"#).await.unwrap();
    assert_eq!(one.receipt().input, other.receipt().input);
    assert_ne!(one.receipt().call, other.receipt().call);
}

/// Requirements: TOOL-26, CACHE-18.
#[tokio::test]
async fn a_hidden_tool_and_an_unknown_one_give_the_same_answer() {
    struct Hides;
    impl Policy for Hides {
        fn is_visible(&self, _: &Principal, contract: &Contract) -> bool {
            contract.name().as_str() != "secret"
        }
        fn is_same_for_all(&self) -> bool {
            true
        }
        fn decide<'a>(&'a self, _: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
            Answer::now(Ok(Decision::Permit { policies: Vec::new() }))
        }
    }
    let gate = Gate::with([tool(&definition("secret"), answers("1"))], Limits::default(), Arc::new(Hides));
    let hidden = gate.call("secret", "{}").await.unwrap_err();
    let unknown = gate.call("nothing", "{}").await.unwrap_err();
    assert_eq!((hidden.code(), hidden.public()), (unknown.code(), unknown.public()));
    assert_eq!(hidden.code().as_str(), "unknown_tool");
    let refused = [recorded("secret", "unknown_tool"), recorded("nothing", "unknown_tool")].concat();
    assert_eq!(gate.records.taken(), refused, "whoever probes for tools is on record");
    assert_ne!(hidden.detail(), unknown.detail(), "only the record tells the two apart");
}

/// Requirements: TOOL-26.
#[tokio::test]
async fn a_denied_call_is_not_executed_and_names_no_policy_to_the_caller() {
    struct Denies;
    impl Policy for Denies {
        fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
            true
        }
        fn is_same_for_all(&self) -> bool {
            true
        }
        fn decide<'a>(&'a self, _: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
            Answer::now(Ok(Decision::Deny { policies: vec!["night-shift".into()], errors: Vec::new() }))
        }
    }
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = ran.clone();
    let tool = tool(&definition("echo"), move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        Answer::now(Execution::Complete(ToolOutput::structured("1")))
    });
    let gate = Gate::with([tool], Limits::default(), Arc::new(Denies));
    let refusal = gate.call("echo", "{}").await.unwrap_err();
    assert_eq!(refusal.code().as_str(), "forbidden");
    assert!(!refusal.public().contains("night-shift") && refusal.detail().unwrap().contains("night-shift"));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

/// Requirements: TOOL-25.
#[tokio::test]
async fn arguments_outside_the_schema_are_refused_with_every_place_at_once() {
    let gate = Gate::new([tool(&definition("echo"), answers("1"))]);
    let refusal = gate.call("echo", r#"{"n":"5","s":7,"x":1}"#).await.unwrap_err();
    assert_eq!(refusal.code().as_str(), "invalid_arguments");
    let pointers: Vec<_> = refusal.violations().iter().map(|violation| violation.pointer.as_str()).collect();
    for pointer in ["/n", "/s", "/x"] {
        assert!(pointers.contains(&pointer), "{pointer} not in {pointers:?}");
    }
    assert_eq!(code(&gate.call("echo", "[]").await), "malformed_call");
}

/// Requirements: ELIC-34.
#[tokio::test]
async fn a_remote_caller_is_not_the_local_principal() {
    let gate = Gate::new([tool(&definition("echo"), answers("1"))]);
    let result = gate
        .call_with("echo", "{}", |call| call.credentials = Credentials::new(Transport::Remote, None))
        .await;
    assert_eq!(code(&result), "unauthenticated");
}

#[tokio::test]
async fn a_tool_that_changes_something_is_refused_without_approvals() {
    let definition = changing("pay", Effect::Append, KeySource::Input);
    let gate = Gate::new([tool(&definition, answers("1"))]).ledger(MemoryLedgerLimits::DEFAULT);
    assert_eq!(code(&gate.call("pay", "{}").await), "approval_required");
}

#[tokio::test]
async fn a_permitted_effect_is_refused_without_a_ledger() {
    let definition = changing("pay", Effect::Destructive, KeySource::Input);
    let gate = Gate::with([tool(&definition, answers("1"))], Limits::default(), Arc::new(PermitsAll));
    assert_eq!(code(&gate.call("pay", "{}").await), "ledger_required");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_finish_in_time_is_stopped_and_recorded() {
    let mut slow = definition("slow");
    slow.timeout = Some(Duration::from_millis(50));
    let gate = Gate::new([tool(&slow, |_| Answer::later(std::future::pending()))]);
    assert_eq!(code(&gate.call("slow", "{}").await), "timeout");
    assert_eq!(gate.records.taken(), recorded("slow", "timeout"));
}

#[tokio::test]
async fn a_panic_is_a_failure_of_that_one_call_and_its_text_is_not_shown() {
    let gate = Gate::new([
        tool(&definition("at_once"), |_| panic!("secret of the tool")),
        tool(&definition("later"), |_| {
            Answer::later(async {
                tokio::task::yield_now().await;
                panic!("secret of the tool")
            })
        }),
    ]);
    for name in ["at_once", "later"] {
        let result = gate.call(name, "{}").await;
        assert_eq!(code(&result), "tool_panicked");
        let settled = result.unwrap();
        let Outcome::Failed(refusal) = settled.outcome() else { panic!() };
        assert!(!refusal.public().contains("secret") && refusal.detail() == Some("secret of the tool"));
        assert_eq!(gate.records.taken(), recorded(name, "tool_panicked"));
    }
    assert_eq!(code(&gate.call("unknown", "{}").await), "unknown_tool");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_stops_the_tool_and_is_recorded_as_cancelled() {
    struct SetOnDrop(Arc<AtomicUsize>);
    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let stopped = Arc::new(AtomicUsize::new(0));
    let counter = stopped.clone();
    let gate = Gate::new([tool(&definition("slow"), move |invocation| {
        let token = invocation.cancellation();
        let guard = SetOnDrop(counter.clone());
        let counter = counter.clone();
        tokio::spawn(async move {
            token.cancelled().await;
            counter.fetch_add(10, Ordering::Relaxed);
        });
        Answer::later(async move {
            std::future::pending::<()>().await;
            drop(guard);
            unreachable!("the call is dropped while it waits")
        })
    })]);
    let dropped = tokio::time::timeout(Duration::from_millis(5), gate.call("slow", "{}")).await;
    assert!(dropped.is_err());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(stopped.load(Ordering::Relaxed), 11, "the future and the work beside it are stopped");
    assert_eq!(gate.records.taken(), recorded("slow", "cancelled"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_before_its_tool_runs_is_recorded_too() {
    struct Thinks;
    impl Policy for Thinks {
        fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
            true
        }
        fn is_same_for_all(&self) -> bool {
            true
        }
        fn decide<'a>(&'a self, _: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
            Answer::later(std::future::pending())
        }
    }
    let gate = Gate::with([tool(&definition("echo"), answers("1"))], Limits::default(), Arc::new(Thinks));
    let dropped = tokio::time::timeout(Duration::from_millis(5), gate.call("echo", "{}")).await;
    assert!(dropped.is_err());
    assert_eq!(gate.records.taken(), recorded("echo", "cancelled"));
    // Nobody leaves: the port itself has a bound.
    assert_eq!(code(&gate.call("echo", "{}").await), "gate_unavailable");
    assert_eq!(gate.records.taken(), recorded("echo", "gate_unavailable"));
}

#[tokio::test]
async fn a_credential_without_a_scope_is_told_all_scopes_of_the_tool_before_the_policy_is_asked() {
    struct NeverAsked;
    impl Policy for NeverAsked {
        fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
            true
        }
        fn is_same_for_all(&self) -> bool {
            true
        }
        fn decide<'a>(&'a self, _: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
            panic!("the scopes are compared first")
        }
    }
    let mut guarded = definition("guarded");
    guarded.scopes = vec!["invoices:read".into(), "invoices:list".into()];
    let gate = Gate::with([tool(&guarded, answers("1"))], Limits::default(), Arc::new(NeverAsked));
    let refusal = gate.call("guarded", "{}").await.unwrap_err();
    assert_eq!(refusal.code().as_str(), "insufficient_scope");
    assert_eq!(refusal.scopes(), ["invoices:read", "invoices:list"]);
}

#[tokio::test]
async fn a_result_whose_record_is_not_written_does_not_leave() {
    let gate = Gate::new([tool(&definition("echo"), answers("1"))]);
    gate.records.fail_next();
    let result = gate.call("echo", "{}").await;
    assert_eq!(code(&result), "gate_unavailable");
    assert!(result.is_ok(), "the call has a receipt, because its tool has run");
}

#[tokio::test]
async fn the_record_shows_the_declared_arguments_and_no_other() {
    let mut shown = definition("echo");
    shown.recorded = vec!["n".into()];
    let gate = Gate::new([tool(&shown, answers("1"))]);
    let _settled = gate.call("echo", r#"{"n":9007199254740993,"s":"private"}"#).await.unwrap();
    assert_eq!(gate.records.views(), [r#"{"n":9007199254740993}"#]);
}

/// Requirements: TOOL-21, TOOL-28.
#[tokio::test]
async fn a_result_outside_the_output_schema_does_not_leave() {
    let mut checked = definition("checked");
    checked.output_schema =
        Some(r#"{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}"#.into());
    let fails = |json: &'static str| Gate::new([tool(&checked, answers(json))]);
    for json in [r#"{"value":7}"#, "{}", "[]", "not json"] {
        let result = fails(json).call("checked", "{}").await;
        assert_eq!(code(&result), "output_invalid", "{json}");
    }
    let no_structure =
        Gate::new([tool(&checked, |_| Answer::now(Execution::Complete(ToolOutput::text("done"))))]);
    assert_eq!(code(&no_structure.call("checked", "{}").await), "output_invalid");
    assert_eq!(code(&fails(r#"{"value":"x"}"#).call("checked", "{}").await), "complete");
}

#[tokio::test]
async fn an_error_of_the_tool_is_passed_on_whatever_the_output_schema_says() {
    let mut checked = definition("checked");
    checked.output_schema = Some(r#"{"type":"object","required":["value"]}"#.into());
    let gate = Gate::new([tool(&checked, |_| {
        Answer::now(Execution::Complete(ToolOutput::text("quota reached").as_error()))
    })]);
    assert_eq!(code(&gate.call("checked", "{}").await), "complete");
}

#[tokio::test]
async fn a_result_at_its_bound_leaves_and_one_byte_more_does_not() {
    let mut small = definition("small");
    small.output_bytes = Some(10);
    let at = Gate::new([tool(&small, answers(r#""12345678""#))]);
    assert_eq!(code(&at.call("small", "{}").await), "complete");
    let past = Gate::new([tool(&small, answers(r#""123456789""#))]);
    assert_eq!(code(&past.call("small", "{}").await), "output_too_large");
}

/// Requirements: TOOL-28.
#[tokio::test]
async fn results_with_hidden_characters_are_marked_and_not_changed() {
    let gate = Gate::new([tool(&definition("echo"), answers("\"a\u{202e}b\""))]);
    let settled = gate.call("echo", "{}").await.unwrap();
    let Outcome::Complete(output) = settled.outcome() else { panic!() };
    assert!(output.hidden_text);
    assert_eq!(output.structured.as_ref().unwrap().text(), "\"a\u{202e}b\"");
}

#[tokio::test]
async fn mirrored_headers_and_arguments_must_agree() {
    struct One(&'static str, Header<'static>);
    impl MirroredHeaders for One {
        fn header(&self, name: &str) -> Header<'_> {
            if name == self.0 { self.1 } else { Header::Absent }
        }
    }
    let mut routed = definition("routed");
    routed.input_schema =
        r#"{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Region"}}}"#.into();
    let gate = Gate::new([tool(&routed, answers("1"))]);
    let check = async |arguments: &str, header: Header<'static>| {
        let headers = One("mcp-param-region", header);
        // The headers outlive the call, which the closure cannot know; a leak in a test is harmless.
        let headers: &'static One = Box::leak(Box::new(headers));
        code(&gate.call_with("routed", arguments, |call| call.headers = Some(headers)).await)
    };
    assert_eq!(check(r#"{"n":42}"#, Header::One(b"42")).await, "complete");
    assert_eq!(check(r#"{"n":42}"#, Header::One(b"42.0")).await, "complete");
    assert_eq!(check(r#"{"n":null}"#, Header::Absent).await, "invalid_arguments");
    assert_eq!(check("{}", Header::Absent).await, "complete");
    for (arguments, header) in [
        (r#"{"n":42}"#, Header::One(b"43" as &[u8])),
        (r#"{"n":42}"#, Header::Absent),
        (r#"{"n":42}"#, Header::Several),
        ("{}", Header::One(b"42")),
        (r#"{"n":42}"#, Header::One(b"=?base64?NDI?=")),
    ] {
        assert_eq!(check(arguments, header).await, "header_mismatch", "{arguments} {header:?}");
    }
}

#[tokio::test]
async fn the_place_of_a_refused_call_is_given_back() {
    let mut limits = Limits::default();
    limits.calls_in_flight = 1;
    let policy = Arc::new(callgate_core::policy::LocalPolicy::new());
    let gate = Gate::with([tool(&definition("echo"), answers("1"))], limits, policy);
    for _ in 0..3 {
        assert_eq!(code(&gate.call("nothing", "{}").await), "unknown_tool");
        assert_eq!(code(&gate.call("echo", "{}").await), "complete");
    }
}
