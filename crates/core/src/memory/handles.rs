//! Handles in memory.
//!
//! Rows, their order of expiry and the counts by owner change together under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::contract::digest::Digest;
use crate::port::{Answer, HandleKind, HandleRow, HandleStore, Put, RowBounds, Timestamp};
use crate::refusal::Refusal;

type Key = (HandleKind, Digest);

/// A store of handles in the memory of this process.
#[derive(Default)]
pub struct MemoryHandles(Mutex<Table>);

#[derive(Default)]
struct Table {
    rows: BTreeMap<Key, HandleRow>,
    expiry: BTreeSet<(Timestamp, Key)>,
    /// Rows by kind and owner; an owner without rows has no entry.
    counts: BTreeMap<Key, usize>,
    /// Rows by kind.
    totals: BTreeMap<HandleKind, usize>,
}

impl MemoryHandles {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The table without what has expired.
    fn table(&self, now: Timestamp) -> MutexGuard<'_, Table> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((expires, key)) = table.expiry.first().copied()
            && expires <= now
        {
            table.take(key);
        }
        table
    }
}

impl Table {
    fn take(&mut self, key: Key) {
        let Some(row) = self.rows.remove(&key) else { return };
        self.expiry.remove(&(row.expires, key));
        let owner = (row.kind, row.owner);
        if let Some(total) = self.totals.get_mut(&row.kind) {
            *total -= 1;
        }
        if let Some(count) = self.counts.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&owner);
            }
        }
    }

    fn put(&mut self, row: HandleRow, bounds: RowBounds) -> Put {
        let (key, owner) = ((row.kind, row.key), (row.kind, row.owner));
        if self.rows.contains_key(&key) {
            return Put::Taken;
        }
        let total = self.totals.get(&row.kind).copied().unwrap_or(0);
        let own = self.counts.get(&owner).copied().unwrap_or(0);
        if own >= bounds.of_owner || total >= bounds.total {
            return Put::Full;
        }
        *self.counts.entry(owner).or_insert(0) += 1;
        *self.totals.entry(row.kind).or_insert(0) += 1;
        self.expiry.insert((row.expires, key));
        self.rows.insert(key, row);
        Put::Kept
    }
}

impl HandleStore for MemoryHandles {
    fn put(&self, row: HandleRow, bounds: RowBounds, now: Timestamp) -> Answer<'_, Result<Put, Refusal>> {
        Answer::now(Ok(self.table(now).put(row, bounds)))
    }

    fn get(
        &self,
        kind: HandleKind,
        key: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<Option<HandleRow>, Refusal>> {
        Answer::now(Ok(self.table(now).rows.get(&(kind, key)).cloned()))
    }

    fn remove(
        &self,
        kind: HandleKind,
        key: Digest,
        scope: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<bool, Refusal>> {
        let mut table = self.table(now);
        let is_there = table.rows.get(&(kind, key)).is_some_and(|row| row.scope == scope);
        if is_there {
            table.take((kind, key));
        }
        Answer::now(Ok(is_there))
    }
}

impl fmt::Debug for MemoryHandles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryHandles")
    }
}
