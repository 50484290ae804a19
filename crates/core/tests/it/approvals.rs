//! Approvals: what is asked, of whom, and that nothing but exactly what was approved runs, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_core::call::Call;
use callgate_core::contract::digest::Digest;
use callgate_core::contract::{Contract, Effect, IDEMPOTENCY_KEY, KeySource};
use callgate_core::invocation::{Asked, Capability, CapabilitySet, InputRequest};
use callgate_core::keeping::Stores;
use callgate_core::limits::Limits;
use callgate_core::memory::MemoryApprovals;
use callgate_core::outcome::{Outcome, Settled, ToolOutput};
use callgate_core::pipeline::Pipeline;
use callgate_core::port::{
    Answer, ApprovalVerdict, Approvals as _, Approver, Credentials, Decision, Execution, LocalIdentity,
    MemoryLedger, MemoryLedgerLimits, Policy, Question, Ruled, SilentPeer, SystemEntropy, Timestamp,
    Transport,
};
use callgate_core::principal::Principal;
use callgate_core::receipt::EffectStatus;
use callgate_core::refusal::Refusal;
use callgate_core::snapshot::Tool;
use callgate_protocol::json::{self, Document};

use super::support::{Gate, changing, code, definition, tool};

/// The key of the question and of its answer.
const KEY: &str = "dev.callgate/approval";

/// Wants every call approved, by whom is said.
struct Wants(Approver);

impl Policy for Wants {
    fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
        true
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        Answer::now(Ok(Decision::NeedsApproval { approver: self.0, policies: Vec::new() }))
    }
}

/// A gate with one tool that counts its runs, and the approvals of it.
struct Fixture {
    gate: Gate,
    runs: Arc<AtomicUsize>,
    store: Arc<MemoryApprovals>,
}

fn pay() -> callgate_core::contract::Definition {
    let mut definition = changing("pay", Effect::Append, KeySource::Request);
    definition.title = Some("Pay".into());
    definition
}

fn counting(runs: &Arc<AtomicUsize>, definition: &callgate_core::contract::Definition) -> Arc<Tool> {
    let counted = Arc::clone(runs);
    tool(definition, move |_| {
        let run = counted.fetch_add(1, Ordering::Relaxed) + 1;
        Answer::now(Execution::Complete(ToolOutput::structured(run.to_string())))
    })
}

impl Fixture {
    fn new(approver: Approver) -> Self {
        Self::with(approver, Limits::default(), |runs| counting(runs, &pay()))
    }

    fn with(approver: Approver, limits: Limits, make: impl FnOnce(&Arc<AtomicUsize>) -> Arc<Tool>) -> Self {
        let runs = Arc::default();
        let tool = make(&runs);
        let store = Arc::new(MemoryApprovals::shown_to_people());
        let mut gate = Gate::with([tool], limits, Arc::new(Wants(approver)));
        gate.snapshot.server = "bank".into();
        let mut fixture = Self { gate, runs, store };
        fixture.restart();
        fixture
    }

    /// A new process with the same approvals, the same keys and a new ledger.
    fn restart(&mut self) {
        let ledger = MemoryLedger::new(MemoryLedgerLimits::DEFAULT, self.gate.clock.clone());
        self.gate.pipeline = Pipeline::new(
            Arc::new(ledger),
            self.gate.records.clone(),
            self.gate.clock.clone(),
            Arc::new(SystemEntropy::default()),
        )
        .with_stores(Stores::in_memory().with_approvals(self.store.clone()));
    }

