//! A store that fails on purpose, so that tests reach every point at which a process or a store can be lost.
//!
//! It must never be part of a server. Tests say for each piece of work what becomes of it.

use std::sync::Arc;

use super::queue::Job;
use super::{Backend, Statement, StoreError};

/// What becomes of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// It is done.
    None,
    /// It is not done, and the store does not answer.
    Before,
    /// It is done, and the answer is lost.
    After,
}

/// Says what becomes of each piece of work.
pub trait Faults: Send + Sync {
    /// Asked once for each, in the order in which they are handed over.
    fn next(&self, statements: &[Statement]) -> Crash;
}

/// The backend with faults.
pub(super) struct Faulty {
    inner: Arc<dyn Backend>,
    faults: Arc<dyn Faults>,
}

impl Faulty {
    pub(super) fn new(inner: Arc<dyn Backend>, faults: Arc<dyn Faults>) -> Self {
        Self { inner, faults }
    }
}

impl Backend for Faulty {
    fn submit(&self, job: Job) {
        let lost = || Err(StoreError::unavailable("a fault of a test", "none"));
        match self.faults.next(&job.statements) {
            Crash::None => self.inner.submit(job),
            Crash::Before => job.answer(lost()),
            Crash::After => {
                let Job { statements, must, reply } = job;
                self.inner.submit(Job { statements, must, reply: Box::new(move |_| reply(lost())) });
            }
        }
    }
}
