//! Calls that wait for a row that another call of this process owns.
//!
//! It only saves time: whoever waits looks again by itself, because the row may belong to another instance.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_core::port::EffectKey;
use tokio::sync::Notify;

/// Who waits, by row.
#[derive(Default)]
pub(super) struct Waiters(Mutex<BTreeMap<EffectKey, (usize, Arc<Notify>)>>);

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<EffectKey, (usize, Arc<Notify>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes back when the row was settled here, or when it is time to look again.
    pub(super) async fn wait(&self, key: EffectKey, look_again: Duration) {
        let waiting = Waiting::new(self, key);
        // It came in time or not: both mean to look.
        let _ = tokio::time::timeout(look_again, waiting.notify.notified()).await;
    }

    pub(super) fn wake(&self, key: EffectKey) {
        if let Some((_, notify)) = self.lock().get(&key) {
            notify.notify_waiters();
        }
    }
}

struct Waiting<'w> {
    waiters: &'w Waiters,
    key: EffectKey,
    notify: Arc<Notify>,
}

impl<'w> Waiting<'w> {
    fn new(waiters: &'w Waiters, key: EffectKey) -> Self {
        let mut rows = waiters.lock();
        let (count, notify) = rows.entry(key).or_default();
        *count += 1;
        let notify = Arc::clone(notify);
        drop(rows);
        Self { waiters, key, notify }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut rows = self.waiters.lock();
        if let Some((count, _)) = rows.get_mut(&self.key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                rows.remove(&self.key);
            }
        }
    }
}
