//! A ledger in memory: for tests, and for servers whose effects do not outlive the process.
//!
//! It must never serve two processes. What it keeps is gone with the process, so a call that was cut off by the
//! end of the process is not recognised afterwards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Claim, EffectKey, Ending, Ledger, Replay, Reservation, Row, StoredResult};
use crate::contract::Contract;
use crate::contract::digest::{Digest, InputDigest};
use crate::port::{Answer, Clock, Timestamp};
use crate::receipt::CallId;
use crate::refusal::{Code, Refusal};

/// The bounds of a [`MemoryLedger`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MemoryLedgerLimits {
    /// Rows at one time. Default: 65,536; beyond it effects are refused.
    pub rows: usize,
    /// The largest result that is kept, in bytes. Default: 64 KiB; a larger one is not replayed.
    pub result_bytes: usize,
    /// How long whoever waits for a row waits before it looks again. Default: 100 ms.
    pub look_again: Duration,
}

impl MemoryLedgerLimits {
    /// The defaults, as the fields name them.
    pub const DEFAULT: Self =
        Self { rows: 65_536, result_bytes: 64 << 10, look_again: Duration::from_millis(100) };

    /// With that many rows.
    #[must_use]
    pub const fn with_rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// With results of that many bytes.
    #[must_use]
    pub const fn with_result_bytes(mut self, bytes: usize) -> Self {
        self.result_bytes = bytes;
        self
    }
}

impl Default for MemoryLedgerLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A ledger in memory.
pub struct MemoryLedger {
    limits: MemoryLedgerLimits,
    clock: Arc<dyn Clock>,
    rows: Mutex<BTreeMap<EffectKey, Entry>>,
    settled: Notify,
}

struct Entry {
    state: State,
    call: CallId,
    input: InputDigest,
    contract: Digest,
    /// In microseconds, counted from when it is known that the effect happened.
    retention: i64,
    expires: Timestamp,
}

enum State {
    Executing,
    Committed(Option<StoredResult>),
    Failed,
    Unknown,
}

impl MemoryLedger {
    /// An empty ledger.
    #[must_use]
    pub fn new(limits: MemoryLedgerLimits, clock: Arc<dyn Clock>) -> Self {
        Self { limits, clock, rows: Mutex::new(BTreeMap::new()), settled: Notify::new() }
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<EffectKey, Entry>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(rows: &BTreeMap<EffectKey, Entry>, claim: &Claim<'_>, now: Timestamp) -> Option<Reservation> {
        let entry = rows.get(&claim.key)?;
        match &entry.state {
            // What ended is forgotten when its time is over. What did not end is not.
            State::Committed(_) | State::Failed if entry.expires <= now => None,
            State::Failed => None,
            _ if entry.input != claim.input => Some(Reservation::Conflict(entry.call)),
            State::Executing => Some(Reservation::InFlight(entry.call)),
            State::Unknown => Some(Reservation::Unknown(entry.call)),
            State::Committed(result) => {
                Some(Reservation::Replayed(Replay::new(entry.call, entry.contract, false, result.clone())))
            }
        }
    }

    fn claim(&self, claim: &Claim<'_>) -> Result<Reservation, Refusal> {
        let now = self.clock.now();
        // Held from the look to the claim: of two calls at once one has to see the other.
        let mut rows = self.rows();
        if let Some(found) = Self::look(&rows, claim, now) {
            return Ok(found);
        }
        if claim.replay_only {
            return Ok(Reservation::Absent);
        }
        if rows.len() >= self.limits.rows && !rows.contains_key(&claim.key) {
            rows.retain(|_, entry| {
                !matches!(entry.state, State::Committed(_) | State::Failed) || entry.expires > now
            });
            if rows.len() >= self.limits.rows {
                return Err(Refusal::new(
                    Code::LedgerFull,
                    "the ledger is full, so no new effect can be recorded",
                ));
            }
        }
        let retention = i64::try_from(claim.retention.as_micros()).unwrap_or(i64::MAX);
        let entry = Entry {
            state: State::Executing,
            call: claim.call,
            input: claim.input,
            contract: claim.contract.digest().0,
            retention,
            expires: Timestamp(now.0.saturating_add(retention)),
        };
        rows.insert(claim.key, entry);
        Ok(Reservation::Owned)
    }

    /// Ends a row that is the call's. Whoever is not its owner ends it only when nobody knows any more.
    fn end(&self, row: Row, ending: Ending<'_>, is_owner: bool) {
        let now = self.clock.now();
        let mut rows = self.rows();
        let open = |entry: &&mut Entry| {
            entry.call == row.call
                && match entry.state {
                    State::Executing => is_owner,
                    State::Unknown => true,
                    State::Committed(_) | State::Failed => false,
                }
        };
        let Some(entry) = rows.get_mut(&row.key).filter(open) else { return };
        match ending {
            Ending::Released => {
                rows.remove(&row.key);
            }
            Ending::Failed => entry.state = State::Failed,
            Ending::Unknown => entry.state = State::Unknown,
            Ending::Committed(result) => {
                let kept = result.filter(|result| result.size() <= self.limits.result_bytes);
                entry.state = State::Committed(kept.cloned());
                entry.expires = Timestamp(now.0.saturating_add(entry.retention));
            }
        }
        drop(rows);
        self.settled.notify_waiters();
    }
}

impl Ledger for MemoryLedger {
    fn ready(&self, _contract: &Contract) -> Result<(), Refusal> {
        Ok(())
    }

    fn is_settled<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Result<bool, Refusal>> {
        let found = Self::look(&self.rows(), &claim, self.clock.now());
        Answer::now(Ok(matches!(found, Some(Reservation::Replayed(_)))))
    }

    fn reserve<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Result<Reservation, Refusal>> {
        Answer::now(self.claim(&claim))
    }

    fn changed(&self, _key: EffectKey) -> Answer<'_, ()> {
        Answer::later(async {
            // A change between the look and this wait is seen at the next look.
            let _ = tokio::time::timeout(self.limits.look_again, self.settled.notified()).await;
        })
    }

    fn settle<'a>(&'a self, row: Row, ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>> {
        self.end(row, ending, true);
        Answer::now(Ok(()))
    }

    fn resolve<'a>(&'a self, row: Row, ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>> {
        self.end(row, ending, false);
        Answer::now(Ok(()))
    }

    fn abandon(&self, row: Row) {
        self.end(row, Ending::Unknown, true);
    }
}

impl std::fmt::Debug for MemoryLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryLedger").field("limits", &self.limits).finish_non_exhaustive()
    }
}
