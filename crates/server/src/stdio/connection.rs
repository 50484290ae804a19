//! One connection over two streams: reads lines, runs what they ask for, writes what comes of it.
//!
//! It must never answer a notification or a response, never write after a cancellation what belongs to the
//! cancelled request, and never grow beyond its limits. A call that is ready at once is answered without a
//! task, a channel or a wake-up; output is written when no more input is at hand. Only
//! [`serve`](super::serve) makes one and polls it.

mod accept;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{io, mem};

use futures_util::future::AbortHandle;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

use super::flights::{Flights, Work};
use super::lines::{Line, Lines};
use super::wire::{Wire, push_line};
use super::{StdioError, StdioLimits};
use crate::endpoint::Endpoint;
use crate::legacy::Session;
use accept::Pending;

/// Output beyond this is written before more lines are handled, so that a client sees answers early.
const WRITE_BYTES: usize = 64 << 10;

/// One connection.
pub(super) struct Connection<R, W> {
    endpoint: Arc<Endpoint>,
    limits: StdioLimits,
    input: R,
    output: W,
    lines: Lines,
    /// Messages ready to be written, from `written` on.
    unwritten: Vec<u8>,
    written: usize,
    wire: Arc<Wire>,
    flights: Flights,
    waiting: VecDeque<Pending>,
    /// The legacy client, once it has sent `initialize`, and the work that carries notices to it.
    session: Option<Arc<Session>>,
    notices: Option<AbortHandle>,
    /// An `initialize` that is being answered; what follows it waits.
    handshake: Option<Handshake>,
    /// Ends subscriptions with their closing result.
    closing: CancellationToken,
    phase: Phase,
    needs_flush: bool,
}

/// How far a connection has come.
enum Phase {
    /// It reads.
    Open,
    /// It reads no more and answers what it accepted, until the time is over.
    Draining(Pin<Box<Sleep>>, Cause),
}

/// Why nothing more is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The input has ended, so what stands in the buffer is all of it.
    EndOfInput,
    /// The process is told to stop; half a line in the buffer was never accepted.
    Stopped,
}

