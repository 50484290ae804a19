//! Verified tokens, remembered for a short time under their digests.
//!
//! It must never remember a token for longer than it lives or than the configured time, and never one whose
//! keys have changed since. Two generations bound it: when the young one is full it becomes the old one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgate_core::port::Timestamp;
use callgate_core::principal::Principal;

use super::TokenDigest;

/// The tokens that were found to be good a short time ago.
pub(super) struct Cache {
    generations: Mutex<Generations>,
    /// Tokens of one generation.
    room: usize,
    lifetime: Duration,
}

#[derive(Default)]
struct Generations {
    young: HashMap<TokenDigest, Entry>,
    old: HashMap<TokenDigest, Entry>,
}

#[derive(Clone)]
struct Entry {
    principal: Arc<Principal>,
    until: Timestamp,
    /// The keys that it depends on, if it depends on any.
    revision: Option<u64>,
}

impl Cache {
    /// Room for so many tokens, each for so long at most. A time of zero remembers nothing.
    pub(super) fn new(tokens: usize, lifetime: Duration) -> Self {
        Self { generations: Mutex::default(), room: (tokens / 2).max(1), lifetime }
    }

    /// Whom a token speaks for, if that was found out a short time ago by the keys of this revision.
    pub(super) fn find(&self, digest: &TokenDigest, now: Timestamp, revision: u64) -> Option<Arc<Principal>> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = generations.young.get(digest) {
            return entry.is_good(now, revision).then(|| Arc::clone(&entry.principal));
        }
        let entry = generations.old.get(digest).filter(|entry| entry.is_good(now, revision))?.clone();
        let principal = Arc::clone(&entry.principal);
        generations.insert(*digest, entry, self.room);
        Some(principal)
    }

    /// Remembers a token.
    pub(super) fn keep(
        &self,
        digest: TokenDigest,
        principal: &Arc<Principal>,
        now: Timestamp,
        revision: Option<u64>,
    ) {
        let lifetime = i64::try_from(self.lifetime.as_micros()).unwrap_or(i64::MAX);
        let until = Timestamp(now.0.saturating_add(lifetime));
        let until = principal.expires.map_or(until, |expires| expires.min(until));
        if until <= now {
            return;
        }
        let entry = Entry { principal: Arc::clone(principal), until, revision };
        self.generations.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, entry, self.room);
    }
}

impl Generations {
    fn insert(&mut self, digest: TokenDigest, entry: Entry, room: usize) {
        if self.young.len() >= room && !self.young.contains_key(&digest) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, entry);
    }
}

impl Entry {
    fn is_good(&self, now: Timestamp, revision: u64) -> bool {
        now < self.until && self.revision.is_none_or(|own| own == revision)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use callgate_core::port::Timestamp;
    use callgate_core::principal::Principal;

    use super::Cache;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000_000)
    }

    #[test]
    fn a_token_is_remembered_no_longer_than_it_lives_than_the_bound_and_than_its_keys() {
        let cache = Cache::new(10, Duration::from_secs(60));
        let long = Arc::new(Principal::new("a").with_expiry(at(1000)));
        let short = Arc::new(Principal::new("b").with_expiry(at(10)));
        cache.keep([1; 32], &long, at(0), Some(1));
        cache.keep([2; 32], &short, at(0), Some(1));
        cache.keep([3; 32], &long, at(0), None);
        assert!(cache.find(&[1; 32], at(59), 1).is_some());
        assert!(cache.find(&[1; 32], at(60), 1).is_none(), "the bound");
        assert!(cache.find(&[2; 32], at(9), 1).is_some());
        assert!(cache.find(&[2; 32], at(10), 1).is_none(), "its life");
        assert!(cache.find(&[1; 32], at(1), 2).is_none(), "its keys");
        assert!(cache.find(&[3; 32], at(1), 2).is_some(), "it depends on no keys");
        let off = Cache::new(10, Duration::ZERO);
        off.keep([1; 32], &long, at(0), None);
        assert!(off.find(&[1; 32], at(0), 1).is_none());
    }

    #[test]
    fn the_number_of_remembered_tokens_is_bounded_and_those_in_use_stay() {
        let cache = Cache::new(8, Duration::from_secs(60));
        let principal = Arc::new(Principal::new("a"));
        for number in 0..100_u8 {
            cache.keep([number; 32], &principal, at(0), None);
            assert!(cache.find(&[0; 32], at(0), 0).is_some(), "in use after {number}");
        }
        let generations = cache.generations.lock().unwrap();
        assert!(generations.young.len() + generations.old.len() <= 8);
    }
}
