//! One legacy client over HTTP: its session, its streams, its requests in flight.
//!
//! It must never outlive its end: once closed, its requests are cancelled and its streams end. The registry
//! holds it; each request borrows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_core::principal::Principal;
use callgate_protocol::Id;
use futures_util::future::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::registry::Registry;
use super::streams::Streams;
use crate::legacy::Session;

/// One client.
pub(super) struct Client {
    id: Box<str>,
    session: Session,
    subject: Box<str>,
    tenant: Option<Box<str>>,
    streams: Mutex<Streams>,
    flights: Mutex<Flights>,
    /// When the client was last there; `initialize` counts.
    last_used: Mutex<Instant>,
    /// True once the client has come back after `initialize`.
    used: AtomicBool,
    readers: AtomicUsize,
    closed: CancellationToken,
}

#[derive(Default)]
struct Flights {
    running: BTreeMap<Id, (u64, AbortHandle)>,
    next: u64,
}

/// Why a request is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotStarted {
    /// A request of this id is running.
    Duplicate,
    /// The client has as many requests in flight as it may.
    Busy,
}

/// The id of a session: 128 unpredictable bits as 32 visible characters.
pub(super) fn session_id(random: &[u8; 16]) -> String {
    random.iter().fold(String::with_capacity(32), |mut id, byte| {
        // Writing to a string cannot fail.
        let _infallible = write!(id, "{byte:02x}");
        id
    })
}

impl Client {
    pub(super) fn new(id: String, session: Session, owner: Arc<Principal>, registry: &Registry) -> Self {
        Self {
            id: id.into(),
            streams: Mutex::new(Streams::new(session.limits(), registry.replayed())),
            session,
            subject: owner.subject.clone(),
            tenant: owner.tenant.clone(),
            flights: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            used: AtomicBool::new(false),
            readers: AtomicUsize::new(0),
            closed: CancellationToken::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    pub(super) fn streams(&self) -> MutexGuard<'_, Streams> {
        lock(&self.streams)
    }

    /// Cancelled when the session has ended.
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// True for the principal that sent `initialize`.
    pub(super) fn belongs_to(&self, principal: &Principal) -> bool {
        self.subject == principal.subject && self.tenant == principal.tenant
    }

    /// True for another session of the same principal.
    pub(super) fn is_of_owner_of(&self, other: &Self) -> bool {
        self.subject == other.subject && self.tenant == other.tenant
    }

    /// Notes that the client is there.
    pub(super) fn touch(&self) {
        *lock(&self.last_used) = Instant::now();
        self.used.store(true, Ordering::Relaxed);
    }

    /// True when the client has come back after `initialize`.
    pub(super) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// When the client was last there.
    pub(super) fn last_used(&self) -> Instant {
        *lock(&self.last_used)
    }

    /// How long the session stays if nothing happens; nothing while something is going on.
    pub(super) fn remaining(&self, now: Instant) -> Option<Duration> {
        if self.readers.load(Ordering::Relaxed) > 0 || !lock(&self.flights).running.is_empty() {
            return None;
        }
        let limits = self.session.limits();
        let stays = if self.is_used() { limits.idle } else { limits.unused.min(limits.idle) };
        Some(stays.saturating_sub(now.saturating_duration_since(self.last_used())))
    }

    /// True when the session has stayed for as long as it may, and nothing is going on.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.remaining(now) == Some(Duration::ZERO)
    }

    /// Counts somebody who reads a stream.
    pub(super) fn add_reader(&self) {
        self.readers.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts them out.
    pub(super) fn remove_reader(&self) {
        self.readers.fetch_sub(1, Ordering::Relaxed);
        self.touch();
    }

    /// Notes a request that begins. The number is needed to note its end.
    pub(super) fn begin(&self, id: &Id, handle: AbortHandle) -> Result<u64, NotStarted> {
        let mut flights = lock(&self.flights);
        if flights.running.contains_key(id) {
            return Err(NotStarted::Duplicate);
        }
        if flights.running.len() >= self.session.limits().requests {
            return Err(NotStarted::Busy);
        }
        let serial = flights.next;
        flights.next += 1;
        flights.running.insert(id.clone(), (serial, handle));
        Ok(serial)
    }

    /// Notes the end of a request.
    pub(super) fn end(&self, id: &Id, serial: u64) {
        let mut flights = lock(&self.flights);
        if flights.running.get(id).is_some_and(|(known, _)| *known == serial) {
            flights.running.remove(id);
        }
        drop(flights);
        self.touch();
    }

    /// Cancels a request. Nothing is sent for it afterwards.
    pub(super) fn cancel(&self, id: &Id) {
        if let Some((_, handle)) = lock(&self.flights).running.remove(id) {
            handle.abort();
        }
    }

    /// Ends the session: its requests are cancelled, its streams end.
    pub(super) fn close(&self) {
        self.closed.cancel();
        for (_, (_, handle)) in std::mem::take(&mut lock(&self.flights).running) {
            handle.abort();
        }
        self.streams().close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
