//! Records that wait to be written, and how many.
//!
//! It is bounded and never blocks whoever hands a record over. The trail puts records in, its one writer
//! takes them out in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::body::Body;

/// Whether a record is durable; if not, why.
pub(super) type Answered = Result<(), String>;

/// One record and who waits for it.
pub(super) struct Waiting {
    pub(super) body: Box<Body>,
    pub(super) answer: oneshot::Sender<Answered>,
}

/// What the writer gets.
pub(super) enum Taken {
    /// Records to be written together.
    Records(Vec<Waiting>),
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more.
    End,
}

/// The queue.
pub(super) struct Queue {
    inner: Mutex<Inner>,
    /// Something came, or the end.
    came: Condvar,
    /// Everything that came was answered.
    idle: Condvar,
    bound: usize,
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<Waiting>,
    /// Whether the writer is at work on records that it took.
    writing: bool,
    /// Whether the writer is waiting for records.
    asleep: bool,
    closed: bool,
    ended: bool,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self { inner: Mutex::default(), came: Condvar::new(), idle: Condvar::new(), bound }
    }

    /// Hands one record over, or gives it back when there is no room.
    pub(super) fn push(&self, waiting: Waiting) -> Result<(), Waiting> {
        let mut inner = self.lock();
        if inner.closed || inner.ended || inner.waiting.len() >= self.bound {
            return Err(waiting);
        }
        inner.waiting.push_back(waiting);
        let wake = std::mem::take(&mut inner.asleep);
        drop(inner);
        if wake {
            self.came.notify_one();
        }
        Ok(())
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        let inner = self.lock();
        !inner.closed && !inner.ended && inner.waiting.len() < self.bound
    }

    /// Whether fewer than so many wait.
    pub(super) fn has_fewer_than(&self, bound: usize) -> bool {
        let inner = self.lock();
        !inner.ended && inner.waiting.len() < bound
    }

    /// What waits, at most so many; waits itself if there is nothing. What was taken before counts as
    /// answered from here on.
    pub(super) fn take(&self, most: usize, patience: Duration) -> Taken {
        let mut inner = self.lock();
        inner.writing = false;
        if inner.waiting.is_empty() {
            self.idle.notify_all();
            if !inner.closed {
                inner.asleep = true;
                let (woken, _timeout) =
                    self.came.wait_timeout(inner, patience).unwrap_or_else(PoisonError::into_inner);
                inner = woken;
                inner.asleep = false;
                if !inner.waiting.is_empty() {
                    // Whoever woke this thread may hold the core that it runs on now, with more calls that are nearly done:
                    // they go first, and their records into the same group. Where another core is free it returns at once.
                    drop(inner);
                    std::thread::yield_now();
                    inner = self.lock();
                }
            }
        }
        if inner.waiting.is_empty() {
            if inner.closed {
                // Whoever closed it waits until the writer has ended: it may have to write about itself.
                return Taken::End;
            }
            return Taken::Nothing;
        }
        inner.writing = true;
        let count = most.min(inner.waiting.len());
        Taken::Records(inner.waiting.drain(..count).collect())
    }

    /// Waits until everything that was handed over is answered. False if that took too long.
    pub(super) fn flush(&self, patience: Duration) -> bool {
        let inner = self.lock();
        let busy = |inner: &mut Inner| !inner.ended && (inner.writing || !inner.waiting.is_empty());
        let (_inner, timeout) =
            self.idle.wait_timeout_while(inner, patience, busy).unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// Tells the writer to end once everything is written, and waits for that. False if it took too long.
    pub(super) fn close(&self, patience: Duration) -> bool {
        let mut inner = self.lock();
        inner.closed = true;
        self.came.notify_one();
        let (_inner, timeout) = self
            .idle
            .wait_timeout_while(inner, patience, |inner| !inner.ended)
            .unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// The writer has ended, for whatever reason: nothing is taken any more.
    pub(super) fn end(&self) {
        let mut inner = self.lock();
        inner.ended = true;
        inner.writing = false;
        // Who waits for these is told by their senders being dropped.
        inner.waiting.clear();
        self.idle.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
