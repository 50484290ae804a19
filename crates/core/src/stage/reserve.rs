//! Step 7: the place in the ledger, and a trail that can take the record.
//!
//! From here on nothing returns early: whoever holds [`Reserved`] settles.

use super::approve::Approved;
use super::validate::Validated;
use crate::entry::Entry;
use crate::port::{Ledger, Reservation};
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

/// Evidence: the effect has its row, if it needs one, and this call can be recorded.
#[derive(Debug)]
#[must_use]
pub struct Reserved<'r> {
    approved: Approved<'r>,
    _reservation: Reservation,
}

impl<'r> Reserved<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        self.approved.validated()
    }
}

/// Reserves the effect of the call.
pub async fn reserve<'r>(
    snapshot: &Snapshot,
    ledger: &dyn Ledger,
    approved: Approved<'r>,
    entry: &mut Entry<'_>,
) -> Result<Reserved<'r>, Refusal> {
    let validated = approved.validated();
    let resolved = validated.resolved();
    entry.audit().ready(resolved.contract())?;
    // Last, so that nothing can fail between a row of the ledger and its owner.
    let reservation = ledger
        .reserve(resolved.principal(), resolved.contract(), validated.input())
        .within(snapshot.limits.port_timeout)
        .await
        .map_err(|_elapsed| Refusal::new(Code::GateUnavailable, "the ledger did not answer in time"))??;
    entry.reserved();
    Ok(Reserved { approved, _reservation: reservation })
}
