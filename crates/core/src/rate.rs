//! Rates and places: how often and how many at once, by key, in bounded memory.
//!
//! A rate is counted by the generic cell rate algorithm: one number a key says when its allowance will be
//! whole again. It must never queue and never forget a key that has used something up. The steps `admit` and
//! `authorize` and the HTTP transport use it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

mod keys;

pub use keys::{Key, Keys};

/// How often something may happen: so many in a minute, evenly, and so many at once after a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Nanoseconds in which one is regained.
    interval: u64,
    /// Nanoseconds in which the whole burst is regained.
    span: u64,
}

impl Rate {
    /// `calls` in a minute, `burst` of them at once.
    #[must_use]
    pub const fn per_minute(calls: NonZeroU32, burst: NonZeroU32) -> Self {
        // Rounded up, so that it is never more than was said.
        let interval = 60_000_000_000_u64.div_ceil(calls.get() as u64);
        Self { interval, span: interval.saturating_mul(burst.get() as u64) }
    }
}

/// What one key may use: a rate, and places at one time. Nothing set is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allowance {
    /// How often.
    pub rate: Option<Rate>,
    /// How many at one time.
    pub concurrency: Option<usize>,
}

impl Allowance {
    /// Without a bound.
    #[must_use]
    pub const fn unbounded() -> Self {
        Self { rate: None, concurrency: None }
    }

    /// The same with a rate.
    #[must_use]
    pub const fn with_rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The same with so many at one time.
    #[must_use]
    pub const fn with_concurrency(mut self, places: usize) -> Self {
        self.concurrency = Some(places);
        self
    }

    /// True when nothing is bounded, so that nothing need be counted.
    #[must_use]
    pub const fn is_unbounded(&self) -> bool {
        self.rate.is_none() && self.concurrency.is_none()
    }
}

/// A moment, in nanoseconds since a table of keys was made. It never goes back, whatever the wall clock does,
/// and tests that pause the runtime's time move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    fn since(start: Instant) -> Self {
        let elapsed = start.elapsed();
        Self(
            elapsed.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(elapsed.subsec_nanos())),
        )
    }
}

/// A debt that exceeds the whole allowance by this much was made under another rate, not by a race.
const FOREIGN_DEBT: u64 = 1_000_000_000;

/// What one key has in use.
#[derive(Debug, Default)]
pub struct Slot {
    /// When the allowance is whole again.
    whole_at: AtomicU64,
    in_use: AtomicUsize,
}

impl Slot {
    /// Uses one of the rate up, or says how long to wait for it. A refusal uses nothing up.
    ///
    /// # Errors
    /// The time after which one is there, if nobody else takes it.
    pub fn take(&self, rate: Rate, now: Moment) -> Result<(), Duration> {
        let ceiling = now.0.saturating_add(rate.span);
        let mut whole_at = self.whole_at.load(Ordering::Relaxed);
        loop {
            let mut known = whole_at;
            // After a changed limit, what was used before counts as all of the new allowance and no more.
            if known > ceiling.saturating_add(FOREIGN_DEBT) {
                known = ceiling;
            }
            let next = known.max(now.0).saturating_add(rate.interval);
            let (wanted, wait) = if next > ceiling { (known, next - ceiling) } else { (next, 0) };
            if wanted != whole_at
                && let Err(changed) = self.whole_at.compare_exchange_weak(
                    whole_at,
                    wanted,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
            {
                whole_at = changed;
                continue;
            }
            return if wait == 0 { Ok(()) } else { Err(Duration::from_nanos(wait)) };
        }
    }

    /// Gives back what [`Slot::take`] took a moment ago, for whoever could not use it after all.
    pub(crate) fn give_back(&self, rate: Rate) {
        let less = |whole_at: u64| Some(whole_at.saturating_sub(rate.interval));
        // The function gives a number for each number, so there is nothing that could fail.
        let _ = self.whole_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Takes one of `places`, or nothing when all are taken.
    pub fn enter(self: &Arc<Self>, places: usize) -> Option<Place> {
        let before = self.in_use.fetch_add(1, Ordering::Acquire);
        // From here on the place is given back, whatever happens.
        let place = Place(Arc::clone(self));
        (before < places).then_some(place)
    }

    /// True when forgetting the slot changes nothing, apart from who holds it.
    fn is_whole(&self, now: Moment) -> bool {
        self.whole_at.load(Ordering::Relaxed) <= now.0 && self.in_use.load(Ordering::Relaxed) == 0
    }
}

/// A place, given back when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Place(Arc<Slot>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
