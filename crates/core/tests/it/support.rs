//! A small gate for tests: tools made of closures, a recording audit, a clock that is set by hand.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use callgate_core::call::Call;
use callgate_core::contract::digest::DigestBuilder;
use callgate_core::contract::{Contract, Definition, Effect, Idempotency, KeySource, Resolution};
use callgate_core::invocation::Invocation;
use callgate_core::limits::Limits;
use callgate_core::outcome::{Outcome, Settled, ToolOutput};
use callgate_core::pipeline::Pipeline;
use callgate_core::policy::LocalPolicy;
use callgate_core::port::{
    Answer, Audit, Clock, Credentials, Decision, Execute, Execution, LocalIdentity, MemoryLedger,
    MemoryLedgerLimits, NoLedger, Policy, Question, Record, SilentPeer, SystemEntropy, Timestamp, Transport,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_core::seal::KeyRing;
use callgate_core::snapshot::{ApprovalRules, Catalogue, Snapshot, Tool};
use callgate_protocol::json::{self, Document};

/// A clock that stands still until it is set.
#[derive(Default)]
pub(crate) struct SetClock(pub(crate) AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// Keeps what a record says of the end of a call.
#[derive(Default)]
pub(crate) struct Records {
    taken: Mutex<Vec<(String, String)>>,
    views: Mutex<Vec<String>>,
    fails: AtomicBool,
}

impl Records {
    pub(crate) fn taken(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.taken.lock().unwrap())
    }

    /// What the records said of arguments.
    pub(crate) fn views(&self) -> Vec<String> {
        std::mem::take(&mut *self.views.lock().unwrap())
    }

    /// Takes no record any more.
    pub(crate) fn fail_next(&self) {
        self.fails.store(true, Ordering::Relaxed);
    }
}

impl Audit for Records {
    fn ready(&self, _contract: &Contract) -> Result<(), Refusal> {
        Ok(())
    }

    fn record<'a>(&'a self, record: &Record<'_>) -> Answer<'a, Result<(), Refusal>> {
        let outcome = record.code.map_or("answered", |code| code.as_str());
        self.taken.lock().unwrap().push((record.requested.to_owned(), outcome.to_owned()));
        self.views.lock().unwrap().extend(record.view.map(str::to_owned));
        if self.fails.load(Ordering::Relaxed) {
            return Answer::now(Err(Refusal::new(Code::GateUnavailable, "the trail cannot be written")));
        }
        Answer::now(Ok(()))
    }
}

/// A tool made of a function.
pub(crate) struct Run<F>(pub(crate) F);

impl<F> Execute for Run<F>
where
    F: for<'a> Fn(&'a Invocation<'a>) -> Answer<'a, Execution> + Send + Sync,
{
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        (self.0)(invocation)
    }
}

pub(crate) fn definition(name: &str) -> Definition {
    Definition::new(
        name,
        Effect::Read,
        r#"{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"additionalProperties":false}"#,
    )
}

/// The definition of a tool that changes something.
pub(crate) fn changing(name: &str, effect: Effect, key: KeySource) -> Definition {
    let mut definition = definition(name);
    definition.effect = effect;
    definition.idempotency = Some(Idempotency::new(key));
    definition.resolution = Some(Resolution::Person);
    definition
}

/// Shows and permits everything.
pub(crate) struct PermitsAll;

impl Policy for PermitsAll {
    fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
        true
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        Answer::now(Ok(Decision::Permit { policies: Vec::new() }))
    }
}

pub(crate) fn tool<F>(definition: &Definition, run: F) -> Arc<Tool>
where
    F: for<'a> Fn(&'a Invocation<'a>) -> Answer<'a, Execution> + Send + Sync + 'static,
{
    Arc::new(Tool::new(Contract::new(definition, &Limits::default()).unwrap(), Run(run)))
}

