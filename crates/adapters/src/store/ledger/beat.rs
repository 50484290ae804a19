//! The thread of a ledger: making the instance heard, writing again what failed, and looking after rows of
//! instances that are lost and of calls that are long over.
//!
//! It never waits for a call. When it ends, the instance is gone for all others at once.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::row::{self, ALIVE};
use super::{Inner, Shared};
use crate::store::{Statement, StoreError};

/// How soon an ending that could not be written is written again.
const AGAIN: Duration = Duration::from_millis(500);

/// Makes the instance heard of for the first time, and counts.
pub(super) fn first(shared: &Shared) -> Result<(), StoreError> {
    let answers = shared.store.run_blocking(vec![heard(shared), row::count()])?;
    shared.counted(&answers);
    shared.lock().heard = Instant::now();
    Ok(())
}

/// Works until the ledger is closed.
pub(super) fn run(shared: &std::sync::Arc<Shared>) {
    let every = (shared.limits.lost_after / 4).max(Duration::from_millis(1));
    // The first time was at the start.
    let mut next = Instant::now() + every;
    loop {
        let now = Instant::now();
        if now >= next {
            beat(shared);
            next = now + every;
        }
        let again = {
            let mut inner = shared.lock();
            let idle = next.saturating_duration_since(Instant::now());
            inner = wait(shared, inner, idle, |inner| inner.again.is_empty());
            if !inner.again.is_empty() {
                // What failed just now would fail again.
                inner = wait(shared, inner, AGAIN.min(every), |_| true);
            }
            let Inner { again, closed, .. } = &mut *inner;
            let again = std::mem::take(again);
            if *closed && again.is_empty() {
                drop(inner);
                return gone(shared);
            }
            again
        };
        let closed = shared.lock().closed;
        for owned in again {
            if closed && shared.forgotten.load(Ordering::Acquire) {
                return;
            }
            write_again(shared, owned, closed);
        }
    }
}

/// Waits so long, or until it is over or the ledger is closed.
fn wait<'i>(
    shared: &Shared,
    inner: MutexGuard<'i, Inner>,
    time: Duration,
    quiet: impl Fn(&Inner) -> bool,
) -> MutexGuard<'i, Inner> {
    let waited = shared.came.wait_timeout_while(inner, time, |inner| !inner.closed && quiet(inner));
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Writes an ending once more. At the end of the process there is no other time.
fn write_again(shared: &Shared, owned: row::Owned, last: bool) {
    match shared.store.run_blocking(vec![owned.statement()]) {
        Ok(answers) => {
            owned.judge(&answers);
            shared.waiters.wake(owned.row.key);
            if !last && !owned.is_done() {
                shared.lock().again.push(owned);
            }
        }
        Err(error) if last => {
            tracing::error!(%error, call = %owned.row.call, "the end of an effect was not recorded; it is unknown");
        }
        Err(_) => shared.lock().again.push(owned),
    }
}

fn beat(shared: &Shared) {
    if shared.forgotten.load(Ordering::Acquire) {
        return;
    }
    let begun = Instant::now();
    let mut statements = vec![heard(shared), lost(), departed(), row::purge(shared.limits.purge)];
    let count = shared.lock().counted.elapsed() >= shared.limits.count_after;
    if count {
        statements.push(row::count());
    }
    match shared.store.run_blocking(statements) {
        Ok(answers) => {
            let mut inner = shared.lock();
            // From before it was asked: the store may have waited before it wrote.
            inner.heard = begun;
            inner.fault = None;
            if count {
                inner.counted = begun;
                drop(inner);
                shared.counted(&answers);
            }
        }
        Err(error) => {
            let first = shared.lock().fault.replace(error.to_string()).is_none();
            if first {
                tracing::error!(%error, remedy = error.remedy(), "the ledger cannot be written");
            }
        }
    }
}

/// Says that this instance is there.
fn heard(shared: &Shared) -> Statement {
    let lost = i64::try_from(shared.limits.lost_after.as_micros()).unwrap_or(i64::MAX / 4);
    Statement::new(
        "insert into callgate_instance (id, about, started_us, beat_us, lost_us) values ($1, $2, {now}, {now}, $3) \
         on conflict (id) do update set beat_us = excluded.beat_us",
    )
    .bind(shared.instance.as_str())
    .bind(shared.about.as_str())
    .bind(lost)
}

/// What a lost instance owned is unknown.
fn lost() -> Statement {
    Statement::new(format!(
        "update callgate_effect as held set state = 'unknown', settled_us = {{now}} where held.state = 'executing' \
         and not {ALIVE}"
    ))
}

/// Instances that were lost long ago and own nothing any more.
fn departed() -> Statement {
    Statement::new(
        "delete from callgate_instance where beat_us + 100 * lost_us < {now} and not exists (select 1 from \
         callgate_effect as held where held.owner = callgate_instance.id and held.state = 'executing')",
    )
}

/// Nothing of this instance comes any more.
fn gone(shared: &Shared) {
    if shared.forgotten.load(Ordering::Acquire) {
        return;
    }
    let statement =
        Statement::new("delete from callgate_instance where id = $1").bind(shared.instance.as_str());
    if let Err(error) = shared.store.run_blocking(vec![statement, lost()]) {
        tracing::debug!(%error, "the end of this instance was not written");
    }
}
