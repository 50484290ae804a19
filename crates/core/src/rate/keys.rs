//! A bounded table of what each key has in use.
//!
//! When it is full, only keys are forgotten whose allowance is whole and who hold no place: forgetting one
//! of those changes nothing, so nobody gains an allowance by pushing others out or by being pushed out. If there
//! is none, a new key finds no slot, and whoever asks must refuse it. It must never grow beyond its bound.
//!
//! Keys are fingerprints under a secret of the process: nothing is copied to look one up, no name is kept, and
//! nobody outside can find two names with one fingerprint.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::{Moment, Slot};

/// Locks of one table, so that callers seldom wait for each other.
const SHARDS: usize = 16;
/// How long a full table is not searched again for keys to forget, in nanoseconds: a search looks at every key.
const SEARCH_PAUSE: u64 = 10_000_000;

/// The fingerprint of a key in one table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

type Shard = HashMap<u64, Arc<Slot>, BuildHasherDefault<Fingerprint>>;

/// The table.
pub struct Keys {
    start: Instant,
    secret: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    held: AtomicUsize,
    /// Before this moment no search is made.
    search_at: AtomicU64,
}

impl Keys {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            secret: RandomState::new(),
            shards: std::array::from_fn(|_| Mutex::default()),
            held: AtomicUsize::new(0),
            search_at: AtomicU64::new(0),
        }
    }

    /// The moment now, in the time of this table.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment::since(self.start)
    }

    /// The fingerprint of a name, which may be a tuple of names.
    #[must_use]
    pub fn key(&self, name: impl Hash) -> Key {
        Key(self.secret.hash_one(name))
    }

    /// The slot of a key; nothing when `bound` keys are held, none can be forgotten and this one is new.
    #[must_use]
    pub fn slot(&self, key: Key, now: Moment, bound: usize) -> Option<Arc<Slot>> {
        let shard = self.shard(key)?;
        if let Some(slot) = shard.lock().unwrap_or_else(PoisonError::into_inner).get(&key.0) {
            return Some(Arc::clone(slot));
        }
        self.room(now, bound)?;
        match shard.lock().unwrap_or_else(PoisonError::into_inner).entry(key.0) {
            Entry::Vacant(place) => Some(Arc::clone(place.insert(Arc::default()))),
            Entry::Occupied(place) => {
                // Another caller with the same new key was first, and both were counted.
                self.held.fetch_sub(1, Ordering::Relaxed);
                Some(Arc::clone(place.get()))
            }
        }
    }

    /// How many keys are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// True when no key is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, key: Key) -> Option<&Mutex<Shard>> {
        // The map inside uses the lower bits.
        let at = usize::try_from(key.0 >> 60).unwrap_or_default();
        self.shards.get(at % SHARDS)
    }

    /// Counts one more key, if need be in the place of a forgotten one.
    fn room(&self, now: Moment, bound: usize) -> Option<()> {
        let count = || {
            let more = |held: usize| (held < bound).then_some(held + 1);
            self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()
        };
        if count().is_some() {
            return Some(());
        }
        if now.0 < self.search_at.load(Ordering::Relaxed) {
            return None;
        }
        self.search_at.store(now.0.saturating_add(SEARCH_PAUSE), Ordering::Relaxed);
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let before = shard.len();
            // Whoever is about to use a slot holds it, and takes hold of it only under this lock.
            shard.retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_whole(now));
            self.held.fetch_sub(before - shard.len(), Ordering::Relaxed);
        }
        count().map(|_| ())
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("held", &self.len()).finish_non_exhaustive()
    }
}

/// A hasher of fingerprints, which are evenly spread already.
#[derive(Default)]
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
