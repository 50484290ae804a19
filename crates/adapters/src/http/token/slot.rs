//! One token that is kept, and whose turn it is to ask for the next.
//!
//! It must never hold its lock while somebody waits. The tokens call it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use callgate_core::port::Delegated;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::http::CredentialFault;

/// A place for one token.
pub(super) struct Slot {
    /// One place: whoever has it asks.
    pub(super) turn: Semaphore,
    kept: Mutex<Option<Kept>>,
}

/// What is kept, and until when.
pub(super) enum Kept {
    Token(Delegated, Instant),
    Fault(CredentialFault, Instant),
}

impl Kept {
    fn until(&self) -> Instant {
        match self {
            Self::Token(_, until) | Self::Fault(_, until) => *until,
        }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self { turn: Semaphore::new(1), kept: Mutex::new(None) }
    }
}

impl Slot {
    /// What is kept and still holds.
    pub(super) fn kept(&self) -> Option<Result<Delegated, CredentialFault>> {
        match self.lock().as_ref().filter(|kept| kept.until() > Instant::now())? {
            Kept::Token(token, _) => Some(Ok(token.clone())),
            Kept::Fault(fault, _) => Some(Err(fault.clone())),
        }
    }

    pub(super) fn keep(&self, kept: Kept) {
        *self.lock() = Some(kept);
    }

    /// Lets go of a token, if it is this one.
    pub(super) fn forget(&self, token: &Delegated) {
        let mut kept = self.lock();
        if matches!(&*kept, Some(Kept::Token(own, _)) if own.expose() == token.expose()) {
            *kept = None;
        }
    }

    /// Whether something is kept that still holds, or somebody asks.
    pub(super) fn is_of_use(&self) -> bool {
        self.turn.available_permits() == 0 || self.end().is_some_and(|until| until > Instant::now())
    }

    /// When what is kept ends.
    pub(super) fn end(&self) -> Option<Instant> {
        self.lock().as_ref().map(Kept::until)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
