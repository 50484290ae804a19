//! Follows one conversation with a server and judges everything that the server sends.
//!
//! It must never accept a second answer, an answer to a notification, or an answer to nothing. Tests
//! over stdio and HTTP feed it both directions.

use std::collections::BTreeMap;

use callgate_protocol::json::Limits;
use callgate_protocol::{Id, Message, Revision, decode};

use crate::wire;

/// One conversation.
#[derive(Debug)]
pub struct Traffic {
    revision: Revision,
    /// The method of each request that is still to be answered.
    waiting: BTreeMap<Id, String>,
}

impl Traffic {
    /// A conversation in a revision.
    #[must_use]
    pub fn new(revision: Revision) -> Self {
        Self { revision, waiting: BTreeMap::new() }
    }

    /// Notes what the client sends. Text that is no message is expected to be answered by an error.
    pub fn sent(&mut self, text: &str) {
        if let Ok(Message::Request(request)) = decode(text.as_bytes().to_vec(), &Limits::DEFAULT) {
            self.waiting.insert(request.id().clone(), request.method().into_owned());
        }
    }

    /// Judges what the server sends.
    ///
    /// # Panics
    /// When the server must not send it.
    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion")]
    pub fn received(&mut self, text: &str) {
        let answered = match decode(text.as_bytes().to_vec(), &Limits::DEFAULT.with_bytes(64 << 20)) {
            Ok(Message::Response(response)) => response.id().map(|id| {
                let Some(method) = self.waiting.remove(id) else {
                    panic!("an answer to nothing, or a second one: {text}")
                };
                method
            }),
            _ => None,
        };
        wire::assert_server_message(self.revision, answered.as_deref(), text);
    }

    /// How many requests are still to be answered.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
