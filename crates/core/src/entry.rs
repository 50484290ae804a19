//! What is known of a call so far, and the promise that it will be recorded.
//!
//! The pipeline opens one entry for each call and fills it in along the line. It must never be lost: one
//! that is dropped before it was recorded, because the caller is gone, is recorded by the drop.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use callgate_protocol::json::{Value, push_string};
use tokio::time::Instant;

use crate::call::Call;
use crate::contract::Contract;
use crate::contract::digest::{Digest, InputDigest};
use crate::port::{
    Audit, Clock, Decision, Entropy, IdempotencyDecision, Record, Replay, ResultKind, Timestamp,
};
use crate::principal::Principal;
use crate::receipt::{CallId, EffectStatus};
use crate::refusal::{Code, Refusal};
use crate::snapshot::{Snapshot, Tool};
use crate::stage::validate::Validated;

/// The entry of one call.
#[must_use]
pub struct Entry<'r> {
    audit: &'r dyn Audit,
    call: &'r Call<'r>,
    id: CallId,
    policy: Digest,
    started: Timestamp,
    since: Instant,
    principal: Option<Arc<Principal>>,
    tool: Option<Arc<Tool>>,
    input: Option<InputDigest>,
    view: Option<String>,
    decision: Option<Decision>,
    approved: bool,
    /// What the operator should know besides how the call ended.
    note: Option<String>,
    idempotency: IdempotencyDecision,
    /// What is to be said of the effect when the call ends where it is.
    effect: Option<EffectStatus>,
    pending: bool,
}

impl<'r> Entry<'r> {
    /// Opens the entry of a call.
    pub(crate) fn open(
        audit: &'r dyn Audit,
        snapshot: &Snapshot,
        call: &'r Call<'r>,
        clock: &dyn Clock,
    ) -> Self {
        let started = clock.now();
        Self {
            audit,
            call,
            // Until randomness is added, the id tells the time only.
            id: CallId::new(milliseconds(started), &[0; 10]),
            policy: snapshot.policy_revision,
            started,
            since: Instant::now(),
            principal: None,
            tool: None,
            input: None,
            view: None,
            decision: None,
            approved: false,
            note: None,
            idempotency: IdempotencyDecision::NotNeeded,
            effect: None,
            pending: true,
        }
    }

    /// Gives the call its id.
    pub(crate) fn identify(&mut self, entropy: &dyn Entropy) -> Result<(), Refusal> {
        let mut random = [0; 10];
        entropy.fill(&mut random).map_err(|error| {
            Refusal::new(Code::Internal, "the call could not be given an id").with_detail(error)
        })?;
        self.id = CallId::new(milliseconds(self.started), &random);
        Ok(())
    }

    pub(crate) fn id(&self) -> CallId {
        self.id
    }

