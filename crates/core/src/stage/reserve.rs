//! Step 7: the place in the ledger and the promise of a record.
//!
//! From here on nothing returns early: whoever holds [`Reserved`] settles, and if it is dropped on the
//! way, because the caller is gone, the record is written by the drop.

use tokio::time::Instant;

use super::approve::Approved;
use super::validate::Validated;
use crate::port::{Audit, Clock, Entropy, Ledger, Record, Reservation};
use crate::receipt::{CallId, EffectStatus};
use crate::refusal::{Code, Refusal};

/// Evidence: the effect has its row, if it needs one, and this call will be recorded.
#[derive(Debug)]
#[must_use]
pub struct Reserved<'r> {
    approved: Approved<'r>,
    _reservation: Reservation,
    evidence: Unsettled<'r>,
}

impl<'r> Reserved<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        self.approved.validated()
    }

    pub(in crate::stage) fn call(&self) -> CallId {
        self.evidence.call
    }

    /// When the call was reserved; its deadline counts from here.
    pub(in crate::stage) fn started(&self) -> Instant {
        self.evidence.started
    }

    /// Writes the record of the call's end. Called once, by the settle step.
    pub(in crate::stage) fn record(
        &mut self,
        code: Option<Code>,
        detail: Option<&str>,
        effect: EffectStatus,
    ) {
        self.evidence.pending = false;
        write_record(&self.approved, &self.evidence, code, detail, effect);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if self.evidence.pending {
            let changes = self.validated().resolved().contract().effect.changes_something();
            let effect = if changes { EffectStatus::Unknown } else { EffectStatus::None };
            self.record(Some(Code::Cancelled), None, effect);
        }
    }
}

/// What is needed to write the record.
struct Unsettled<'r> {
    audit: &'r dyn Audit,
    call: CallId,
    started: Instant,
    pending: bool,
}

impl std::fmt::Debug for Unsettled<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unsettled({})", self.call)
    }
}

fn write_record(
    approved: &Approved<'_>,
    evidence: &Unsettled<'_>,
    code: Option<Code>,
    detail: Option<&str>,
    effect: EffectStatus,
) {
    let validated = approved.validated();
    let resolved = validated.resolved();
    let contract = resolved.contract();
    let mut record = Record::new(
        evidence.call,
        resolved.principal(),
        contract.name.as_str(),
        contract.digest,
        validated.input(),
    );
    record.code = code;
    record.detail = detail;
    record.effect = effect;
    record.latency = evidence.started.elapsed();
    evidence.audit.record(&record);
}

/// Reserves the effect of the call.
pub async fn reserve<'r>(
    ledger: &dyn Ledger,
    audit: &'r dyn Audit,
    approved: Approved<'r>,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<Reserved<'r>, Refusal> {
    let validated = approved.validated();
    let resolved = validated.resolved();
    let mut random = [0; 10];
    entropy.fill(&mut random).map_err(|error| {
        Refusal::new(Code::Internal, "the call could not be given an id").with_detail(error)
    })?;
    let milliseconds = u64::try_from(clock.now().0 / 1000).unwrap_or_default();
    let call = CallId::new(milliseconds, &random);
    // Last, so that nothing can fail between a row of the ledger and its owner.
    let reservation = ledger.reserve(resolved.principal(), resolved.contract(), validated.input()).await?;
    let evidence = Unsettled { audit, call, started: Instant::now(), pending: true };
    Ok(Reserved { approved, _reservation: reservation, evidence })
}
