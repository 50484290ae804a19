//! What everything that runs on one connection has to say, until the connection writes it.
//!
//! It must never split a message, never put a newline inside one, and never grow beyond its bound by
//! notices. Calls and subscriptions put messages in; the connection takes them out.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

/// Messages that wait to be written.
#[derive(Debug)]
pub(crate) struct Wire {
    state: Mutex<State>,
    drained: Notify,
    /// The size from which on notices are dropped.
    bound: usize,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// What the connection has taken and not yet written.
    unwritten: usize,
    waker: Option<Waker>,
}

impl Wire {
    /// A wire that drops notices once `bound` bytes wait.
    pub(super) fn new(bound: usize) -> Self {
        Self { state: Mutex::default(), drained: Notify::new(), bound }
    }

    /// Puts in a message that must not be lost.
    pub(crate) fn message(&self, text: &str) {
        self.state().put(text);
    }

    /// Puts in lines that are whole already, each with its newline, and that may be lost when the client
    /// reads too slowly.
    pub(crate) fn lines(&self, lines: &str) {
        let mut state = self.state();
        if state.bytes.len() + state.unwritten < self.bound {
            state.bytes.extend_from_slice(lines.as_bytes());
            state.wake();
        }
    }

    /// Waits until there is room for a notice.
    ///
    /// Cancel safe.
    pub(crate) async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            {
                let state = self.state();
                if state.bytes.len() + state.unwritten < self.bound {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Moves everything to the end of `output`, and learns how much there is still to be written.
    pub(super) fn drain(&self, output: &mut Vec<u8>, unwritten: usize, waker: &Waker) {
        let mut state = self.state();
        let moved = state.bytes.len();
        if moved > 0 {
            output.append(&mut state.bytes);
        }
        let had_room = state.unwritten < self.bound;
        state.unwritten = unwritten + moved;
        if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        let has_room = state.unwritten < self.bound;
        drop(state);
        if has_room && !had_room {
            self.drained.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, text: &str) {
        push_line(&mut self.bytes, text);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

/// Appends one message and the newline that ends it. A tool may have given JSON with line breaks between
/// its parts; they are left out, because inside strings JSON has none: "Messages are delimited by newlines,
/// and MUST NOT contain embedded newlines"
/// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>).
pub(super) fn push_line(output: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        output.extend_from_slice(bytes.get(from..at).unwrap_or_default());
        from = at + 1;
    }
    output.extend_from_slice(bytes.get(from..).unwrap_or_default());
    output.push(b'\n');
}
