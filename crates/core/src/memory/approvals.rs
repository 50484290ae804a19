//! Approvals in memory.
//!
//! People reach them only where the program that holds them lets them: another process sees nothing of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::contract::digest::Digest;
use crate::port::{
    Answer, ApprovalBounds, ApprovalRow, ApprovalState, ApprovalVerdict, Approvals, Claimed, Ruled,
    Timestamp, Used,
};
use crate::receipt::CallId;
use crate::refusal::Refusal;

/// Approvals in the memory of this process.
#[derive(Default)]
pub struct MemoryApprovals {
    rows: Mutex<BTreeMap<CallId, ApprovalRow>>,
    reaches_people: bool,
}

impl MemoryApprovals {
    /// An empty store that only the calls of this process use.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store whose owner shows it to people and takes their decisions.
    #[must_use]
    pub fn shown_to_people() -> Self {
        Self { reaches_people: true, ..Self::default() }
    }

    /// The rows without those whose time is over.
    fn rows(&self, now: Timestamp) -> MutexGuard<'_, BTreeMap<CallId, ApprovalRow>> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.retain(|_, row| row.expires > now);
        rows
    }
}

/// Whether one more row fits beside those that count.
fn is_full<'r>(
    counting: impl Iterator<Item = &'r ApprovalRow>,
    owner: Digest,
    bounds: ApprovalBounds,
) -> bool {
    let (mut own, mut total) = (0, 0);
    for row in counting {
        total += 1;
        own += usize::from(row.owner == owner);
    }
    own >= bounds.of_owner || total >= bounds.total
}

/// Rows that wait, or whose decision stands.
fn is_open(row: &ApprovalRow) -> bool {
    row.binding.is_some() && row.state != ApprovalState::Burned
}

impl Approvals for MemoryApprovals {
    fn reaches_people(&self) -> bool {
        self.reaches_people
    }

    fn claim(
        &self,
        row: ApprovalRow,
        bounds: ApprovalBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Claimed, Refusal>> {
        let mut rows = self.rows(now);
        let open = rows.values().filter(|row| is_open(row));
        let is_full = is_full(open, row.owner, bounds);
        let known = rows.values_mut().find(|known| is_open(known) && known.binding == row.binding);
        let claimed = match known {
            Some(known) if known.state == ApprovalState::Granted => {
                known.state = ApprovalState::Burned;
                Claimed::Burned(known.clone())
            }
            Some(known) if known.state == ApprovalState::Denied => Claimed::Denied(known.clone()),
            Some(known) => Claimed::Pending(known.clone()),
            None if is_full => Claimed::Full,
            None => {
                rows.insert(row.id, row.clone());
                Claimed::Pending(row)
            }
        };
        Answer::now(Ok(claimed))
    }

    fn use_up(
        &self,
        row: ApprovalRow,
        bounds: ApprovalBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Used, Refusal>> {
        let mut rows = self.rows(now);
        let used = if rows.contains_key(&row.id) {
            Used::Again
        } else if is_full(rows.values().filter(|row| row.binding.is_none()), row.owner, bounds) {
            Used::Full
        } else {
            rows.insert(row.id, row);
            Used::First
        };
        Answer::now(Ok(used))
    }

    fn rule(
        &self,
        id: CallId,
        verdict: ApprovalVerdict,
        now: Timestamp,
    ) -> Answer<'_, Result<Ruled, Refusal>> {
        let mut rows = self.rows(now);
        let known = rows.get_mut(&id).filter(|row| row.binding.is_some());
        let ruled = match known {
            None => Ruled::Unknown,
            Some(row) if row.state != ApprovalState::Pending => Ruled::Settled(row.clone()),
            Some(row) if verdict.granted && row.second_person && row.subject == verdict.by => {
                Ruled::OwnCall(row.clone())
            }
            Some(row) => {
                row.state = if verdict.granted { ApprovalState::Granted } else { ApprovalState::Denied };
                row.expires = row.expires.max(verdict.until);
                row.by = Some(verdict.by);
                row.reason = verdict.reason;
                Ruled::Done(row.clone())
            }
        };
        Answer::now(Ok(ruled))
    }

    fn get(&self, id: CallId, now: Timestamp) -> Answer<'_, Result<Option<ApprovalRow>, Refusal>> {
        Answer::now(Ok(self.rows(now).get(&id).filter(|row| row.binding.is_some()).cloned()))
    }

    fn list(&self, max: usize, now: Timestamp) -> Answer<'_, Result<Vec<ApprovalRow>, Refusal>> {
        // Ids sort by time.
        let rows = self.rows(now);
        Answer::now(Ok(rows.values().filter(|row| row.binding.is_some()).take(max).cloned().collect()))
    }
}

impl fmt::Debug for MemoryApprovals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryApprovals")
    }
}
