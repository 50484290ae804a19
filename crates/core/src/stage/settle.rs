//! Step 10: the record and the receipt.
//!
//! It always writes exactly one record. A result whose record the trail does not take does not leave.

use std::sync::Arc;

use super::check::Checked;
use crate::entry::Entry;
use crate::outcome::{Outcome, Settled};
use crate::port::ResultKind;
use crate::receipt::{EffectStatus, Receipt};
use crate::snapshot::Snapshot;

/// Records how the call ended and makes its receipt.
pub async fn settle(snapshot: &Snapshot, checked: Checked<'_>, entry: &mut Entry<'_>) -> Settled {
    let (reserved, outcome) = checked.into_parts();
    let effect = EffectStatus::None;
    let (result, refusal) = match &outcome {
        Outcome::Complete(output) if output.is_error => (ResultKind::ToolError, None),
        Outcome::Complete(_) => (ResultKind::Complete, None),
        Outcome::InputRequired(_) => (ResultKind::InputRequired, None),
        Outcome::Failed(refusal) => (ResultKind::Failed, Some(refusal)),
    };
    let recorded = entry.record(snapshot, result, refusal, effect).await;
    let validated = reserved.validated();
    let tool = Arc::clone(validated.resolved().tool());
    let receipt = Receipt {
        call: entry.id(),
        effect,
        replayed: false,
        contract: tool.contract.digest,
        input: validated.input(),
        policy: snapshot.policy_revision,
    };
    Settled { outcome: recorded.map_or_else(Outcome::Failed, |()| outcome), receipt, tool }
}
