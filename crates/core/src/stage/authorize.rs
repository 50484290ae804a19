//! Step 5: whether policy permits this call.
//!
//! It must never permit on its own: no decision is a refusal.

use super::validate::Validated;
use crate::port::{Decision, Question};
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

/// Evidence: policy permits the call, or would once it is approved.
#[derive(Debug)]
#[must_use]
pub struct Authorized<'r> {
    validated: Validated<'r>,
    needs_approval: bool,
}

impl<'r> Authorized<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        &self.validated
    }

    pub(in crate::stage) fn needs_approval(&self) -> bool {
        self.needs_approval
    }
}

/// Asks the policy.
pub async fn authorize<'r>(snapshot: &Snapshot, validated: Validated<'r>) -> Result<Authorized<'r>, Refusal> {
    let resolved = validated.resolved();
    let question = Question::new(resolved.principal(), resolved.contract(), validated.arguments());
    let needs_approval = match snapshot.policy.decide(question).await? {
        Decision::Permit { .. } => false,
        Decision::NeedsApproval { .. } => true,
        Decision::Deny { policies } => {
            return Err(Refusal::new(Code::Forbidden, "the policy of this server does not permit the call")
                .with_detail(format_args!("denied by: {}", policies.join(", "))));
        }
    };
    Ok(Authorized { validated, needs_approval })
}
