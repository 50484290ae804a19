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

/// There are as many sessions as there may be, and their clients have used all of them.
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

    /// Takes a client in. Where there is no room, the oldest session goes that was never used.
    pub(super) fn insert(&self, client: Client) -> Result<(), Full> {
        let mut clients = self.lock();
        if clients.len() >= self.limits.sessions {
            let now = Instant::now();
            clients.retain(|_, client| {
                let is_idle = client.is_idle(now);
                if is_idle {
                    client.close();
                }
                !is_idle
            });
            if clients.len() >= self.limits.sessions {
                let oldest = clients
                    .values()
                    .filter(|client| !client.is_used())
                    .min_by_key(|client| client.last_used())
                    .map(Arc::clone);
                let Some(oldest) = oldest else {
                    let waits = clients.values().map(|client| client.remaining(now));
                    // Somebody whose request runs may end right after it, but not be idle before.
                    let waits = waits.map(|remaining| remaining.unwrap_or(self.limits.idle));
                    return Err(Full { room_in: waits.min().unwrap_or(self.limits.idle) });
                };
                clients.remove(oldest.id());
                oldest.close();
            }
        }
        clients.insert(client.id().into(), Arc::new(client));
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
