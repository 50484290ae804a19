//! The legacy clients of one service, by session id, in a bounded number.
//!
//! It must never drop a session that its client has used to make room for a new one, and never give out one
//! that has been idle for too long. It keeps no clock of its own: idle sessions are found when somebody comes.
//! Anybody can send `initialize` and go away, so a session counts only once its client has come back.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_core::principal::Principal;
use tokio::time::Instant;

use super::client::Client;
use crate::legacy::LegacyLimits;

/// All clients.
pub(super) struct Registry {
    clients: Mutex<BTreeMap<Box<str>, Arc<Client>>>,
    limits: LegacyLimits,
    /// Bytes that all sessions keep for replay.
    replayed: Arc<AtomicUsize>,
}

/// There are as many sessions as there may be, in all or of one principal, and their clients have used all of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    /// When the first of them will have been idle for too long, if no client does anything until then.
    pub(super) room_in: Duration,
}

impl Registry {
    pub(super) fn new(limits: LegacyLimits) -> Self {
        Self { clients: Mutex::default(), limits, replayed: Arc::default() }
    }

    /// The count of bytes that all sessions share.
    pub(super) fn replayed(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.replayed)
    }

    /// Takes a client in. Where there is no room, the oldest session goes that was never used: one of the same
    /// principal, if that has as many as it may, otherwise one of anybody.
    pub(super) fn insert(&self, client: Client) -> Result<(), Full> {
        let mut clients = self.lock();
        let of_owner = |other: &Client| other.is_of_owner_of(&client);
        self.make_room(&mut clients, self.limits.sessions_per_principal, of_owner)?;
        self.make_room(&mut clients, self.limits.sessions, |_| true)?;
        clients.insert(client.id().into(), Arc::new(client));
        Ok(())
    }

    /// Makes room for one more among the clients that count towards a bound.
    fn make_room(
        &self,
        clients: &mut BTreeMap<Box<str>, Arc<Client>>,
        bound: usize,
        counts: impl Fn(&Client) -> bool,
    ) -> Result<(), Full> {
        let is_full = |clients: &BTreeMap<Box<str>, Arc<Client>>| {
            clients.len() >= bound && clients.values().filter(|client| counts(client)).count() >= bound
        };
        if !is_full(clients) {
            return Ok(());
        }
        let now = Instant::now();
        clients.retain(|_, client| {
            let is_idle = client.is_idle(now);
            if is_idle {
                client.close();
            }
            !is_idle
        });
        if !is_full(clients) {
            return Ok(());
        }
        let counted = || clients.values().filter(|client| counts(client));
        let oldest = counted()
            .filter(|client| !client.is_used())
            .min_by_key(|client| client.last_used())
            .map(Arc::clone);
        let Some(oldest) = oldest else {
            // Somebody whose request runs may end right after it, but not be idle before.
            let waits = counted().map(|client| client.remaining(now).unwrap_or(self.limits.idle));
            return Err(Full { room_in: waits.min().unwrap_or(self.limits.idle) });
        };
        clients.remove(oldest.id());
        oldest.close();
        Ok(())
    }

    /// The client of that session, if it is this principal's; it counts as used now.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Client>> {
        let mut clients = self.lock();
        let client = Arc::clone(clients.get(id)?);
        if client.is_idle(Instant::now()) {
            clients.remove(id);
            drop(clients);
            client.close();
            return None;
        }
        // Nobody keeps the session of somebody else alive.
        if !client.belongs_to(principal) {
            return None;
        }
        client.touch();
        Some(client)
    }

    /// Forgets a session.
    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<str>, Arc<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
