//! Tools that change something: what a repeated, a parallel, a lost and a failed call leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::contract::{Contract, Definition, Effect, Idempotency, KeyScope, KeySource, Resolution};
use callgate_core::invocation::Invocation;
use callgate_core::limits::Limits;
use callgate_core::outcome::{Outcome, Settled, ToolOutput};
use callgate_core::port::{
    Answer, Execute, Execution, LocalIdentity, MemoryLedgerLimits, StoredResult, Unresolved, Verdict,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal, Retry};
use callgate_core::snapshot::Tool;

use super::support::{Gate, PermitsAll, changing, code, tool};

/// A tool that counts how often it ran.
fn counting(definition: &Definition, runs: &Arc<AtomicUsize>) -> Arc<Tool> {
    let runs = Arc::clone(runs);
    tool(definition, move |_| {
        let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
        Answer::now(Execution::Complete(ToolOutput::structured(run.to_string())))
    })
}

fn gate(tools: impl IntoIterator<Item = Arc<Tool>>, limits: MemoryLedgerLimits) -> Gate {
    Gate::with(tools, Limits::default(), Arc::new(PermitsAll)).ledger(limits)
}

fn result(settled: &Result<Settled, Refusal>) -> String {
    match settled.as_ref().unwrap().outcome() {
        Outcome::Complete(output) => output.structured.as_ref().unwrap().text().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn effect(settled: &Result<Settled, Refusal>) -> &'static str {
    settled.as_ref().unwrap().receipt().effect.as_str()
}

#[tokio::test]
async fn a_repeated_call_runs_once_and_gets_the_first_result_marked() {
    let runs = Arc::default();
    let definition = changing("pay", Effect::Append, KeySource::Input);
    let gate = gate([counting(&definition, &runs)], MemoryLedgerLimits::DEFAULT);
    let first = gate.call("pay", r#"{"n":1,"s":"a"}"#).await;
    // The same input in another spelling.
    let second = gate.call("pay", r#"{ "s":"a", "n":1.0 }"#).await;
    assert_eq!((result(&first), result(&second)), ("1".into(), "1".into()));
    assert_eq!((effect(&first), effect(&second)), ("committed", "committed"));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.receipt().replayed, None);
    assert_eq!(second.receipt().replayed, Some(first.receipt().call));
    assert_ne!(second.receipt().call, first.receipt().call);
    assert_eq!(result(&gate.call("pay", r#"{"n":2,"s":"a"}"#).await), "2", "another input is another call");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_key_that_was_used_for_other_arguments_is_refused() {
    let runs = Arc::default();
    let mut definition = changing("pay", Effect::Append, KeySource::Argument("s".into()));
    definition.input_schema = r#"{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["s"],"additionalProperties":false}"#.into();
    let gate = gate([counting(&definition, &runs)], MemoryLedgerLimits::DEFAULT);
    assert_eq!(result(&gate.call("pay", r#"{"n":1,"s":"key"}"#).await), "1");
    let refused = gate.call("pay", r#"{"n":2,"s":"key"}"#).await;
    assert_eq!(code(&refused), "idempotency_conflict");
    assert_eq!(result(&gate.call("pay", r#"{"n":1,"s":"key"}"#).await), "1");
    assert_eq!(result(&gate.call("pay", r#"{"n":2,"s":"other"}"#).await), "2");
    for (key, fits) in [("k".repeat(256), true), ("k".repeat(257), false), (String::new(), false)] {
        let answer = gate.call("pay", &format!(r#"{{"s":"{key}"}}"#)).await;
        assert_eq!(code(&answer) == "complete", fits, "{} bytes: {}", key.len(), code(&answer));
    }
    assert_eq!(runs.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_key_of_the_request_is_required_and_must_be_a_string() {
    let runs = Arc::default();
    let definition = changing("pay", Effect::Append, KeySource::Request);
    let gate = gate([counting(&definition, &runs)], MemoryLedgerLimits::DEFAULT);
    for (meta, expected) in [
        (None, "idempotency_key_required"),
        (Some("{}"), "idempotency_key_required"),
        (Some(r#"{"dev.callgate/idempotencyKey":7}"#), "idempotency_key_required"),
        (Some(r#"{"dev.callgate/idempotencyKey":""}"#), "idempotency_key_required"),
        (Some(r#"{"dev.callgate/idempotencyKey":"a"}"#), "complete"),
        (Some(r#"{"x":1,"dev.callgate/idempotencyKey":"a"}"#), "complete"),
    ] {
        let answer = gate.call_by(None, "pay", meta).await;
        assert_eq!(code(&answer), expected, "{meta:?}");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn keys_belong_to_a_principal_or_to_a_tenant_as_declared() {
    for (scope, expected) in [(KeyScope::Principal, ["1", "2", "3"]), (KeyScope::Tenant, ["1", "1", "2"])] {
        let runs = Arc::default();
        let mut definition = changing("pay", Effect::Append, KeySource::Input);
        definition.idempotency = Some(Idempotency::new(KeySource::Input).with_scope(scope));
        let mut gate = gate([counting(&definition, &runs)], MemoryLedgerLimits::DEFAULT);
        for ((subject, tenant), expected) in
            [("dana", "tenant-a"), ("kim", "tenant-a"), ("dana", "tenant-b")].into_iter().zip(expected)
        {
            let principal = Principal::new(subject).with_tenant(tenant);
            gate.snapshot.authenticate = Arc::new(LocalIdentity::new(principal));
            assert_eq!(
                result(&gate.call("pay", r#"{"n":1}"#).await),
                expected,
                "{scope:?} {subject} {tenant}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_calls_at_once_one_runs_and_the_other_waits_for_its_result() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let definition = changing("pay", Effect::Append, KeySource::Input);
    let slow = tool(&definition, move |_| {
        let run = counted.fetch_add(1, Ordering::Relaxed) + 1;
        Answer::later(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Execution::Complete(ToolOutput::structured(run.to_string()))
        })
    });
    let gate = gate([slow], MemoryLedgerLimits::DEFAULT);
    let (one, other) = tokio::join!(gate.call("pay", "{}"), gate.call("pay", "{}"));
    assert_eq!((result(&one), result(&other)), ("1".into(), "1".into()));
    assert!(other.unwrap().receipt().replayed.is_some());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_longer_than_it_may_is_told_that_the_other_has_not_ended() {
    let mut definition = changing("pay", Effect::Append, KeySource::Input);
    definition.timeout = Some(Duration::from_secs(30));
    let slow = tool(&definition, |_| {
        Answer::later(async {
            tokio::time::sleep(Duration::from_secs(25)).await;
            Execution::Complete(ToolOutput::structured("1"))
        })
    });
    let gate = gate([slow], MemoryLedgerLimits::DEFAULT);
    let first = gate.call("pay", "{}");
    // The same tool, reloaded with a shorter time.
    definition.timeout = Some(Duration::from_secs(2));
    let snapshot = {
        let tools = [tool(&definition, |_| Answer::now(Execution::Complete(ToolOutput::structured("2"))))];
        Gate::with(tools, Limits::default(), Arc::new(PermitsAll)).snapshot
    };
    let (first, second) = tokio::join!(first, gate.call_by(Some(&snapshot), "pay", None));
    assert_eq!(code(&first), "complete");
    assert_eq!(code(&second), "call_in_flight");
    assert!(matches!(second.unwrap_err().retry(), Retry::After(_)));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_proves_nothing_leaves_an_unknown_outcome_that_no_repeat_runs_again() {
    type End = fn() -> Execution;
    let ends: [(&str, End); 3] = [
        ("failed", || Execution::Failed(Refusal::new(Code::SourceUnavailable, "gone"))),
        ("panicked", || panic!("boom")),
        ("tool error", || Execution::Complete(ToolOutput::text("half done").as_error())),
    ];
    for (name, end) in ends {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let definition = changing("pay", Effect::Append, KeySource::Input);
        let failing = tool(&definition, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Answer::later(async move { end() })
        });
        let gate = gate([failing], MemoryLedgerLimits::DEFAULT);
        let first = gate.call("pay", "{}").await;
        assert_eq!(effect(&first), "unknown", "{name}");
        if let Outcome::Failed(refusal) = first.as_ref().unwrap().outcome() {
            assert_eq!(refusal.code(), Code::OutcomeUnknown, "{name}");
            assert_eq!(refusal.retry(), Retry::No);
        }
        let second = gate.call("pay", "{}").await.unwrap_err();
        assert_eq!(second.code(), Code::OutcomeUnknown, "{name}");
        assert!(second.public().contains(&first.unwrap().receipt().call.to_string()), "{second}");
        assert_eq!(runs.load(Ordering::Relaxed), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_no_rollback() {
    let mut definition = changing("pay", Effect::Destructive, KeySource::Input);
    definition.timeout = Some(Duration::from_secs(1));
    let hangs = tool(&definition, |_| Answer::later(std::future::pending()));
    let gate = gate([hangs], MemoryLedgerLimits::DEFAULT);
    let first = gate.call("pay", "{}").await;
    assert_eq!((code(&first), effect(&first)), ("outcome_unknown", "unknown"));
    assert_eq!(code(&gate.call("pay", "{}").await), "outcome_unknown");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_its_tool_runs_leaves_an_unknown_outcome() {
    let definition = changing("pay", Effect::Append, KeySource::Input);
    let hangs = tool(&definition, |_| Answer::later(std::future::pending()));
    let gate = gate([hangs], MemoryLedgerLimits::DEFAULT);
    let dropped = tokio::time::timeout(Duration::from_millis(10), gate.call("pay", "{}")).await;
    assert!(dropped.is_err());
    assert_eq!(gate.records.taken(), [("pay".into(), "cancelled".into())]);
    assert_eq!(code(&gate.call("pay", "{}").await), "outcome_unknown");
}

#[tokio::test]
async fn a_proof_that_nothing_changed_lets_the_same_key_be_tried_again() {
    type End = fn() -> Execution;
    let ends: [(&str, End); 2] = [
        ("not done", || Execution::NotDone(Refusal::new(Code::SourceUnavailable, "not reached"))),
        ("unchanged", || Execution::Complete(ToolOutput::text("no such account").as_unchanged())),
    ];
    for (name, end) in ends {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let definition = changing("pay", Effect::Append, KeySource::Input);
        let second_time = tool(&definition, move |_| {
            Answer::now(match counted.fetch_add(1, Ordering::Relaxed) {
                0 => end(),
                _ => Execution::Complete(ToolOutput::structured("2")),
            })
        });
        let gate = gate([second_time], MemoryLedgerLimits::DEFAULT);
        assert_eq!(effect(&gate.call("pay", "{}").await), "failed", "{name}");
        let second = gate.call("pay", "{}").await;
        assert_eq!((result(&second).as_str(), effect(&second)), ("2", "committed"), "{name}");
        assert_eq!(second.unwrap().receipt().replayed, None);
    }
}

#[tokio::test]
async fn a_result_that_may_not_leave_is_still_an_effect_that_happened() {
    type End = fn() -> Execution;
    let ends: [End; 2] = [
        || Execution::Complete(ToolOutput::structured("7")),
        || Execution::Done(Refusal::new(Code::OutputInvalid, "the answer of the service is no JSON")),
    ];
    for end in ends {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let mut definition = changing("pay", Effect::Append, KeySource::Input);
        definition.output_schema = Some(r#"{"type":"string"}"#.into());
        let lies = tool(&definition, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Answer::now(end())
        });
        let gate = gate([lies], MemoryLedgerLimits::DEFAULT);
        let first = gate.call("pay", "{}").await;
        assert_eq!((code(&first), effect(&first)), ("output_invalid", "committed"));
        let second = gate.call("pay", "{}").await;
        assert_eq!((code(&second), effect(&second)), ("result_not_kept", "committed"));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn a_result_at_its_bound_is_kept_and_one_byte_more_is_not() {
    for (length, expected) in [(64, "complete"), (65, "result_not_kept")] {
        let definition = changing("pay", Effect::Append, KeySource::Input);
        let text = format!("\"{}\"", "x".repeat(length - 2));
        let long = tool(&definition, move |_| {
            Answer::now(Execution::Complete(ToolOutput::structured(text.clone())))
        });
        let gate = gate([long], MemoryLedgerLimits::DEFAULT.with_result_bytes(64));
        assert_eq!(code(&gate.call("pay", "{}").await), "complete");
        let second = gate.call("pay", "{}").await;
        assert_eq!((code(&second), effect(&second)), (expected, "committed"));
    }
}

#[tokio::test]
async fn a_result_of_another_definition_is_not_shown() {
    let runs = Arc::default();
    let mut definition = changing("pay", Effect::Append, KeySource::Input);
    let mut gate = gate([counting(&definition, &runs)], MemoryLedgerLimits::DEFAULT);
    assert_eq!(result(&gate.call("pay", "{}").await), "1");
    definition.output_schema = Some(r#"{"type":"string"}"#.into());
    gate.snapshot =
        Gate::with([counting(&definition, &runs)], Limits::default(), Arc::new(PermitsAll)).snapshot;
    let second = gate.call("pay", "{}").await;
    assert_eq!((code(&second), effect(&second)), ("result_not_kept", "committed"));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_full_ledger_refuses_and_forgets_nothing_before_its_time() {
    let runs = Arc::default();
    let mut definition = changing("pay", Effect::Append, KeySource::Input);
    let retention = Duration::from_secs(60);
    definition.idempotency = Some(Idempotency::new(KeySource::Input).with_retention(retention));
    let gate = gate([counting(&definition, &runs)], MemoryLedgerLimits::DEFAULT.with_rows(2));
    for n in [1, 2] {
        assert_eq!(code(&gate.call("pay", &format!(r#"{{"n":{n}}}"#)).await), "complete");
    }
    assert_eq!(code(&gate.call("pay", r#"{"n":3}"#).await), "ledger_full");
    assert_eq!(result(&gate.call("pay", r#"{"n":1}"#).await), "1", "a repeated call needs no room");
    gate.clock.0.store(59_999_999, Ordering::Relaxed);
    assert_eq!(code(&gate.call("pay", r#"{"n":3}"#).await), "ledger_full");
    gate.clock.0.store(60_000_000, Ordering::Relaxed);
    assert_eq!(result(&gate.call("pay", r#"{"n":3}"#).await), "3");
}

#[tokio::test]
async fn an_executor_gets_one_key_for_each_intention() {
    let keys = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let definition = changing("pay", Effect::Append, KeySource::Input);
    let failing = tool(&definition, move |invocation| {
        seen.lock().unwrap().push(invocation.effect_key());
        Answer::now(Execution::NotDone(Refusal::new(Code::SourceUnavailable, "not reached")))
    });
    let gate = gate([failing], MemoryLedgerLimits::DEFAULT);
    for arguments in [r#"{"n":1}"#, r#"{"n":1.0}"#, r#"{"n":2}"#] {
        let _ = gate.call("pay", arguments).await;
    }
    let keys = keys.lock().unwrap();
    assert!(keys.iter().all(Option::is_some));
    assert_eq!(keys[0], keys[1]);
    assert_ne!(keys[0], keys[2]);
}

#[test]
fn a_tool_above_preview_must_say_how_a_repeat_is_recognised_and_who_resolves_an_unknown_outcome() {
    let faults = |change: fn(&mut Definition)| {
        let mut definition = super::support::definition("t");
        change(&mut definition);
        match Contract::new(&definition, &Limits::default()) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.into_iter().map(|fault| fault.to_string()).collect::<Vec<_>>(),
        }
    };
    for effect in Effect::ALL {
        let mut definition = super::support::definition("t");
        definition.effect = effect;
        let refused = Contract::new(&definition, &Limits::default()).err().map_or(0, |faults| faults.len());
        assert_eq!(refused, if effect.changes_something() { 2 } else { 0 }, "{effect}");
    }
    let found = faults(|definition| {
        definition.idempotency = Some(Idempotency::new(KeySource::Input));
        definition.resolution = Some(Resolution::Person);
    });
    assert_eq!(found.len(), 2, "a read needs neither: {found:?}");
    let found = faults(|definition| {
        definition.effect = Effect::Update;
        definition.resolution = Some(Resolution::Backend);
        definition.idempotency = Some(Idempotency::new(KeySource::Argument("s".into())));
    });
    assert!(found.len() == 1 && found[0].contains("`s`"), "it is not required: {found:?}");
    let found = faults(|definition| {
        definition.effect = Effect::Update;
        definition.resolution = Some(Resolution::Backend);
        definition.idempotency =
            Some(Idempotency::new(KeySource::Input).with_retention(Duration::from_secs(367 * 24 * 60 * 60)));
    });
    assert_eq!(found.len(), 1, "{found:?}");
}

/// A tool whose backend says what it says.
struct Asked(Arc<AtomicUsize>, Verdict);

impl Execute for Asked {
    fn execute<'a>(&'a self, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
        Answer::now(match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => Execution::Failed(Refusal::new(Code::SourceUnavailable, "gone")),
            run => Execution::Complete(ToolOutput::structured((run + 1).to_string())),
        })
    }

    fn resolve<'a>(&'a self, _: &'a Unresolved<'a>) -> Answer<'a, Verdict> {
        Answer::now(self.1.clone())
    }
}

#[tokio::test]
async fn a_backend_that_keeps_the_key_says_what_became_of_an_unknown_effect() {
    let kept = StoredResult::new(None, Some("1".to_owned()), None);
    for (resolution, verdict, expected, effect_then, runs_then) in [
        (Resolution::Backend, Verdict::Happened(Some(kept.clone())), "complete", "committed", 1),
        (Resolution::Backend, Verdict::Happened(None), "result_not_kept", "committed", 1),
        (Resolution::Backend, Verdict::DidNotHappen, "complete", "committed", 2),
        (Resolution::Backend, Verdict::CannotTell, "outcome_unknown", "", 1),
        (Resolution::Person, Verdict::Happened(Some(kept)), "outcome_unknown", "", 1),
    ] {
        let runs = Arc::new(AtomicUsize::new(0));
        let mut definition = changing("pay", Effect::Append, KeySource::Input);
        definition.resolution = Some(resolution);
        let contract = Contract::new(&definition, &Limits::default()).unwrap();
        let tool = Arc::new(Tool::new(contract, Asked(Arc::clone(&runs), verdict.clone())));
        let gate = gate([tool], MemoryLedgerLimits::DEFAULT);
        assert_eq!(code(&gate.call("pay", "{}").await), "outcome_unknown");
        let second = gate.call("pay", "{}").await;
        assert_eq!(code(&second), expected, "{resolution:?} {verdict:?}");
        if !effect_then.is_empty() {
            assert_eq!(effect(&second), effect_then, "{resolution:?} {verdict:?}");
        }
        assert_eq!(runs.load(Ordering::Relaxed), runs_then, "{resolution:?} {verdict:?}");
    }
}

#[test]
fn what_a_definition_says_of_versions_and_of_taking_back_is_judged_and_part_of_the_contract() {
    let digest = |change: &dyn Fn(&mut Definition)| {
        let mut definition = changing("pay", Effect::Append, KeySource::Input);
        definition.input_schema =
            r#"{"type":"object","properties":{"version":{"type":"integer"},"n":{"type":"integer"}},"required":["version"]}"#
                .to_owned();
        change(&mut definition);
        Contract::new(&definition, &Limits::default()).map(|contract| contract.digest())
    };
    let plain = digest(&|_| {}).unwrap();
    let version = digest(&|definition| definition.precondition = Some("version".to_owned())).unwrap();
    let back =
        digest(&|definition| definition.compensation = Some("Refund the payment.".to_owned())).unwrap();
    assert!(plain != version && plain != back && version != back);
    type Change = fn(&mut Definition);
    let changes: [(Change, &str); 5] = [
        (|definition| definition.precondition = Some("n".to_owned()), "not required"),
        (|definition| definition.precondition = Some("absent".to_owned()), "not declared"),
        (|definition| definition.compensation = Some(" ".to_owned()), "empty or too long"),
        (|definition| definition.compensation = Some("x".repeat(513)), "empty or too long"),
        (
            |definition| {
                definition.effect = Effect::Read;
                definition.idempotency = None;
                definition.resolution = None;
                definition.precondition = Some("version".to_owned());
                definition.compensation = Some("Refund the payment.".to_owned());
            },
            "changes nothing",
        ),
    ];
    for (change, expected) in changes {
        let faults = digest(&change).unwrap_err();
        assert!(faults.iter().all(|fault| fault.problem.contains(expected)), "{faults:?}");
    }
}

#[test]
fn of_many_threads_that_claim_one_intention_at_once_one_owns_it() {
    use callgate_core::contract::digest::{Digest, InputDigest};
    use callgate_core::port::{Claim, EffectKey, Ledger as _, MemoryLedger, Reservation, Row, SystemClock};
    use callgate_core::receipt::CallId;
    use std::sync::Barrier;
    const THREADS: usize = 8;
    let definition = changing("pay", Effect::Append, KeySource::Input);
    let contract = Contract::new(&definition, &Limits::default()).unwrap();
    let principal = Principal::new("dana");
    for round in 0..200_u8 {
        let ledger = MemoryLedger::new(MemoryLedgerLimits::DEFAULT, Arc::new(SystemClock));
        let (barrier, owned) = (Barrier::new(THREADS), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (ledger, barrier, owned) = (&ledger, &barrier, &owned);
                let (contract, principal) = (&contract, &principal);
                scope.spawn(move || {
                    let call = CallId::new(u64::from(round), &[u8::try_from(thread).unwrap(); 10]);
                    let row = Row::new(EffectKey(Digest::of_bytes(b"k")), call);
                    let (input, deadline) =
                        (InputDigest(Digest::of_bytes(b"i")), tokio::time::Instant::now());
                    let claim =
                        Claim::new(row, input, principal, contract, Duration::from_secs(60), deadline);
                    barrier.wait();
                    let answer = futures_util::FutureExt::now_or_never(ledger.reserve(claim)).unwrap();
                    if let Ok(Reservation::Owned) = answer {
                        owned.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(owned.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn an_effect_that_becomes_known_after_its_time_is_not_done_again_in_the_same_breath() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let mut definition = changing("pay", Effect::Append, KeySource::Input);
    definition.idempotency = Some(Idempotency::new(KeySource::Input).with_retention(Duration::from_secs(60)));
    definition.resolution = Some(Resolution::Backend);
    let contract = Contract::new(&definition, &Limits::default()).unwrap();
    let lost = Tool::new(contract, LosesAnswers(counted));
    let gate = gate([Arc::new(lost)], MemoryLedgerLimits::DEFAULT);
    assert_eq!(code(&gate.call("pay", "{}").await), "outcome_unknown");
    // Long after the time for which repeats are recognised, the backend still knows.
    gate.clock.0.store(3_600_000_000, Ordering::Relaxed);
    let second = gate.call("pay", "{}").await;
    assert_eq!((code(&second), effect(&second)), ("complete", "committed"));
    assert!(second.unwrap().receipt().replayed.is_some());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

/// Does its work, loses the answer, and can be asked.
struct LosesAnswers(Arc<AtomicUsize>);

impl callgate_core::port::Execute for LosesAnswers {
    fn execute<'a>(&'a self, _: &'a callgate_core::invocation::Invocation<'a>) -> Answer<'a, Execution> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Answer::now(Execution::Failed(Refusal::new(Code::SourceUnavailable, "the connection was lost")))
    }

    fn resolve<'a>(
        &'a self,
        _: &'a callgate_core::port::Unresolved<'a>,
    ) -> Answer<'a, callgate_core::port::Verdict> {
        let result = callgate_core::port::StoredResult::new(None, Some("1".into()), None);
        Answer::now(callgate_core::port::Verdict::Happened(Some(result)))
    }
}
