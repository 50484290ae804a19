//! The legacy clients of one service, by session id, in a bounded number.
//!
//! It must never drop a session in use to make room for a new one, and never give out one that has been idle
//! for too long. It keeps no clock of its own: idle sessions are found when somebody comes.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// There are as many sessions as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Registry {
    pub(super) fn new(limits: LegacyLimits) -> Self {
        Self { clients: Mutex::default(), limits, replayed: Arc::default() }
    }

    /// The count of bytes that all sessions share.
    pub(super) fn replayed(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.replayed)
    }

    /// Takes a client in.
    pub(super) fn insert(&self, client: Client) -> Result<(), Full> {
        let mut clients = self.lock();
        if clients.len() >= self.limits.sessions {
            let now = Instant::now();
            clients.retain(|_, client| {
                let is_idle = client.is_idle(now, self.limits.idle);
                if is_idle {
                    client.close();
                }
                !is_idle
            });
        }
        if clients.len() >= self.limits.sessions {
            return Err(Full);
        }
        clients.insert(client.id().into(), Arc::new(client));
        Ok(())
    }

    /// The client of that session, which counts as used now.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Client>> {
        let mut clients = self.lock();
        let client = Arc::clone(clients.get(id)?);
        if client.is_idle(Instant::now(), self.limits.idle) {
            clients.remove(id);
            drop(clients);
            client.close();
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
