//! What is known of one legacy client: what `initialize` agreed on, and what it asked for since.
//!
//! It must never hold a credential, never be taken for an authentication, and never grow beyond its limits.
//! stdio has one, HTTP one for each `Mcp-Session-Id`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callgate_protocol::logging::LogLevel;
use callgate_protocol::{Response, Revision};
use tokio::sync::Notify;

use super::LegacyLimits;
use super::question::Questions;

/// One legacy client.
pub(crate) struct Session {
    pub(super) revision: Revision,
    /// What the client can be asked for, as the metadata of a modern request says it: a JSON object.
    pub(super) capabilities: String,
    /// The client's name and version: a JSON object, if it sent a small one.
    pub(super) client_info: Option<String>,
    pub(super) limits: LegacyLimits,
    pub(super) questions: Questions,
    /// Told when the set of subscriptions has changed.
    pub(super) resubscribe: Notify,
    state: Mutex<State>,
}

struct State {
    /// The least severe log message that the client wants. Until it says so, `info`: "the server MAY decide
    /// which messages to send automatically".
    level: LogLevel,
    subscriptions: BTreeSet<String>,
}

impl Session {
    pub(super) fn new(
        revision: Revision,
        capabilities: String,
        client_info: Option<String>,
        limits: LegacyLimits,
    ) -> Self {
        Self {
            revision,
            capabilities,
            client_info,
            questions: Questions::new(limits.questions),
            limits,
            resubscribe: Notify::new(),
            state: Mutex::new(State { level: LogLevel::Info, subscriptions: BTreeSet::new() }),
        }
    }

    /// The revision that was agreed on.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// The bounds.
    pub(crate) fn limits(&self) -> &LegacyLimits {
        &self.limits
    }

    /// True for the one revision that has batches.
    pub(crate) fn has_batches(&self) -> bool {
        self.revision == Revision::V2025_03_26
    }

    /// Takes an answer of the client. False when nothing of that id was asked.
    pub(crate) fn resolve(&self, response: &Response) -> bool {
        self.questions.resolve(response)
    }

    pub(super) fn level(&self) -> LogLevel {
        self.state().level
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        self.state().level = level;
    }

    /// Adds a resource. False when there are too many.
    pub(super) fn subscribe(&self, uri: &str) -> bool {
        let mut state = self.state();
        if state.subscriptions.contains(uri) {
            return true;
        }
        if state.subscriptions.len() >= self.limits.subscriptions {
            return false;
        }
        state.subscriptions.insert(uri.to_owned());
        drop(state);
        self.resubscribe.notify_one();
        true
    }

    /// Removes a resource; one that was not there is no fault.
    pub(super) fn unsubscribe(&self, uri: &str) {
        let removed = self.state().subscriptions.remove(uri);
        if removed {
            self.resubscribe.notify_one();
        }
    }

    /// The resources that the client wants to hear of.
    pub(super) fn subscriptions(&self) -> Vec<String> {
        self.state().subscriptions.iter().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.revision)
    }
}
