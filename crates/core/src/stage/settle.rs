//! Step 11: the row of the ledger, the record and the receipt.
//!
//! It always writes exactly one record. The row comes first, because a repeated call looks there. A result whose
//! row or record was not written does not leave; the receipt then still says what is known of the effect.

use std::sync::Arc;

use callgate_protocol::json::Document;

use super::check::{Checked, Proof};
use super::reserve::Place;
use super::validate::Validated;
use crate::entry::Entry;
use crate::outcome::{CheckedOutput, Outcome, Questions, Settled};
use crate::port::{Ending, ResultKind, StoredResult};
use crate::receipt::{EffectStatus, Receipt};
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

/// Settles the effect, records how the call ended and makes its receipt.
pub async fn settle(snapshot: &Snapshot, checked: Checked<'_>, entry: &mut Entry<'_>) -> Settled {
    let (reserved, outcome, proof) = checked.into_parts();
    let (approved, place) = reserved.into_parts();
    let mut outcome = outcome;
    let (effect, replayed) = match place {
        Place::NotNeeded => (EffectStatus::None, None),
        Place::Replayed(replay) if replay.compensated => (EffectStatus::Compensated, Some(replay.call)),
        Place::Replayed(replay) => (EffectStatus::Committed, Some(replay.call)),
        Place::Owned(row) => {
            let stored = stored(&outcome);
            let (effect, ending) = match proof {
                Proof::Committed => (EffectStatus::Committed, Ending::Committed(stored.as_ref())),
                Proof::Unchanged => (EffectStatus::Failed, Ending::Failed),
                Proof::Asked => (EffectStatus::NotStarted, Ending::Released),
                Proof::None => (EffectStatus::Unknown, Ending::Unknown),
            };
            if let (Outcome::Failed(refusal), Proof::None) = (&outcome, proof) {
                outcome = Outcome::Failed(unknown(refusal));
            }
            if let Err(refusal) = row.settle(snapshot, ending).await {
                outcome = Outcome::Failed(refusal);
            }
            (effect, None)
        }
    };
    let (result, refusal) = match &outcome {
        Outcome::Complete(output) if output.is_error => (ResultKind::ToolError, None),
        Outcome::Complete(_) => (ResultKind::Complete, None),
        Outcome::InputRequired(_) => (ResultKind::InputRequired, None),
        Outcome::Failed(refusal) => (ResultKind::Failed, Some(refusal)),
    };
    let recorded = entry.record(snapshot, result, refusal, effect).await;
    let validated = approved.validated();
    let tool = Arc::clone(validated.resolved().tool());
    let receipt = Receipt {
        call: entry.id(),
        effect,
        replayed,
        contract: tool.contract.digest,
        input: validated.input(),
        policy: snapshot.policy_revision,
    };
    Settled { outcome: recorded.map_or_else(Outcome::Failed, |()| outcome), receipt, tool }
}

/// Records that the caller was asked to approve the call, before anything was reserved, and makes the receipt.
pub(in crate::stage) async fn settle_asked(
    snapshot: &Snapshot,
    validated: &Validated<'_>,
    questions: Questions,
    entry: &mut Entry<'_>,
) -> Settled {
    let effect = entry.effect_so_far();
    let recorded = entry.record(snapshot, ResultKind::InputRequired, None, effect).await;
    let tool = Arc::clone(validated.resolved().tool());
    let receipt = Receipt {
        call: entry.id(),
        effect,
        replayed: None,
        contract: tool.contract.digest,
        input: validated.input(),
        policy: snapshot.policy_revision,
    };
    let outcome = recorded.map_or_else(Outcome::Failed, |()| Outcome::InputRequired(questions));
    Settled { outcome, receipt, tool }
}

/// What a repeated call will get.
fn stored(outcome: &Outcome) -> Option<StoredResult> {
    let Outcome::Complete(CheckedOutput { content, structured, meta, is_error: false, .. }) = outcome else {
        return None;
    };
    let structured = structured.as_ref().map(Document::text).map(str::to_owned);
    Some(StoredResult { content: content.clone(), structured, meta: meta.clone() })
}

/// The same failure of a tool whose effect may have happened all the same.
fn unknown(refusal: &Refusal) -> Refusal {
    let public = format!("{}; whether its effect happened is not known", refusal.public());
    let detail = match refusal.detail() {
        Some(detail) => format!("{}: {detail}", refusal.code()),
        None => refusal.code().to_string(),
    };
    Refusal::new(Code::OutcomeUnknown, public).with_detail(detail)
}
