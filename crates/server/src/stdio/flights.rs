//! The calls of one connection that have begun and have not ended, by request id.
//!
//! It must never lose a call, never confuse two calls that used one id one after the other, and never give
//! out the answer of a call that was cancelled. Only the connection calls it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use callgate_protocol::Id;
use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;

/// Something that runs for a request and may end with a text to be written.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// Whether work takes one of the places for calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call; it takes a place.
    Call,
    /// A subscription or the notices for a legacy client; their number has a bound of its own.
    Standing,
}

/// The name under which running work can be cancelled. The number tells apart two requests that used one
/// id one after the other.
#[derive(Debug)]
struct Name {
    id: Id,
    serial: u64,
}

/// Everything that runs.
#[derive(Default)]
pub(super) struct Flights {
    running: FuturesUnordered<Flight>,
    handles: BTreeMap<Id, (u64, AbortHandle)>,
    calls: usize,
    standing: usize,
    next: u64,
}

/// One piece of running work.
struct Flight {
    names: Vec<Name>,
    kind: Kind,
    work: Abortable<Work>,
}

/// What ended, and with which text; without one it was cancelled or had nothing to say.
struct Landed {
    names: Vec<Name>,
    kind: Kind,
    text: Option<String>,
}

impl Future for Flight {
    type Output = Landed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Landed> {
        let flight = &mut *self;
        let text = ready!(Pin::new(&mut flight.work).poll(context)).ok().flatten();
        Poll::Ready(Landed { names: std::mem::take(&mut flight.names), kind: flight.kind, text })
    }
}

impl Flights {
    /// True when a request of that id is running.
    pub(super) fn contains(&self, id: &Id) -> bool {
        !self.handles.is_empty() && self.handles.contains_key(id)
    }

    /// How many calls take a place.
    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    /// Takes in the work of one request.
    pub(super) fn push(&mut self, kind: Kind, id: Id, work: Work) {
        let (handle, registration) = AbortHandle::new_pair();
        let names = vec![self.register(id, handle)];
        self.insert(Flight { names, kind, work: Abortable::new(work, registration) });
    }

    /// Takes in the work of several requests that are answered together; each has its own handle.
    pub(super) fn push_batch(&mut self, members: Vec<(Id, AbortHandle)>, work: Work) {
        let names = members.into_iter().map(|(id, handle)| self.register(id, handle)).collect();
        let (_, registration) = AbortHandle::new_pair();
        self.insert(Flight { names, kind: Kind::Call, work: Abortable::new(work, registration) });
    }

    /// Takes in work that belongs to no request. The handle ends it.
    pub(super) fn push_standing(&mut self, work: Work) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        let work = Abortable::new(work, registration);
        self.insert(Flight { names: Vec::new(), kind: Kind::Standing, work });
        handle
    }

    /// Cancels the work of that id. False when there is none, which is no fault: it may have ended.
    pub(super) fn cancel(&mut self, id: &Id) -> bool {
        let Some((_, handle)) = self.handles.remove(id) else { return false };
        handle.abort();
        true
    }

    /// The next work that ended, with what it has to say; pending when nothing has ended.
    pub(super) fn poll_landed(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        if self.running.is_empty() {
            return Poll::Pending;
        }
        let Some(landed) = ready!(self.running.poll_next_unpin(context)) else { return Poll::Pending };
        match landed.kind {
            Kind::Call => self.calls -= 1,
            Kind::Standing => self.standing -= 1,
        }
        for name in landed.names {
            if self.handles.get(&name.id).is_some_and(|(serial, _)| *serial == name.serial) {
                self.handles.remove(&name.id);
            }
        }
        Poll::Ready(landed.text)
    }

    /// True when nothing runs.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Drops everything that runs, which cancels it.
    pub(super) fn clear(&mut self) {
        let next = self.next;
        *self = Self { next, ..Self::default() };
    }

    fn insert(&mut self, flight: Flight) {
        match flight.kind {
            Kind::Call => self.calls += 1,
            Kind::Standing => self.standing += 1,
        }
        self.running.push(flight);
    }

    fn register(&mut self, id: Id, handle: AbortHandle) -> Name {
        let serial = self.next;
        self.next += 1;
        self.handles.insert(id.clone(), (serial, handle));
        Name { id, serial }
    }
}
