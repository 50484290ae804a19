//! Step 10: the record and the receipt.
//!
//! It cannot fail and always writes exactly one record.

use super::check::Checked;
use crate::outcome::{Outcome, Settled};
use crate::receipt::{EffectStatus, Receipt};
use crate::snapshot::Snapshot;

/// Records how the call ended and makes its receipt.
pub fn settle(snapshot: &Snapshot, checked: Checked<'_>) -> Settled {
    let (mut reserved, outcome) = checked.into_parts();
    let effect = EffectStatus::None;
    match &outcome {
        Outcome::Complete(_) | Outcome::InputRequired(_) => reserved.record(None, None, effect),
        Outcome::Failed(refusal) => reserved.record(Some(refusal.code()), refusal.detail(), effect),
    }
    let validated = reserved.validated();
    let receipt = Receipt {
        call: reserved.call(),
        effect,
        replayed: false,
        contract: validated.resolved().contract().digest,
        input: validated.input(),
        policy: snapshot.policy_revision,
    };
    Settled { outcome, receipt }
}
