//! Tokens that were refused a short time ago, by their digests.
//!
//! It must never refuse a token for longer than the configured time: it may become good. Two generations bound
//! it, as they bound the tokens that were found to be good. The introspector asks it first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::oauth::TokenDigest;

/// The tokens that were refused a short time ago.
pub(super) struct Refused {
    generations: Mutex<[HashMap<TokenDigest, Entry>; 2]>,
    /// Tokens of one generation.
    room: usize,
    lifetime: Duration,
}

struct Entry {
    until: Instant,
    reason: Box<str>,
}

impl Refused {
    /// Room for so many tokens, each for so long. A time of zero remembers nothing.
    pub(super) fn new(tokens: usize, lifetime: Duration) -> Self {
        Self { generations: Mutex::default(), room: (tokens / 2).max(1), lifetime }
    }

    /// Why the token was refused, if that is not long ago.
    pub(super) fn find(&self, digest: &TokenDigest) -> Option<Cow<'static, str>> {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = generations.iter().find_map(|generation| generation.get(digest))?;
        (Instant::now() < entry.until).then(|| Cow::Owned(entry.reason.to_string()))
    }

    /// Remembers a token.
    pub(super) fn keep(&self, digest: TokenDigest, reason: &str) {
        if self.lifetime.is_zero() {
            return;
        }
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let [young, old] = &mut *generations;
        if young.len() >= self.room && !young.contains_key(&digest) {
            *old = std::mem::take(young);
        }
        young.insert(digest, Entry { until: Instant::now() + self.lifetime, reason: reason.into() });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::Refused;

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_remembered_for_a_short_time_and_their_number_is_bounded() {
        let refused = Refused::new(8, Duration::from_secs(5));
        refused.keep([0; 32], "not active");
        advance(Duration::from_millis(4999)).await;
        assert_eq!(refused.find(&[0; 32]).as_deref(), Some("not active"));
        assert_eq!(refused.find(&[1; 32]), None);
        advance(Duration::from_millis(1)).await;
        assert_eq!(refused.find(&[0; 32]), None);
        for number in 0..100 {
            refused.keep([number; 32], "not active");
        }
        assert!(refused.find(&[99; 32]).is_some() && refused.find(&[1; 32]).is_none());
        assert!(refused.generations.lock().unwrap().iter().map(|one| one.len()).sum::<usize>() <= 8);
    }
}
