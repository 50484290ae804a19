//! The one writer of a trail: groups of records, retention, and coming back after a failure.
//!
//! It runs on a thread of its own, so that no call waits for a disk in a place where other calls run.
//! Everything that waits goes into one transaction, hence many calls share one flush. The trail starts
//! it; stores do what it says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use callgate_core::port::{Clock as _, SystemClock};

use super::Options;
use super::body::Body;
use super::column::Column;
use super::flood::{self, Counts};
use super::queue::{Taken, Waiting};
use super::trail::{Lost, Shared};

/// Why a store did not do what it was told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl StoreError {
    /// An error of a store.
    #[must_use]
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into() }
    }
}

/// Whether one step of retention left something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// There is more to delete.
    More,
    /// Nothing more may go.
    Done,
}

/// A store of records. All methods are called from one thread, which may wait.
///
/// After an error the store must find its own way back at the next call; nothing of what failed may
/// appear later, except where the store cannot know whether its commit arrived.
pub trait Store: Send {
    /// Opens the store, or finds that it is open.
    ///
    /// # Errors
    /// It cannot be written.
    fn open(&mut self, options: &Options) -> Result<(), StoreError>;

    /// Writes records behind the end of the chain, all or none, and returns when they are durable.
    ///
    /// # Errors
    /// None of them counts as written.
    fn append(&mut self, bodies: &[&Body], options: &Options) -> Result<(), StoreError>;

    /// Deletes a bounded part of what may go at this time, after a checkpoint says so.
    ///
    /// # Errors
    /// Nothing was deleted.
    fn prune(&mut self, now_us: i64, options: &Options) -> Result<Pruned, StoreError>;
}

/// Works until the trail is closed.
pub(super) fn run(mut store: impl Store, shared: &Arc<Shared>, opened: &Sender<Result<(), StoreError>>) {
    // Whatever ends this function ends the queue, so that nobody waits for a writer that is gone.
    let _end = End(shared);
    let opening = catch_unwind(AssertUnwindSafe(|| store.open(&shared.options)));
    let Ok(opening) = opening else { return };
    if let Err(error) = &opening {
        fail(shared, error, 0);
    }
    // The caller may be gone; then the queue is closed at once.
    let _ = opened.send(opening);
    let worked = catch_unwind(AssertUnwindSafe(|| work(&mut store, shared)));
    if worked.is_err() {
        shared.state.set_down(now_us(), "its writer stopped");
        tracing::error!("the writer of the audit trail panicked; no call is recorded any more");
    }
}

struct End<'s>(&'s Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.queue.end();
    }
}

fn work(store: &mut impl Store, shared: &Shared) {
    let options = &shared.options;
    let limits = &options.limits;
    let retains = options.retention_days.is_some() || options.retention_bytes.is_some();
    let every_us = i64::try_from(limits.prune_every.as_micros()).unwrap_or(i64::MAX);
    let mut pruned_us = 0;
    loop {
        let more = retains && now_us().saturating_sub(pruned_us) >= every_us;
        let patience = if more { std::time::Duration::ZERO } else { limits.probe };
        match shared.queue.take(limits.batch, patience) {
            Taken::Records(waiting) => write(store, shared, waiting),
            Taken::Nothing if shared.state.is_down() => probe(store, shared, Counts::new()),
            Taken::Nothing => {}
            Taken::End => {
                let counts = shared.flood.take(now_us(), true, limits);
                if shared.state.has_lost() || !counts.is_empty() {
                    probe(store, shared, counts);
                }
                let counts = shared.flood.take(now_us(), true, limits);
                if !counts.is_empty() {
                    let refused = flood::refused_in(&counts);
                    tracing::error!(
                        refused,
                        "refusals that were counted could not be written to the audit trail"
                    );
                }
                return;
            }
        }
        if !shared.state.is_down() {
            let counts = shared.flood.take(now_us(), false, limits);
            if !counts.is_empty() {
                probe(store, shared, counts);
            }
        }
        if more && !shared.state.is_down() {
            match store.prune(now_us(), options) {
                // The next step comes after the records that wait.
                Ok(Pruned::More) => {}
                Ok(Pruned::Done) => pruned_us = now_us(),
                Err(error) => {
                    pruned_us = now_us();
                    tracing::warn!(%error, "retention of the audit trail failed and is tried again");
                }
            }
        }
    }
}

fn write(store: &mut impl Store, shared: &Shared, waiting: Vec<Waiting>) {
    let lost = shared.state.take_lost();
    let gap = gap(shared, &lost);
    let bodies: Vec<&Body> = gap.iter().chain(waiting.iter().map(|waiting| &*waiting.body)).collect();
    match store.append(&bodies, &shared.options) {
        Ok(()) => {
            succeed(shared, lost.count);
            for Waiting { answer, .. } in waiting {
                // The caller may be gone.
                let _ = answer.send(Ok(()));
            }
        }
        Err(error) => {
            shared.state.give_back(lost);
            fail(shared, &error, waiting.len() as u64);
            for Waiting { body, answer } in waiting {
                tracing::warn!(
                    call = body.text(Column::Call).unwrap_or_default(),
                    result = body.text(Column::Result).unwrap_or_default(),
                    "a record was not written to the audit trail"
                );
                let _ = answer.send(Err(error.message.clone()));
            }
        }
    }
}

/// Writes what the trail says about itself: counts of refusals, and what was lost. For a store that failed it is
/// the way to try it again.
fn probe(store: &mut impl Store, shared: &Shared, counts: Counts) {
    let lost = shared.state.take_lost();
    let gap = gap(shared, &lost);
    let limits = &shared.options.limits;
    let counted = flood::bodies(&counts, now_us(), limits);
    let bodies: Vec<&Body> = gap.iter().chain(&counted).collect();
    match store.append(&bodies, &shared.options) {
        Ok(()) => succeed(shared, lost.count),
        Err(error) => {
            shared.flood.give_back(counts, limits);
            shared.state.give_back(lost);
            fail(shared, &error, 0);
        }
    }
}

fn gap(shared: &Shared, lost: &Lost) -> Option<Body> {
    (lost.count > 0)
        .then(|| Body::gap(now_us(), lost.count, lost.since_us, &lost.reason, &shared.options.limits))
}

fn succeed(shared: &Shared, noted: u64) {
    if shared.state.set_up() {
        tracing::warn!(lost = noted, "the audit trail is written again");
    }
}

fn fail(shared: &Shared, error: &StoreError, lost: u64) {
    let now_us = now_us();
    shared.state.lose(lost, now_us, &error.message);
    if shared.state.set_down(now_us, &error.message) {
        tracing::error!(%error, remedy = error.remedy, "the audit trail cannot be written");
    }
}

pub(super) fn now_us() -> i64 {
    SystemClock.now().0
}
