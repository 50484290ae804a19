//! Step 7: the place in the ledger, and a trail that can take the record.
//!
//! From here on nothing returns early: whoever holds [`Reserved`] settles. A call that is dropped before its tool
//! was started gives its row back; one that is dropped later leaves a row that says that nobody knows.

use std::mem;

use tokio::time::{Instant, timeout_at};

use super::approve::Approved;
use super::round::Ticket;
use super::validate::Validated;
use crate::contract::digest::Digest;
use crate::entry::Entry;
use crate::port::{
    Claim, EffectKey, Ending, IdempotencyDecision, Ledger, Replay, Reservation, Row, Unresolved, Verdict,
};
use crate::receipt::{CallId, EffectStatus};
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

/// Evidence: the effect has its row, if it needs one, and this call can be recorded.
#[derive(Debug)]
#[must_use]
pub struct Reserved<'r> {
    approved: Approved<'r>,
    place: Place<'r>,
}

/// What the ledger holds for the call.
#[derive(Debug)]
pub(in crate::stage) enum Place<'r> {
    /// The tool changes nothing.
    NotNeeded,
    /// The row of this call.
    Owned(Owned<'r>),
    /// What an earlier call of the same intention left. Boxed, because every later step moves it and few calls have it.
    Replayed(Box<Replay>),
}

/// A row of this call. Dropped before the tool was started, it is given back; dropped before it was settled, it says
/// that nobody knows.
pub(in crate::stage) struct Owned<'r> {
    ledger: &'r dyn Ledger,
    row: Row,
    dispatched: bool,
    pending: bool,
}

impl Owned<'_> {
    /// Says how the run ended.
    pub(in crate::stage) async fn settle(
        mut self,
        snapshot: &Snapshot,
        ending: Ending<'_>,
    ) -> Result<(), Refusal> {
        self.pending = false;
        let answer = self.ledger.settle(self.row, ending);
        answer.within(snapshot.limits.port_timeout).await.unwrap_or_else(|_elapsed| Err(silent()))
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        if !mem::take(&mut self.pending) {
            return;
        }
        if self.dispatched {
            self.ledger.abandon(self.row);
        } else {
            // It is handed over by the call alone.
            drop(self.ledger.settle(self.row, Ending::Released));
        }
    }
}

impl std::fmt::Debug for Owned<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Owned").field(&self.row).finish()
    }
}

impl<'r> Reserved<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        self.approved.validated()
    }

    /// What the next round must carry of the approval of this one.
    pub(in crate::stage) fn ticket(&self, call: CallId, policy: Digest) -> Option<Ticket> {
        self.approved.ticket(call, policy)
    }

    pub(in crate::stage) fn place(&self) -> &Place<'r> {
        &self.place
    }

    /// The tool is started next.
    pub(in crate::stage) fn dispatch(&mut self) {
        if let Place::Owned(row) = &mut self.place {
            row.dispatched = true;
        }
    }

    /// Which intention this call carries out, where it changes something.
    pub(in crate::stage) fn effect_key(&self) -> Option<EffectKey> {
        self.validated().effect_key()
    }

    pub(in crate::stage) fn into_parts(self) -> (Approved<'r>, Place<'r>) {
        (self.approved, self.place)
    }
}

