//! Calls of several rounds: questions, answers and sealed state.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use callgate_core::invocation::{Asked, Capability, CapabilitySet, InputRequest};
use callgate_core::limits::Limits;
use callgate_core::outcome::{Outcome, ToolOutput};
use callgate_core::port::{Answer, Execution};
use callgate_core::principal::Principal;
use callgate_core::snapshot::Tool;
use callgate_protocol::json::{self, Document};

use super::support::{Gate, code, definition, tool};

/// Asks for a name, keeps state, and greets in the second round.
fn greeter() -> Arc<Tool> {
    tool(&definition("greet"), |invocation| {
        Answer::later(async move {
            let request = InputRequest::new(
                "elicitation/create",
                r#"{"message":"Name?"}"#.into(),
                Capability::ElicitationForm,
            );
            match invocation.ask("name", request).await {
                Ok(Asked::Answered(answer)) => {
                    let round =
                        invocation.state().map_or("none", |state| std::str::from_utf8(state).unwrap());
                    let name = answer.path(["content", "name"]).and_then(|name| name.as_str()).unwrap();
                    Execution::Complete(ToolOutput::text(&format!("{name} {round}")))
                }
                Ok(Asked::AnsweredLater(_)) => unreachable!("a silent peer answers nothing"),
                Ok(Asked::Noted) => {
                    invocation.keep("round-1");
                    Execution::Asks
                }
                Err(refusal) => Execution::Failed(refusal),
            }
        })
    })
}

fn forms() -> CapabilitySet {
    CapabilitySet::NONE.with(Capability::ElicitationForm)
}

/// The first round; gives the sealed state.
async fn first_round(gate: &Gate) -> String {
    let settled = gate.call_with("greet", r#"{"n":1}"#, |call| call.declared = forms()).await.unwrap();
    let Outcome::InputRequired(questions) = settled.outcome() else { panic!("{settled:?}") };
    assert_eq!(questions.requests.len(), 1);
    assert_eq!(questions.requests[0].0, "name");
    questions.state.clone().unwrap()
}

async fn second_round(gate: &Gate, arguments: &str, state: &str) -> (&'static str, String) {
    let responses = Document::parse(
        r#"{"name":{"action":"accept","content":{"name":"Ada"}},"extra":1}"#,
        &json::Limits::DEFAULT,
    )
    .unwrap();
    let arguments = Document::parse(arguments, &json::Limits::DEFAULT).unwrap();
    let credentials = callgate_core::port::Credentials::new(callgate_core::port::Transport::Stdio, None);
    let mut call = callgate_core::call::Call::new(
        "greet",
        arguments.root(),
        credentials,
        &callgate_core::port::SilentPeer,
    );
    call.declared = forms();
    call.input_responses = Some(responses.root());
    call.request_state = Some(state);
    let result = gate.pipeline.call(&gate.snapshot, &call).await;
    let text = match &result {
        Ok(settled) => match settled.outcome() {
            Outcome::Complete(output) => output.content.clone().unwrap(),
            _ => String::new(),
        },
        Err(_) => String::new(),
    };
    (code(&result), text)
}

/// Requirements: BASE-31.
#[tokio::test]
async fn the_second_round_has_the_answer_and_the_state_of_the_first() {
    let gate = Gate::new([greeter()]);
    let state = first_round(&gate).await;
    assert!(!state.contains("round-1"));
    let (code, text) = second_round(&gate, r#"{"n":1.0}"#, &state).await;
    assert_eq!((code, text.as_str()), ("complete", r#"[{"type":"text","text":"Ada round-1"}]"#));
}

/// Requirements: ELIC-17, ELIC-22.
#[tokio::test]
async fn state_of_another_input_principal_time_or_server_is_refused_with_one_answer() {
    let gate = Gate::new([greeter()]);
    let state = first_round(&gate).await;
    assert_eq!(second_round(&gate, r#"{"n":2}"#, &state).await.0, "invalid_state");
    assert_eq!(second_round(&gate, r#"{"n":1}"#, &format!("{state}A")).await.0, "invalid_state");
    assert_eq!(second_round(&gate, r#"{"n":1}"#, "").await.0, "invalid_state");

    let mut other = Gate::new([greeter()]);
    other.snapshot.authenticate =
        Arc::new(callgate_core::port::LocalIdentity::new(Principal::new("eve").with_tenant("tenant-a")));
    assert_eq!(second_round(&other, r#"{"n":1}"#, &state).await.0, "invalid_state");

    gate.clock.0.store(600_000_000 - 1, Ordering::Relaxed);
    assert_eq!(second_round(&gate, r#"{"n":1}"#, &state).await.0, "complete");
    gate.clock.0.store(600_000_000, Ordering::Relaxed);
    assert_eq!(second_round(&gate, r#"{"n":1}"#, &state).await.0, "invalid_state");
}

#[tokio::test]
async fn a_client_that_did_not_declare_the_capability_is_not_asked() {
    let gate = Gate::new([greeter()]);
    let settled = gate.call("greet", r#"{"n":1}"#).await.unwrap();
    let Outcome::Failed(refusal) = settled.outcome() else { panic!("{settled:?}") };
    assert_eq!(refusal.code().as_str(), "missing_capability");
    assert_eq!(refusal.data(), Some(r#"{"requiredCapabilities":{"elicitation":{"form":{}}}}"#));
}

#[tokio::test]
async fn questions_and_state_at_their_bounds_pass_and_one_more_does_not() {
    let asks = |questions: usize, state: usize| {
        tool(&definition("greet"), move |invocation| {
            Answer::later(async move {
                for key in 0..questions {
                    let request = InputRequest::new("roots/list", "{}".into(), Capability::Roots);
                    if let Err(refusal) = invocation.ask(&key.to_string(), request).await {
                        return Execution::Failed(refusal);
                    }
                }
                invocation.keep(vec![b'x'; state]);
                Execution::Asks
            })
        })
    };
    let mut limits = Limits::default();
    limits.questions = 2;
    limits.state_bytes = 100;
    for (questions, state, expected) in [
        (2, 100, "input_required"),
        (3, 100, "tool_failed"),
        (2, 101, "tool_failed"),
        (0, 1, "input_required"),
    ] {
        let policy = Arc::new(callgate_core::policy::LocalPolicy::new());
        let gate = Gate::with([asks(questions, state)], limits.clone(), policy);
        let declared = CapabilitySet::NONE.with(Capability::Roots);
        let result = gate.call_with("greet", "{}", |call| call.declared = declared).await;
        assert_eq!(code(&result), expected, "{questions} {state}");
    }
}

#[tokio::test]
async fn a_tool_that_ends_without_result_and_question_has_failed() {
    let gate = Gate::new([tool(&definition("greet"), |_| Answer::now(Execution::Asks))]);
    assert_eq!(code(&gate.call("greet", "{}").await), "tool_failed");
}
