//! Whether what a checkpoint excuses could have been removed by the retention that is configured.
//!
//! Whoever can write a store can write a checkpoint into it, so one is believed only as far as the
//! configuration, the clock and the heads that were exported bear it out. Nothing here reads a store. The command
//! line asks it after a verification.

use super::Options;
use super::chain::{Break, BreakKind, Checkpoint, Head, Verified};
use super::time::format_time;

/// What may be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Records older than so many days.
    pub days: Option<u32>,
    /// The oldest records of a store that is larger.
    pub bytes: Option<u64>,
}

impl Retention {
    /// What may be removed by age and by size.
    #[must_use]
    pub const fn new(days: Option<u32>, bytes: Option<u64>) -> Self {
        Self { days, bytes }
    }
}

/// How far two clocks may differ, and how long a call may take, in microseconds.
const SLACK_US: i64 = 15 * 60 * 1_000_000;

/// Adds a break for each reason why a checkpoint cannot be what retention wrote. Every checkpoint of the trail is
/// judged, not only the last one, because a true one may have come after a forged one.
pub fn judge_removal(found: &mut Verified, retention: Retention, heads: &[Head], now_us: i64) {
    for checkpoint in std::mem::take(&mut found.removals) {
        let reasons =
            doubts(&checkpoint, retention, now_us).into_iter().chain(contradiction(&checkpoint, heads));
        found.breaks.extend(reasons.map(|reason| Break {
            seq: Some(checkpoint.seq),
            kind: BreakKind::Checkpoint,
            message: format!(
                "records up to {} were removed, says record {}, and {reason}; if retention was configured otherwise \
                 then, compare the heads that were exported before",
                checkpoint.through.seq, checkpoint.seq
            ),
        }));
        found.removals.push(checkpoint);
    }
}

/// Whether a checkpoint cannot be true by what is configured now.
pub(super) fn is_doubted(checkpoint: &Checkpoint, options: &Options, now_us: i64) -> bool {
    let retention = Retention::new(options.retention_days, options.retention_bytes);
    let doubts = doubts(checkpoint, retention, now_us);
    if let Some(reason) = doubts.first() {
        tracing::error!(
            record = checkpoint.seq,
            reason,
            "a checkpoint of the audit trail cannot be true, and nothing is removed for it; run `callgate audit verify`"
        );
    }
    !doubts.is_empty()
}

fn doubts(checkpoint: &Checkpoint, retention: Retention, now_us: i64) -> Vec<String> {
    let mut reasons = Vec::new();
    if retention == Retention::default() {
        reasons.push("the configuration removes none".to_owned());
    }
    if checkpoint.time_us > now_us.saturating_add(SLACK_US) {
        reasons.push(format!("it is of {}, which has not come yet", format_time(checkpoint.time_us)));
    }
    if let (Some(days), None) = (retention.days, retention.bytes) {
        let oldest = checkpoint.time_us.saturating_sub(i64::from(days).saturating_mul(86_400_000_000));
        if checkpoint.until_us > oldest.saturating_add(SLACK_US) {
            reasons.push(format!(
                "the last of them was of {}, less than {days} days before",
                format_time(checkpoint.until_us)
            ));
        }
    }
    reasons
}

/// What was the end of the chain when it was exported has only later records behind it.
fn contradiction(checkpoint: &Checkpoint, heads: &[Head]) -> Option<String> {
    let contradicts = |head: &&Head| {
        head.link.seq < checkpoint.through.seq && head.time_us.saturating_sub(SLACK_US) > checkpoint.until_us
    };
    let head = heads.iter().find(contradicts)?;
    Some(format!(
        "the last of them was of {}, and record {} was the end when it was exported at {}",
        format_time(checkpoint.until_us),
        head.link.seq,
        format_time(head.time_us)
    ))
}

#[cfg(test)]
mod tests {
    use callgate_core::contract::digest::Digest;

    use super::{Retention, SLACK_US, judge_removal};
    use crate::audit::{BreakKind, Checkpoint, Head, Link, Verified};

    const DAY: i64 = 86_400_000_000;
    const NOW: i64 = 1_700_000_000_000_000;

    fn breaks(retention: Retention, time_us: i64, until_us: i64, heads: &[Head]) -> usize {
        let through = Link { seq: 5, hash: Digest::of_bytes(b"5") };
        let removals = vec![Checkpoint { seq: 9, through, time_us, until_us }];
        let mut found = Verified { removals, ..Verified::default() };
        judge_removal(&mut found, retention, heads, NOW);
        assert!(found.breaks.iter().all(|one| (one.seq, one.kind) == (Some(9), BreakKind::Checkpoint)));
        found.breaks.len()
    }

    #[test]
    fn a_checkpoint_excuses_nothing_where_no_record_may_be_removed() {
        assert_eq!(breaks(Retention::default(), NOW, NOW - 30 * DAY, &[]), 1);
        let mut nothing_removed = Verified::default();
        judge_removal(&mut nothing_removed, Retention::default(), &[], NOW);
        assert!(nothing_removed.breaks.is_empty());
    }

    #[test]
    fn records_that_were_too_young_to_go_are_a_break() {
        let days = Retention::new(Some(7), None);
        assert_eq!(breaks(days, NOW, NOW - 7 * DAY, &[]), 0);
        assert_eq!(breaks(days, NOW, NOW - 7 * DAY + SLACK_US, &[]), 0, "clocks differ");
        assert_eq!(breaks(days, NOW, NOW - 7 * DAY + SLACK_US + 1, &[]), 1);
        assert_eq!(
            breaks(Retention::new(Some(7), Some(1 << 30)), NOW, NOW, &[]),
            0,
            "the size may have done it"
        );
    }

    #[test]
    fn a_checkpoint_of_the_future_is_a_break() {
        let size = Retention::new(None, Some(1 << 30));
        assert_eq!(breaks(size, NOW + SLACK_US, NOW - DAY, &[]), 0);
        assert_eq!(breaks(size, NOW + SLACK_US + 1, NOW - DAY, &[]), 1);
    }

    #[test]
    fn an_exported_head_contradicts_a_checkpoint_that_makes_records_older_than_they_were() {
        let days = Retention::new(Some(7), None);
        let head = |seq, time_us| Head {
            store: "s".to_owned(),
            link: Link { seq, hash: Digest::of_bytes(b"h") },
            time_us,
        };
        // Record 3 was the end yesterday, so record 5 cannot be of last month.
        assert_eq!(breaks(days, NOW, NOW - 30 * DAY, &[head(3, NOW - DAY)]), 1);
        assert_eq!(breaks(days, NOW, NOW - 30 * DAY, &[head(3, NOW - 31 * DAY)]), 0);
        assert_eq!(breaks(days, NOW, NOW - 30 * DAY, &[head(5, NOW - DAY)]), 0, "it may have been long ago");
    }
}
