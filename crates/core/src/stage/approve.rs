//! Step 6: whether somebody has approved what policy wants approved.
//!
//! An approval is used up here, before anything is dispatched, and never given back.

use super::authorize::Authorized;
use super::reserve::claim;
use super::validate::Validated;
use crate::entry::Entry;
use crate::limits::Limits;
use crate::port::{Approval, Approvals, Claim, Ledger};
use crate::refusal::{Code, Refusal};

/// Evidence: the call is permitted, and approved where it had to be.
#[derive(Debug)]
#[must_use]
pub struct Approved<'r> {
    authorized: Authorized<'r>,
    /// The effect is committed already: the call may get the stored result, and nothing may run.
    replay_only: bool,
}

impl<'r> Approved<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        self.authorized.validated()
    }

    pub(in crate::stage) fn is_replay_only(&self) -> bool {
        self.replay_only
    }
}

/// Uses up an approval, if one is needed.
///
/// A repeated call whose effect is committed needs none, because nothing will run.
pub async fn approve<'r>(
    limits: &Limits,
    port: &dyn Approvals,
    ledger: &dyn Ledger,
    authorized: Authorized<'r>,
    entry: &mut Entry<'_>,
) -> Result<Approved<'r>, Refusal> {
    if authorized.needs_approval() {
        let validated = authorized.validated();
        let resolved = validated.resolved();
        if let Some(claim) = claim(validated, entry)
            && settled(limits, ledger, claim).await?
        {
            return Ok(Approved { authorized, replay_only: true });
        }
        // Before it is burned: a call that cannot be recorded will not run. The next step asks again.
        entry.audit().ready(resolved.contract())?;
        ledger.ready(resolved.contract())?;
        let approval = Approval::new(resolved.principal(), resolved.contract().digest, validated.input());
        port.consume(approval).within(limits.port_timeout).await.map_err(|_elapsed| {
            Refusal::new(Code::GateUnavailable, "the approvals did not answer in time")
        })??;
        entry.approved();
    }
    Ok(Approved { authorized, replay_only: false })
}

async fn settled(limits: &Limits, ledger: &dyn Ledger, claim: Claim<'_>) -> Result<bool, Refusal> {
    ledger
        .is_settled(claim)
        .within(limits.port_timeout)
        .await
        .map_err(|_elapsed| Refusal::new(Code::GateUnavailable, "the ledger did not answer in time"))?
}