pub(crate) fn answers(
    json: &'static str,
) -> impl for<'a> Fn(&'a Invocation<'a>) -> Answer<'a, Execution> + Send + Sync {
    move |_| Answer::now(Execution::Complete(ToolOutput::structured(json)))
}

pub(crate) struct Gate {
    pub(crate) snapshot: Snapshot,
    pub(crate) pipeline: Pipeline,
    pub(crate) records: Arc<Records>,
    pub(crate) clock: Arc<SetClock>,
}

impl Gate {
    pub(crate) fn new(tools: impl IntoIterator<Item = Arc<Tool>>) -> Self {
        Self::with(tools, Limits::default(), Arc::new(LocalPolicy::new()))
    }

    /// The same gate with a ledger in memory.
    pub(crate) fn ledger(mut self, limits: MemoryLedgerLimits) -> Self {
        let ledger = Arc::new(MemoryLedger::new(limits, self.clock.clone()));
        self.pipeline = Pipeline::new(
            ledger,
            self.records.clone(),
            self.clock.clone(),
            Arc::new(SystemEntropy::default()),
        );
        self
    }

    pub(crate) fn with(
        tools: impl IntoIterator<Item = Arc<Tool>>,
        limits: Limits,
        policy: Arc<dyn Policy>,
    ) -> Self {
        let records = Arc::new(Records::default());
        let clock = Arc::new(SetClock::default());
        let pipeline = Pipeline::new(
            Arc::new(NoLedger),
            records.clone(),
            clock.clone(),
            Arc::new(SystemEntropy::default()),
        );
        let snapshot = Snapshot::new(
            Arc::new(Catalogue::new(tools).unwrap()),
            Arc::new(LocalIdentity::new(Principal::new("dana").with_tenant("tenant-a"))),
            policy,
            DigestBuilder::new("test/policy").finish(),
            ApprovalRules::default(),
            Arc::new(KeyRing::new([(1, [7; 32])])),
            Arc::new(limits),
        );
        Self { snapshot, pipeline, records, clock }
    }

    /// Calls a tool as the local principal over stdio.
    pub(crate) async fn call(&self, name: &str, arguments: &str) -> Result<Settled, Refusal> {
        self.call_with(name, arguments, |_| {}).await
    }

    /// Calls a tool with metadata and, where one is given, judged by another snapshot.
    pub(crate) async fn call_by(
        &self,
        snapshot: Option<&Snapshot>,
        name: &str,
        meta: Option<&str>,
    ) -> Result<Settled, Refusal> {
        let parse = |text: &str| Document::parse(text.to_owned(), &json::Limits::DEFAULT).unwrap();
        let (arguments, meta) = (parse("{}"), meta.map(parse));
        let credentials = Credentials::new(Transport::Stdio, None);
        let mut call = Call::new(name, arguments.root(), credentials, &SilentPeer);
        call.meta = meta.as_ref().map(Document::root);
        self.pipeline.call(snapshot.unwrap_or(&self.snapshot), &call).await
    }

    pub(crate) async fn call_with(
        &self,
        name: &str,
        arguments: &str,
        change: impl FnOnce(&mut Call<'_>),
    ) -> Result<Settled, Refusal> {
        let document = Document::parse(arguments, &json::Limits::DEFAULT).unwrap();
        let credentials = Credentials::new(Transport::Stdio, None);
        let mut call = Call::new(name, document.root(), credentials, &SilentPeer);
        change(&mut call);
        self.pipeline.call(&self.snapshot, &call).await
    }
}

/// The code with which a call failed, before or after the tool ran.
pub(crate) fn code(result: &Result<Settled, Refusal>) -> &'static str {
    match result {
        Err(refusal) => refusal.code().as_str(),
        Ok(settled) => match settled.outcome() {
            Outcome::Failed(refusal) => refusal.code().as_str(),
            Outcome::Complete(_) => "complete",
            Outcome::InputRequired(_) => "input_required",
        },
    }
}