    pub(crate) fn audit(&self) -> &'r dyn Audit {
        self.audit
    }

    /// When the call came in; its deadline counts from here.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    pub(crate) fn authenticated(&mut self, principal: &Arc<Principal>) {
        self.principal = Some(Arc::clone(principal));
    }

    pub(crate) fn resolved(&mut self, tool: &Arc<Tool>) {
        self.tool = Some(Arc::clone(tool));
    }

    pub(crate) fn validated(&mut self, validated: &Validated<'_>) {
        self.input = Some(validated.input());
        let contract = validated.resolved().contract();
        if !contract.recorded().is_empty() {
            self.view = Some(view(contract, validated.arguments()));
        }
    }

    pub(crate) fn decided(&mut self, decision: &Decision) {
        self.decision = Some(decision.clone());
    }

    /// An approval was used up; `how` says which, and who gave it.
    pub(crate) fn approved(&mut self, how: String) {
        self.approved = true;
        self.note = Some(how);
    }

    /// What the operator should know of the call besides how it ended.
    pub(crate) fn note(&mut self, note: String) {
        self.note = Some(note);
    }

    /// The tool may run.
    pub(crate) fn reserved(&mut self, decision: IdempotencyDecision) {
        self.idempotency(decision, EffectStatus::NotStarted);
    }

    /// The tool is started next.
    pub(crate) fn dispatched(&mut self) {
        self.effect = Some(EffectStatus::Unknown);
    }

    /// The call gets what an earlier one left.
    pub(crate) fn replayed(&mut self, replay: &Replay) {
        let effect = if replay.compensated { EffectStatus::Compensated } else { EffectStatus::Committed };
        self.idempotency(IdempotencyDecision::Replayed, effect);
    }

    /// What the ledger knows of the intention, and what that says of its effect.
    pub(crate) fn idempotency(&mut self, decision: IdempotencyDecision, effect: EffectStatus) {
        self.idempotency = decision;
        self.effect = Some(effect);
    }

    /// Writes the record of the call's end, once.
    pub(crate) async fn record(
        &mut self,
        snapshot: &Snapshot,
        result: ResultKind,
        refusal: Option<&Refusal>,
        effect: EffectStatus,
    ) -> Result<(), Refusal> {
        self.pending = false;
        let code = refusal.map(Refusal::code);
        // Where there is nothing more to say, the operator reads what the caller read.
        let told = refusal.map(|refusal| refusal.detail().unwrap_or(refusal.public()));
        let detail = match (self.note.as_deref(), told) {
            (Some(note), Some(detail)) => Some(Cow::Owned(format!("{note}; {detail}"))),
            (Some(text), None) | (None, Some(text)) => Some(Cow::Borrowed(text)),
            (None, None) => None,
        };
        let answer = self.audit.record(&self.filled(result, code, detail.as_deref(), effect));
        answer.within(snapshot.limits.port_timeout).await.unwrap_or_else(|_elapsed| {
            Err(Refusal::new(Code::GateUnavailable, "the audit trail did not answer in time"))
        })
    }

    /// Records a refusal of a step, which is the answer whether or not the trail takes it: nothing ran.
    pub(crate) async fn refuse(mut self, snapshot: &Snapshot, refusal: Refusal) -> Refusal {
        if refusal.code() == Code::InsufficientScope && self.decision.is_none() {
            // The coarse gate decides before the policy is asked.
            self.decision = Some(Decision::Deny { policies: Vec::new(), errors: Vec::new() });
        }
        let effect = self.effect_so_far();
        let recorded = self.record(snapshot, ResultKind::Refused, Some(&refusal), effect).await;
        if let Err(unavailable) = recorded {
            tracing::warn!(call = %self.id, code = %refusal.code(), detail = unavailable.detail().unwrap_or(""),
                "a refusal could not be written to the audit trail");
        }
        refusal
    }

    pub(crate) fn effect_so_far(&self) -> EffectStatus {
        let changes = self.tool.as_ref().is_some_and(|tool| tool.contract.effect.changes_something());
        if changes { self.effect.unwrap_or(EffectStatus::NotStarted) } else { EffectStatus::None }
    }

    fn filled<'a>(
        &'a self,
        result: ResultKind,
        code: Option<Code>,
        detail: Option<&'a str>,
        effect: EffectStatus,
    ) -> Record<'a> {
        Record {
            call: self.id,
            started: self.started,
            transport: self.call.credentials.transport,
            principal: self.principal.as_deref(),
            requested: self.call.name,
            contract: self.tool.as_deref().map(Tool::contract),
            input: self.input,
            view: self.view.as_deref(),
            decision: self.decision.as_ref(),
            policy: self.policy,
            approved: self.approved,
            idempotency: self.idempotency,
            result,
            code,
            detail,
            effect,
            latency: self.since.elapsed(),
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if !self.pending {
            return;
        }
        let effect = self.effect_so_far();
        // The record is handed over by the call alone; nobody is left to wait for the answer.
        let note = self.note.as_deref();
        drop(self.audit.record(&self.filled(ResultKind::Cancelled, Some(Code::Cancelled), note, effect)));
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.id)
    }
}

fn milliseconds(time: Timestamp) -> u64 {
    u64::try_from(time.0 / 1000).unwrap_or_default()
}

/// The arguments that the contract names for the trail, in its order.
fn view(contract: &Contract, arguments: Value<'_>) -> String {
    let mut out = String::from("{");
    for name in contract.recorded() {
        let Some(value) = arguments.get(name) else { continue };
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, name);
        out.push(':');
        out.push_str(value.raw());
    }
    out.push('}');
    out
}
