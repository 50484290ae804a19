//! Step 6: whether somebody has approved what policy wants approved.
//!
//! An approval is used up here, before anything is dispatched, and never given back.

use super::authorize::Authorized;
use super::validate::Validated;
use crate::entry::Entry;
use crate::limits::Limits;
use crate::port::{Approval, Approvals};
use crate::refusal::{Code, Refusal};

/// Evidence: the call is permitted, and approved where it had to be.
#[derive(Debug)]
#[must_use]
pub struct Approved<'r> {
    authorized: Authorized<'r>,
}

impl<'r> Approved<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        self.authorized.validated()
    }
}

/// Uses up an approval, if one is needed.
pub async fn approve<'r>(
    limits: &Limits,
    port: &dyn Approvals,
    authorized: Authorized<'r>,
    entry: &mut Entry<'_>,
) -> Result<Approved<'r>, Refusal> {
    if authorized.needs_approval() {
        let validated = authorized.validated();
        let resolved = validated.resolved();
        // Before it is burned: a call that cannot be recorded will not run. The next step asks again.
        entry.audit().ready(resolved.contract())?;
        let approval = Approval::new(resolved.principal(), resolved.contract().digest, validated.input());
        port.consume(approval).within(limits.port_timeout).await.map_err(|_elapsed| {
            Refusal::new(Code::GateUnavailable, "the approvals did not answer in time")
        })??;
        entry.approved();
    }
    Ok(Approved { authorized })
}