/// A legacy client being greeted: its session and the answer, or the refusal.
type Handshake = Pin<Box<dyn Future<Output = Result<(Session, String), String>> + Send>>;

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    pub(super) fn new(endpoint: Arc<Endpoint>, input: R, output: W, limits: StdioLimits) -> Self {
        Self {
            endpoint,
            input,
            output,
            lines: Lines::new(limits.line_bytes),
            unwritten: Vec::with_capacity(WRITE_BYTES),
            written: 0,
            wire: Arc::new(Wire::new(limits.output_bytes)),
            flights: Flights::default(),
            waiting: VecDeque::new(),
            session: None,
            notices: None,
            handshake: None,
            closing: CancellationToken::new(),
            phase: Phase::Open,
            needs_flush: false,
            limits,
        }
    }

    /// Serves until the connection has ended. `stopped` is ready when the process is told to stop.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        mut stopped: Pin<&mut impl Future<Output = ()>>,
    ) -> Poll<Result<(), StdioError>> {
        loop {
            if matches!(self.phase, Phase::Open) && stopped.as_mut().poll(context).is_ready() {
                self.begin_drain(Cause::Stopped);
            }
            let mut moved = self.land(context);
            moved |= self.poll_handshake(context);
            moved |= self.start_waiting(context);
            moved |= self.handle_lines(context);
            match self.poll_write(context) {
                Ok(wrote) => moved |= wrote,
                // The client went away. What still runs is cancelled by being dropped.
                Err(error) if is_gone(&error) => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(StdioError::Write(error))),
            }
            moved |= self.poll_read(context);
            if self.is_over(context) {
                return Poll::Ready(Ok(()));
            }
            if !moved {
                return Poll::Pending;
            }
        }
    }

    /// Takes the texts of what has ended and of what runs. True when something has ended.
    fn land(&mut self, context: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(text) = self.flights.poll_landed(context) {
            moved = true;
            self.drain_wire(context);
            if let Some(text) = text {
                push_line(&mut self.unwritten, &text);
            }
        }
        self.drain_wire(context);
        moved
    }

    fn drain_wire(&mut self, context: &Context<'_>) {
        let unwritten = self.unwritten.len() - self.written;
        self.wire.drain(&mut self.unwritten, unwritten, context.waker());
    }

    /// Starts calls that waited for a place. True when one was started.
    fn start_waiting(&mut self, context: &mut Context<'_>) -> bool {
        let mut moved = false;
        while self.has_place() {
            let Some(pending) = self.waiting.pop_front() else { break };
            self.start(pending, context);
            moved = true;
        }
        moved
    }

    fn has_place(&self) -> bool {
        self.flights.calls() < self.limits.calls
    }

    /// True while more messages may be accepted.
    fn has_room(&self) -> bool {
        self.handshake.is_none()
            && self.unwritten.len() - self.written < self.limits.output_bytes
            && self.waiting.len() < self.limits.waiting
    }

    /// Handles the lines that are at hand. True when there was one.
    fn handle_lines(&mut self, context: &mut Context<'_>) -> bool {
        let mut moved = false;
        while self.has_room() && self.unwritten.len() - self.written < WRITE_BYTES {
            let line = match self.lines.next_line() {
                None => break,
                Some(Line::TooLong) => None,
                Some(Line::Text(line)) if line.trim_ascii().is_empty() => continue,
                Some(Line::Text(line)) => Some(line.to_vec()),
            };
            moved = true;
            self.accept(line, context);
        }
        moved
    }

    /// Writes what it can. True when something was written.
    fn poll_write(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        let mut moved = false;
        while self.written < self.unwritten.len() {
            let rest = self.unwritten.get(self.written..).unwrap_or_default();
            match Pin::new(&mut self.output).poll_write(context, rest)? {
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(count) => {
                    self.written += count;
                    self.needs_flush = true;
                    moved = true;
                }
                Poll::Pending => break,
            }
        }
        if self.written == self.unwritten.len() {
            self.unwritten.clear();
            self.written = 0;
            // One huge answer does not keep its memory for good.
            if self.unwritten.capacity() > 4 * WRITE_BYTES {
                self.unwritten = Vec::with_capacity(WRITE_BYTES);
            }
        } else if self.written > self.limits.output_bytes {
            self.unwritten.drain(..mem::take(&mut self.written));
        }
        if moved {
            self.drain_wire(context);
        }
        if self.needs_flush && Pin::new(&mut self.output).poll_flush(context)?.is_ready() {
            self.needs_flush = false;
        }
        Ok(moved)
    }

    /// Reads once, when there is room for what may come. True when something came.
    fn poll_read(&mut self, context: &mut Context<'_>) -> bool {
        if !matches!(self.phase, Phase::Open) || !self.has_room() || !self.lines.are_taken() {
            return false;
        }
        match self.lines.poll_read(Pin::new(&mut self.input), context) {
            Poll::Pending => false,
            Poll::Ready(Ok(0)) => {
                self.begin_drain(Cause::EndOfInput);
                true
            }
            Poll::Ready(Ok(_)) => true,
            Poll::Ready(Err(error)) => {
                tracing::warn!(%error, "standard input cannot be read; ending");
                self.begin_drain(Cause::EndOfInput);
                true
            }
        }
    }

    fn begin_drain(&mut self, cause: Cause) {
        self.phase = Phase::Draining(Box::pin(sleep(self.limits.drain)), cause);
    }

    /// True when everything accepted is answered and written, or the time for that is over.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let Phase::Draining(deadline, cause) = &mut self.phase else { return false };
        let cause = *cause;
        if deadline.as_mut().poll(context).is_ready() {
            tracing::warn!(calls = self.flights.calls(), "the time to answer accepted requests is over");
            self.flights.clear();
            return true;
        }
        if !self.has_room() || !self.lines.are_taken() {
            return false;
        }
        if cause == Cause::EndOfInput {
            // A last line without a newline is a message when it is whole; half a one is an error.
            let rest = match self.lines.rest() {
                Some(Line::Text(rest)) if !rest.trim_ascii().is_empty() => Some(rest.to_vec()),
                _ => None,
            };
            if let Some(rest) = rest {
                self.accept(Some(rest), context);
                context.waker().wake_by_ref();
                return false;
            }
        }
        if self.flights.calls() > 0 || !self.waiting.is_empty() {
            return false;
        }
        if let Some(notices) = self.notices.take() {
            notices.abort();
        }
        self.closing.cancel();
        self.flights.is_empty() && self.written == self.unwritten.len() && !self.needs_flush
    }

    /// Runs work that is often ready at once. What is not ready is kept.
    fn run(&mut self, context: &mut Context<'_>, keep: impl FnOnce(&mut Flights, Work), mut work: Work) {
        match work.as_mut().poll(context) {
            Poll::Ready(text) => {
                self.drain_wire(context);
                if let Some(text) = text {
                    push_line(&mut self.unwritten, &text);
                }
            }
            // Whoever keeps it polls it again before this connection waits.
            Poll::Pending => keep(&mut self.flights, work),
        }
    }
}

/// True for errors that say that nobody reads any more.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
