//! Step 5: whether policy permits this call.
//!
//! It must never permit on its own: no decision is a refusal.

use super::admit::{Admission, ToolPlaces};
use super::validate::Validated;
use crate::entry::Entry;
use crate::port::{Approver, Decision, Question};
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

/// Evidence: policy permits the call, or would once it is approved.
#[derive(Debug)]
#[must_use]
pub struct Authorized<'r> {
    validated: Validated<'r>,
    decision: Decision,
    _places: ToolPlaces,
}

impl<'r> Authorized<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        &self.validated
    }

    /// Whose approval the call needs, if any.
    pub(in crate::stage) fn approver(&self) -> Option<Approver> {
        match self.decision {
            Decision::NeedsApproval { approver, .. } => Some(approver),
            Decision::Permit { .. } | Decision::Deny { .. } => None,
        }
    }
}

/// Compares the scopes of the credential and asks the policy.
pub async fn authorize<'r>(
    snapshot: &Snapshot,
    admission: &Admission,
    validated: Validated<'r>,
    entry: &mut Entry<'_>,
) -> Result<Authorized<'r>, Refusal> {
    let resolved = validated.resolved();
    let (principal, contract) = (resolved.principal(), resolved.contract());
    // The coarse gate first: whoever may see the tool is told all scopes that its calls need.
    if !contract.scopes().iter().all(|scope| principal.has_scope(scope)) {
        return Err(Refusal::new(
            Code::InsufficientScope,
            "the credential lacks a scope that this tool needs",
        )
        .with_scopes(contract.scopes().to_vec()));
    }
    let question = Question::new(principal, contract, validated.arguments());
    let decision =
        snapshot.policy.decide(question).within(snapshot.limits.port_timeout).await.map_err(
            |_elapsed| Refusal::new(Code::GateUnavailable, "the policy was not decided in time"),
        )??;
    entry.decided(&decision);
    match decision {
        Decision::Permit { .. } | Decision::NeedsApproval { .. } => {
            // Only now: whoever may not call a tool cannot use it up for those who may. And before an
            // approval is used up, which is not given back.
            let places = admission.tool(&snapshot.limits, contract, principal)?;
            Ok(Authorized { validated, decision, _places: places })
        }
        Decision::Deny { policies, errors } => {
            let refusal = Refusal::new(Code::Forbidden, "the policy of this server does not permit the call");
            Err(refusal.with_detail(reason(&policies, &errors)))
        }
    }
}

/// What the trail says of a denial; the caller never reads it.
fn reason(policies: &[String], errors: &[String]) -> String {
    let mut reason = match policies {
        [] => "no policy permits it".to_owned(),
        policies => format!("denied by: {}", policies.join(", ")),
    };
    for error in errors {
        reason.push_str("; ");
        reason.push_str(error);
    }
    reason
}