/// Reserves the effect of the call.
///
/// A call whose intention another one carries out just now waits for it, until its own time is over.
pub async fn reserve<'r>(
    snapshot: &Snapshot,
    ledger: &'r dyn Ledger,
    approved: Approved<'r>,
    entry: &mut Entry<'_>,
) -> Result<Reserved<'r>, Refusal> {
    entry.audit().ready(approved.validated().resolved().contract())?;
    let Some(mut claim) = claim(approved.validated(), entry) else {
        entry.reserved(IdempotencyDecision::NotNeeded);
        return Ok(Reserved { approved, place: Place::NotNeeded });
    };
    claim.replay_only = approved.is_replay_only();
    let mut asked = false;
    let place = loop {
        let answer = ledger.reserve(claim).within(snapshot.limits.port_timeout).await;
        match answer.map_err(|_elapsed| silent())?? {
            Reservation::Owned => {
                entry.reserved(IdempotencyDecision::First);
                let row = Row::new(claim.key, claim.call);
                break Place::Owned(Owned { ledger, row, dispatched: false, pending: true });
            }
            Reservation::Replayed(replay) => {
                entry.replayed(&replay);
                break Place::Replayed(Box::new(replay));
            }
            Reservation::InFlight(_) if Instant::now() < claim.deadline => {
                // Whoever waits too long is told so by the next look.
                let _ = timeout_at(claim.deadline, ledger.changed(claim.key)).await;
            }
            Reservation::InFlight(other) => {
                entry.idempotency(IdempotencyDecision::InFlight, EffectStatus::Unknown);
                let message = "another call with the same idempotency key has not ended yet";
                return Err(Refusal::new(Code::CallInFlight, message).with_detail(other));
            }
            // Once: the backend may keep the key with the effect, and then it is known after all.
            Reservation::Unknown(other) if !mem::replace(&mut asked, true) => {
                resolve(snapshot, ledger, approved.validated(), &claim, other).await?;
            }
            Reservation::Unknown(other) => {
                entry.idempotency(IdempotencyDecision::Unknown, EffectStatus::Unknown);
                let message = format!(
                    "nobody knows whether the call {other} with the same idempotency key took effect"
                );
                return Err(Refusal::new(Code::OutcomeUnknown, message));
            }
            Reservation::Conflict(other) => {
                entry.idempotency(IdempotencyDecision::Conflict, EffectStatus::NotStarted);
                let message = "this idempotency key was used for a call with other arguments";
                return Err(Refusal::new(Code::IdempotencyConflict, message).with_detail(other));
            }
            Reservation::Absent => {
                let message = "the stored result was given up while the call was on its way";
                return Err(Refusal::new(Code::ApprovalRequired, message));
            }
        }
    };
    Ok(Reserved { approved, place })
}

/// Asks the backend about an effect that an earlier call left unknown, and tells the ledger what it shows.
async fn resolve(
    snapshot: &Snapshot,
    ledger: &dyn Ledger,
    validated: &Validated<'_>,
    claim: &Claim<'_>,
    other: CallId,
) -> Result<(), Refusal> {
    let deadline = claim.deadline.min(Instant::now() + snapshot.limits.port_timeout);
    let tenant = claim.principal.tenant.as_deref();
    let effect = Unresolved::new(claim.key, other, claim.contract, tenant, deadline);
    let verdict = validated.resolved().tool().resolve(&effect).await;
    let (ending, state) = match &verdict {
        Verdict::Happened(result) => (Ending::Committed(result.as_ref()), "committed"),
        Verdict::DidNotHappen => (Ending::Failed, "failed"),
        Verdict::CannotTell => return Ok(()),
    };
    tracing::info!(call = %other, state, "the backend showed what became of an unknown effect");
    let answer = ledger.resolve(Row::new(claim.key, other), ending);
    answer.within(snapshot.limits.port_timeout).await.unwrap_or_else(|_elapsed| Err(silent()))
}

/// What a call asks of the ledger; nothing where its tool changes nothing.
pub(in crate::stage) fn claim<'a>(validated: &'a Validated<'_>, entry: &Entry<'_>) -> Option<Claim<'a>> {
    let resolved = validated.resolved();
    let contract = resolved.contract();
    Some(Claim {
        call: entry.id(),
        key: validated.effect_key()?,
        input: validated.compared()?,
        principal: resolved.principal(),
        contract,
        retention: contract.idempotency()?.retention,
        deadline: entry.since() + contract.timeout,
        replay_only: false,
    })
}

fn silent() -> Refusal {
    Refusal::new(Code::GateUnavailable, "the ledger did not answer in time")
}