    /// One round of a call. Without a key a fresh one is made, so that no ledger stands in for an approval.
    async fn call(&self, round: Round<'_>) -> Result<Settled, Refusal> {
        static FRESH: AtomicUsize = AtomicUsize::new(0);
        let parse = |text: &str| Document::parse(text.to_owned(), &json::Limits::DEFAULT).unwrap();
        let key =
            round.key.map_or_else(|| format!("k{}", FRESH.fetch_add(1, Ordering::Relaxed)), str::to_owned);
        let meta = parse(&format!(r#"{{"{IDEMPOTENCY_KEY}":"{key}"}}"#));
        let arguments = parse(round.arguments);
        let responses = round
            .answer
            .map(|answer| parse(&format!(r#"{{"{KEY}":{answer},"name":{{"action":"accept"}}}}"#)));
        let mut call =
            Call::new("pay", arguments.root(), Credentials::new(Transport::Stdio, None), &SilentPeer);
        call.meta = Some(meta.root());
        call.input_responses = responses.as_ref().map(Document::root);
        call.request_state = round.state;
        if round.elicits {
            call.declared = CapabilitySet::NONE.with(Capability::ElicitationForm);
        }
        self.gate.pipeline.call(&self.gate.snapshot, &call).await
    }

    async fn ask(&self, arguments: &str) -> (String, String) {
        let settled = self.call(Round { arguments, ..Round::FIRST }).await.unwrap();
        question(&settled)
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    fn at(&self, microseconds: i64) {
        self.gate.clock.0.store(microseconds, Ordering::Relaxed);
    }

    fn caller(&mut self, principal: Principal) {
        self.gate.snapshot.authenticate = Arc::new(LocalIdentity::new(principal));
    }

    async fn pending(&self) -> Vec<callgate_core::port::ApprovalRow> {
        self.store.list(100, Timestamp(self.gate.clock.0.load(Ordering::Relaxed))).await.unwrap()
    }

    async fn rule(&self, verdict: ApprovalVerdict) -> Ruled {
        let now = Timestamp(self.gate.clock.0.load(Ordering::Relaxed));
        let id = self.pending().await.last().unwrap().id;
        self.store.rule(id, verdict, now).await.unwrap()
    }
}

#[derive(Clone, Copy)]
struct Round<'a> {
    arguments: &'a str,
    key: Option<&'a str>,
    state: Option<&'a str>,
    answer: Option<&'a str>,
    elicits: bool,
}

impl Round<'_> {
    const FIRST: Self = Round { arguments: ARGUMENTS, key: None, state: None, answer: None, elicits: true };
    /// A client that cannot be asked.
    const SILENT: Self = Round { elicits: false, ..Self::FIRST };
}

const ARGUMENTS: &str = r#"{"n":1,"s":"a"}"#;
const YES: &str = r#"{"action":"accept","content":{}}"#;
const NO: &str = r#"{"action":"decline"}"#;
const CANCEL: &str = r#"{"action":"cancel"}"#;

fn yes<'a>(state: &'a str) -> Round<'a> {
    Round { state: Some(state), answer: Some(YES), ..Round::FIRST }
}

/// The sealed state and the message of a question.
fn question(settled: &Settled) -> (String, String) {
    let Outcome::InputRequired(questions) = settled.outcome() else { panic!("{settled:?}") };
    assert_eq!(settled.receipt().effect, EffectStatus::NotStarted);
    let [(key, request)] = &*questions.requests else { panic!("{questions:?}") };
    assert_eq!((key.as_str(), request.method), (KEY, "elicitation/create"));
    let params: serde_json::Value = serde_json::from_str(&request.params).unwrap();
    assert_eq!(params["requestedSchema"], serde_json::json!({"type": "object", "properties": {}}));
    (questions.state.clone().unwrap(), params["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_caller_is_asked_and_its_yes_leads_to_one_run() {
    let fixture = Fixture::new(Approver::Caller);
    let (state, message) = fixture.ask(ARGUMENTS).await;
    for part in
        ["\"Pay\" (pay)", "server \"bank\"", "append: it adds", "- n: 1\n- s: \"a\"", "If you decline"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(fixture.runs(), 0);
    assert!(fixture.pending().await.is_empty(), "nothing is kept of a question");
    assert_eq!(code(&fixture.call(yes(&state)).await), "complete");
    assert_eq!(code(&fixture.call(yes(&state)).await), "invalid_state", "it is used up");
    let decline = Round { answer: Some(NO), ..yes(&state) };
    assert_eq!(code(&fixture.call(decline).await), "invalid_state");
    assert_eq!(fixture.runs(), 1);
    let taken = fixture.gate.records.taken();
    assert_eq!(taken.len(), 4, "{taken:?}");
}

#[tokio::test]
async fn a_no_and_a_dismissed_question_use_the_approval_up_too() {
    for answer in [NO, CANCEL] {
        let fixture = Fixture::new(Approver::Caller);
        let (state, _) = fixture.ask(ARGUMENTS).await;
        let answered = fixture.call(Round { answer: Some(answer), ..yes(&state) }).await;
        assert_eq!(code(&answered), "approval_denied");
        assert_eq!(code(&fixture.call(yes(&state)).await), "invalid_state", "{answer}");
        assert_eq!(fixture.runs(), 0);
    }
}

#[tokio::test]
async fn an_answer_that_is_none_changes_nothing() {
    let fixture = Fixture::new(Approver::Caller);
    let (state, _) = fixture.ask(ARGUMENTS).await;
    for answer in [r#"{"action":"yes"}"#, "true", r#"{"accept":true}"#] {
        let answered = fixture.call(Round { answer: Some(answer), ..yes(&state) }).await;
        assert_eq!(code(&answered), "invalid_input_response", "{answer}");
    }
    // Without an answer the question is put again.
    let again = fixture.call(Round { answer: None, ..yes(&state) }).await.unwrap();
    let (other, _) = question(&again);
    assert_ne!(other, state);
    let forged = Round { state: None, ..yes(&state) };
    assert_eq!(code(&fixture.call(forged).await), "input_required", "an answer without its question is none");
    assert_eq!(code(&fixture.call(yes(&other)).await), "complete");
}

/// Every change of a single field between the question and the answer.
#[tokio::test]
async fn any_change_after_the_question_voids_the_answer() {
    type Change = fn(&mut Fixture);
    let changes: [(&str, Change); 6] = [
        ("principal", |it| it.caller(Principal::new("eve").with_tenant("tenant-a"))),
        ("tenant", |it| it.caller(Principal::new("dana").with_tenant("tenant-b"))),
        ("no tenant", |it| it.caller(Principal::new("dana"))),
        ("policy", |it| it.gate.snapshot.policy_revision = Digest::of_bytes(b"other")),
        ("definition", |it| {
            let mut other = pay();
            other.description = Some("Pays twice.".into());
            let tools = [counting(&it.runs, &other)];
            it.gate.snapshot.catalogue = Gate::new(tools).snapshot.catalogue;
        }),
        ("time", |it| it.at(600_000_000)),
    ];
    for (name, change) in changes {
        let mut fixture = Fixture::new(Approver::Caller);
        let (state, _) = fixture.ask(ARGUMENTS).await;
        change(&mut fixture);
        assert_eq!(code(&fixture.call(yes(&state)).await), "invalid_state", "{name}");
        assert_eq!(fixture.runs(), 0, "{name}");
    }
    let fixture = Fixture::new(Approver::Caller);
    let (state, _) = fixture.ask(ARGUMENTS).await;
    for arguments in [r#"{"n":2,"s":"a"}"#, r#"{"n":1,"s":"b"}"#, r#"{"n":1}"#, "{}"] {
        assert_eq!(code(&fixture.call(Round { arguments, ..yes(&state) }).await), "invalid_state");
    }
    for forged in ["", "AAAA", &format!("{state}A"), &state[1..]] {
        assert_eq!(code(&fixture.call(yes(forged)).await), "invalid_state");
    }
    assert_eq!(fixture.runs(), 0);
    fixture.at(599_999_999);
    let same = Round { arguments: r#"{ "s" : "\u0061", "n" : 1.0 }"#, ..yes(&state) };
    assert_eq!(code(&fixture.call(same).await), "complete", "another spelling is the same call");
}

#[tokio::test]
async fn of_many_answers_at_once_one_runs() {
    let fixture = Fixture::new(Approver::Caller);
    let (state, _) = fixture.ask(ARGUMENTS).await;
    let all = futures_util::future::join_all((0..16).map(|_| fixture.call(yes(&state)))).await;
    assert_eq!(all.iter().filter(|answer| code(answer) == "complete").count(), 1);
    assert_eq!(fixture.runs(), 1);
}

#[tokio::test]
async fn a_restart_between_question_and_answer_keeps_the_approval_single() {
    let mut fixture = Fixture::new(Approver::Caller);
    let (state, _) = fixture.ask(ARGUMENTS).await;
    fixture.restart();
    assert_eq!(code(&fixture.call(yes(&state)).await), "complete");
    fixture.restart();
    assert_eq!(code(&fixture.call(yes(&state)).await), "invalid_state");
    assert_eq!(fixture.runs(), 1);
}

#[tokio::test]
async fn a_question_that_is_too_long_goes_to_people_and_one_that_nobody_can_read_is_refused() {
    let mut limits = Limits::default();
    limits.approval_question_bytes = 400;
    limits.approval_text_bytes = 600;
    let fixture = Fixture::with(Approver::Caller, limits, |runs| counting(runs, &pay()));
    for (length, expected) in [(10, "input_required"), (300, "approval_pending"), (600, "approval_required")]
    {
        let arguments = format!(r#"{{"s":"{}"}}"#, "x".repeat(length));
        let answer = fixture.call(Round { arguments: &arguments, ..Round::FIRST }).await;
        assert_eq!(code(&answer), expected, "{length}");
    }
    let shown = &fixture.pending().await[0].text;
    assert!(shown.contains(&"x".repeat(300)), "nothing is cut: {shown}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_waits_for_people_and_the_same_call_then_runs_once() {
    let fixture = Fixture::new(Approver::Caller);
    let first = fixture.call(Round::SILENT).await.unwrap_err();
    assert_eq!(first.code().as_str(), "approval_pending");
    let [row] = &*fixture.pending().await else { panic!("one waits") };
    assert!(first.public().contains(&row.id.to_string()), "{first}");
    assert!(first.data().unwrap().contains(&format!(r#""approval":"{}""#, row.id)));
    assert_eq!((row.subject.as_str(), row.tenant.as_deref()), ("dana", Some("tenant-a")));
    // Again and again: one waits, and it is the same.
    for _ in 0..3 {
        let again = fixture.call(Round::SILENT).await.unwrap_err();
        assert!(again.public().contains(&row.id.to_string()));
    }
    assert_eq!(fixture.pending().await.len(), 1);
    assert!(matches!(fixture.rule(ApprovalVerdict::grant("kim", Timestamp(0))).await, Ruled::Done(_)));
    let all = futures_util::future::join_all((0..8).map(|_| fixture.call(Round::SILENT))).await;
    assert_eq!(all.iter().filter(|answer| code(answer) == "complete").count(), 1);
    assert_eq!(fixture.runs(), 1);
}

#[tokio::test]
async fn any_change_after_the_grant_needs_another_approval() {
    type Change = fn(&mut Fixture) -> &'static str;
    let changes: [(&str, Change); 7] = [
        ("principal", |it| {
            it.caller(Principal::new("eve").with_tenant("tenant-a"));
            ARGUMENTS
        }),
        ("tenant", |it| {
            it.caller(Principal::new("dana").with_tenant("tenant-b"));
            ARGUMENTS
        }),
        ("policy", |it| {
            it.gate.snapshot.policy_revision = Digest::of_bytes(b"other");
            ARGUMENTS
        }),
        ("definition", |it| {
            let mut other = pay();
            other.timeout = Some(std::time::Duration::from_secs(7));
            other.description = Some("Pays twice.".into());
            it.gate.snapshot.catalogue = Gate::new([counting(&it.runs, &other)]).snapshot.catalogue;
            ARGUMENTS
        }),
        ("who approves", |it| {
            it.gate.snapshot.policy = Arc::new(Wants(Approver::SecondPerson));
            ARGUMENTS
        }),
        ("argument", |_| r#"{"n":2,"s":"a"}"#),
        ("time", |it| {
            it.at(3_600_000_000);
            ARGUMENTS
        }),
    ];
    for (name, change) in changes {
        let mut fixture = Fixture::new(Approver::Caller);
        assert_eq!(code(&fixture.call(Round::SILENT).await), "approval_pending");
        assert!(matches!(fixture.rule(ApprovalVerdict::grant("kim", Timestamp(0))).await, Ruled::Done(_)));
        let arguments = change(&mut fixture);
        let changed = fixture.call(Round { arguments, ..Round::SILENT }).await;
        assert_eq!(code(&changed), "approval_pending", "{name}");
        assert_eq!(fixture.runs(), 0, "{name}");
    }
    let mut fixture = Fixture::new(Approver::Caller);
    assert_eq!(code(&fixture.call(Round::SILENT).await), "approval_pending");
    assert!(matches!(fixture.rule(ApprovalVerdict::grant("kim", Timestamp(0))).await, Ruled::Done(_)));
    fixture.restart();
    fixture.at(3_599_999_999);
    let same = Round { arguments: r#"{ "s" : "a", "n" : 1e0 }"#, ..Round::SILENT };
    assert_eq!(code(&fixture.call(same).await), "complete", "another spelling is the same call");
    assert_eq!(code(&fixture.call(same).await), "approval_pending", "it is used up");
}

#[tokio::test]
async fn where_policy_wants_a_second_person_the_caller_is_not_asked_and_cannot_decide() {
    let fixture = Fixture::new(Approver::SecondPerson);
    assert_eq!(code(&fixture.call(Round::FIRST).await), "approval_pending", "although it could be asked");
    assert!(matches!(fixture.rule(ApprovalVerdict::grant("dana", Timestamp(0))).await, Ruled::OwnCall(_)));
    assert_eq!(code(&fixture.call(Round::FIRST).await), "approval_pending");
    assert!(matches!(fixture.rule(ApprovalVerdict::grant("kim", Timestamp(0))).await, Ruled::Done(_)));
    assert_eq!(code(&fixture.call(Round::FIRST).await), "complete");
}

#[tokio::test]
async fn what_a_person_has_denied_stays_denied_until_its_time_is_over() {
    let fixture = Fixture::new(Approver::SecondPerson);
    assert_eq!(code(&fixture.call(Round::FIRST).await), "approval_pending");
    let reason = Some("not this month".to_owned());
    assert!(matches!(fixture.rule(ApprovalVerdict::deny("kim").with_reason(reason)).await, Ruled::Done(_)));
    for _ in 0..2 {
        let denied = fixture.call(Round::FIRST).await.unwrap_err();
        assert_eq!(denied.code().as_str(), "approval_denied");
        assert!(denied.public().ends_with("not this month"), "{denied}");
    }
    assert!(matches!(fixture.rule(ApprovalVerdict::grant("kim", Timestamp(0))).await, Ruled::Settled(_)));
    fixture.at(3_600_000_000);
    assert_eq!(code(&fixture.call(Round::FIRST).await), "approval_pending");
    assert_eq!(fixture.runs(), 0);
}

#[tokio::test]
async fn without_a_way_to_people_a_call_that_needs_them_is_refused_with_what_to_do() {
    for approver in [Approver::Caller, Approver::SecondPerson] {
        let mut fixture = Fixture::new(approver);
        fixture.store = Arc::new(MemoryApprovals::new());
        fixture.restart();
        let refused = fixture.call(Round::SILENT).await.unwrap_err();
        assert_eq!(refused.code().as_str(), "approval_required", "{approver:?}");
    }
    let mut fixture = Fixture::new(Approver::Caller);
    fixture.gate.snapshot.approvals.by_people = false;
    assert_eq!(code(&fixture.call(Round::SILENT).await), "approval_required");
    fixture.gate.snapshot.approvals.by_people = true;
    fixture.gate.snapshot.approvals.in_call = false;
    assert_eq!(code(&fixture.call(Round::FIRST).await), "approval_pending", "the caller is not to be asked");
}

#[tokio::test]
async fn approvals_that_wait_are_bounded_and_none_is_pushed_out() {
    let mut limits = Limits::default();
    limits.approvals_of_principal = 2;
    limits.approvals = 3;
    let mut fixture = Fixture::with(Approver::SecondPerson, limits, |runs| counting(runs, &pay()));
    let of = |n: u8| format!(r#"{{"n":{n}}}"#);
    for (n, expected) in [(1, "approval_pending"), (2, "approval_pending"), (3, "store_full")] {
        assert_eq!(code(&fixture.call(Round { arguments: &of(n), ..Round::FIRST }).await), expected);
    }
    fixture.caller(Principal::new("eve"));
    for (n, expected) in [(1, "approval_pending"), (2, "store_full")] {
        assert_eq!(code(&fixture.call(Round { arguments: &of(n), ..Round::FIRST }).await), expected);
    }
    fixture.caller(Principal::new("dana").with_tenant("tenant-a"));
    assert_eq!(code(&fixture.call(Round { arguments: &of(1), ..Round::FIRST }).await), "approval_pending");
    fixture.at(3_600_000_000);
    assert_eq!(code(&fixture.call(Round { arguments: &of(3), ..Round::FIRST }).await), "approval_pending");
}

#[tokio::test]
async fn a_repeated_call_of_a_committed_effect_needs_no_second_approval() {
    let fixture = Fixture::new(Approver::SecondPerson);
    let keyed = Round { key: Some("one"), ..Round::FIRST };
    assert_eq!(code(&fixture.call(keyed).await), "approval_pending");
    assert!(matches!(fixture.rule(ApprovalVerdict::grant("kim", Timestamp(0))).await, Ruled::Done(_)));
    for _ in 0..3 {
        let settled = fixture.call(keyed).await.unwrap();
        let Outcome::Complete(output) = settled.outcome() else { panic!("{settled:?}") };
        assert_eq!(output.structured.as_ref().unwrap().text(), "1");
    }
    assert_eq!((fixture.runs(), fixture.pending().await.len()), (1, 1), "only the burned one is left");
}

/// A tool that asks for a name in its first round, after the approval.
fn asking(runs: &Arc<AtomicUsize>) -> Arc<Tool> {
    let counted = Arc::clone(runs);
    tool(&pay(), move |invocation| {
        let counted = Arc::clone(&counted);
        Answer::later(async move {
            if invocation.state().is_some() {
                counted.fetch_add(1, Ordering::Relaxed);
                let state = String::from_utf8(invocation.state().unwrap().to_vec()).unwrap();
                return Execution::Complete(ToolOutput::structured(format!("\"{state}\"")));
            }
            let request = InputRequest::new("elicitation/create", "{}".into(), Capability::ElicitationForm);
            assert!(matches!(invocation.ask("other", request).await, Ok(Asked::Noted)));
            invocation.keep("own state");
            Execution::Asks
        })
    })
}

#[tokio::test]
async fn a_tool_that_asks_after_the_approval_needs_no_second_one_and_runs_once() {
    let mut fixture = Fixture::with(Approver::Caller, Limits::default(), asking);
    let (first, _) = fixture.ask(ARGUMENTS).await;
    let settled = fixture.call(yes(&first)).await.unwrap();
    let Outcome::InputRequired(questions) = settled.outcome() else { panic!("{settled:?}") };
    let second = questions.state.clone().unwrap();
    assert_eq!(code(&fixture.call(yes(&first)).await), "invalid_state", "the approval leads on once");
    // Another process, which knows nothing of the states that were used, but has the approvals.
    fixture.restart();
    let done = fixture.call(yes(&second)).await.unwrap();
    let Outcome::Complete(output) = done.outcome() else { panic!("{done:?}") };
    assert_eq!(output.structured.as_ref().unwrap().text(), "\"own state\"");
    fixture.restart();
    assert_eq!(code(&fixture.call(yes(&second)).await), "invalid_state");
    assert_eq!(fixture.runs(), 1);
    // The policy has changed since the approval.
    let (first, _) = fixture.ask(ARGUMENTS).await;
    let settled = fixture.call(yes(&first)).await.unwrap();
    let Outcome::InputRequired(questions) = settled.outcome() else { panic!("{settled:?}") };
    fixture.gate.snapshot.policy_revision = Digest::of_bytes(b"other");
    assert_eq!(code(&fixture.call(yes(questions.state.as_ref().unwrap())).await), "invalid_state");
}

#[tokio::test]
async fn a_state_of_a_round_without_approval_opens_no_way_around_one() {
    let mut fixture = Fixture::with(Approver::Caller, Limits::default(), asking);
    let wants = std::mem::replace(&mut fixture.gate.snapshot.policy, Arc::new(super::support::PermitsAll));
    let settled = fixture.call(Round::FIRST).await.unwrap();
    let Outcome::InputRequired(questions) = settled.outcome() else { panic!("{settled:?}") };
    let state = questions.state.clone().unwrap();
    fixture.gate.snapshot.policy = wants;
    assert_eq!(code(&fixture.call(yes(&state)).await), "invalid_state");
    assert_eq!(fixture.runs(), 0);
}

#[tokio::test]
async fn a_no_is_heard_also_where_nobody_has_to_be_asked_any_more() {
    let mut fixture = Fixture::new(Approver::Caller);
    let (state, _) = fixture.ask(ARGUMENTS).await;
    fixture.gate.snapshot.policy = Arc::new(super::support::PermitsAll);
    let declined = fixture.call(Round { answer: Some(NO), ..yes(&state) }).await;
    assert_eq!(code(&declined), "approval_denied");
    assert_eq!(fixture.runs(), 0);
}

/// A trail that takes no record.
struct Down;

impl callgate_core::port::Audit for Down {
    fn ready(&self, _: &Contract) -> Result<(), Refusal> {
        Err(Refusal::new(callgate_core::refusal::Code::GateUnavailable, "the trail cannot be written"))
    }

    fn record<'a>(&'a self, _: &callgate_core::port::Record<'_>) -> Answer<'a, Result<(), Refusal>> {
        Answer::now(Ok(()))
    }
}

#[tokio::test]
async fn nobody_is_asked_and_no_approval_is_used_for_a_call_that_cannot_be_recorded() {
    let mut fixture = Fixture::new(Approver::SecondPerson);
    assert_eq!(code(&fixture.call(Round::FIRST).await), "approval_pending");
    assert!(matches!(fixture.rule(ApprovalVerdict::grant("kim", Timestamp(0))).await, Ruled::Done(_)));
    let entropy = || Arc::new(SystemEntropy::default());
    let clock = fixture.gate.clock.clone();
    let ledger = Arc::new(MemoryLedger::new(MemoryLedgerLimits::DEFAULT, clock.clone()));
    fixture.gate.pipeline = Pipeline::new(ledger, Arc::new(Down), clock, entropy())
        .with_stores(Stores::in_memory().with_approvals(fixture.store.clone()));
    assert_eq!(code(&fixture.call(Round::FIRST).await), "gate_unavailable");
    fixture.restart();
    assert_eq!(code(&fixture.call(Round::FIRST).await), "complete", "it is still there");
}

#[tokio::test]
async fn a_read_can_need_an_approval_too() {
    let fixture =
        Fixture::with(Approver::Caller, Limits::default(), |runs| counting(runs, &definition("pay")));
    let settled = fixture.call(Round::FIRST).await.unwrap();
    assert_eq!(settled.receipt().effect, EffectStatus::None);
    let Outcome::InputRequired(questions) = settled.outcome() else { panic!("{settled:?}") };
    assert_eq!(code(&fixture.call(yes(questions.state.as_ref().unwrap())).await), "complete");
}
