//! What a running modern request says to its client before its result: progress and log messages.
//!
//! It must never say what the client did not ask for, never hold more than its bounds, and never wait.
//! A slow reader loses log messages and all but the newest progress. Both transports make one for a
//! request and write what [`Outbox::take`] gives.

#[cfg(test)]
mod tests;

use std::fmt::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_core::invocation::InputRequest;
use callgate_core::port::{Answer, LogLevel, Peer, PeerError};
use callgate_protocol::json::push_string;
use callgate_protocol::meta::RequestMeta;
use tokio::time::Instant;

/// What is written around each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One server-sent event for each message.
    Events,
    /// One line for each message.
    Lines,
}

/// Bounds of one [`Outbox`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutboxLimits {
    /// Messages that wait to be written.
    pub(crate) queued: usize,
    /// Bytes that wait to be written.
    pub(crate) bytes: usize,
    /// Messages in one second.
    pub(crate) per_second: u32,
}

/// The messages of one request that wait to be written.
pub(crate) struct Outbox {
    limits: OutboxLimits,
    framing: Framing,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The progress token as JSON text; without one no progress is sent.
    token: Option<Box<str>>,
    /// The least severe level that is sent; without one no log message is.
    level: Option<LogLevel>,
    /// Framed messages in their order.
    text: String,
    queued: usize,
    last_progress: Option<f64>,
    /// The newest progress that found no room, already framed.
    held: Option<String>,
    dropped: u64,
    second: Option<Instant>,
    sent_in_second: u32,
}

impl Outbox {
    /// An outbox that drops everything until [`Outbox::listen`] says what is wanted.
    pub(crate) fn new(limits: OutboxLimits, framing: Framing) -> Self {
        Self { limits, framing, state: Mutex::default() }
    }

    /// Forgets everything, for another request.
    pub(crate) fn clear(&mut self) {
        *self.state.get_mut().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// Takes what the client wants to hear from the metadata of its request.
    pub(crate) fn listen(&self, meta: &RequestMeta<'_>) {
        if meta.progress_token.is_none() && meta.log_level.is_none() {
            return;
        }
        let mut state = self.lock();
        state.token = meta.progress_token.map(|token| token.as_json().into());
        state.level = meta.log_level;
    }

    /// True when something waits to be written.
    pub(crate) fn has_messages(&self) -> bool {
        !self.lock().text.is_empty()
    }

    /// What may be written now, if anything.
    pub(crate) fn take(&self) -> Option<String> {
        let mut state = self.lock();
        if state.held.is_some() && self.admit(&mut state, 0) {
            state.release();
        }
        state.take()
    }

    /// What is left when the request has ended. The newest progress goes out whatever the rate.
    pub(crate) fn finish(&self) -> Option<String> {
        let mut state = self.lock();
        state.release();
        if state.dropped > 0 {
            tracing::warn!(dropped = state.dropped, "notifications of a request were dropped");
        }
        state.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when one more message may be queued; counts it.
    fn admit(&self, state: &mut State, bytes: usize) -> bool {
        if state.queued >= self.limits.queued || state.text.len() + bytes > self.limits.bytes {
            return false;
        }
        let now = Instant::now();
        if state.second.is_none_or(|since| now - since >= Duration::from_secs(1)) {
            state.second = Some(now);
            state.sent_in_second = 0;
        }
        if state.sent_in_second >= self.limits.per_second {
            return false;
        }
        state.sent_in_second += 1;
        state.queued += 1;
        true
    }

    fn frame(&self, message: &str) -> String {
        let mut framed = String::with_capacity(message.len() + 8);
        match self.framing {
            Framing::Events => push_event(&mut framed, message),
            Framing::Lines => {
                push_one_line(&mut framed, message);
                framed.push('\n');
            }
        }
        framed
    }
}

impl State {
    fn take(&mut self) -> Option<String> {
        self.queued = 0;
        (!self.text.is_empty()).then(|| std::mem::take(&mut self.text))
    }

    fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.text.push_str(&held);
        }
    }
}

impl Peer for Outbox {
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let mut state = self.lock();
        let Some(token) = &state.token else { return };
        // Values must increase; one that is no number can never be followed by a larger one.
        if !progress.is_finite() || state.last_progress.is_some_and(|last| progress <= last) {
            return;
        }
        let mut text =
            String::from(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"#);
        text.push_str(token);
        // Writing to a string cannot fail.
        let _infallible = write!(text, r#","progress":{progress}"#);
        if let Some(total) = total.filter(|total| total.is_finite()) {
            let _infallible = write!(text, r#","total":{total}"#);
        }
        if let Some(message) = message {
            text.push_str(r#","message":"#);
            push_string(&mut text, message);
        }
        text.push_str("}}");
        let framed = self.frame(&text);
        state.last_progress = Some(progress);
        state.held = None;
        if self.admit(&mut state, framed.len()) {
            state.text.push_str(&framed);
        } else {
            state.held = Some(framed);
        }
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &str) {
        let mut state = self.lock();
        if state.level.is_none_or(|least| level < least) {
            return;
        }
        let mut text =
            String::from(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"#);
        push_string(&mut text, level.as_str());
        if let Some(logger) = logger {
            text.push_str(r#","logger":"#);
            push_string(&mut text, logger);
        }
        text.push_str(r#","data":"#);
        text.push_str(data);
        text.push_str("}}");
        let framed = self.frame(&text);
        if self.admit(&mut state, framed.len()) {
            state.text.push_str(&framed);
        } else {
            state.dropped += 1;
        }
    }

    fn ask<'a>(&'a self, _request: &'a InputRequest) -> Option<Answer<'a, Result<String, PeerError>>> {
        // A modern server never sends a request; questions are part of the result.
        None
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbox")
    }
}

/// Appends one server-sent event.
pub(crate) fn push_event(out: &mut String, message: &str) {
    out.push_str("data: ");
    push_one_line(out, message);
    out.push_str("\n\n");
}

/// Appends JSON text on one line. A raw line break in JSON is whitespace between its parts, so a space
/// says the same.
fn push_one_line(out: &mut String, message: &str) {
    if memchr::memchr2(b'\n', b'\r', message.as_bytes()).is_none() {
        out.push_str(message);
    } else {
        out.extend(message.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
    }
}
