//! What happens on one connection: enough to close it when nothing does, and to cancel a request whose
//! client has stopped reading.
//!
//! It must never cost a request more than a few instructions, so it has flags and no clock; the accept
//! loop looks at all connections now and then and keeps the time. The accept loop, the service and the
//! bodies call it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use super::exchange::Line;
use super::limits::HttpLimits;
use super::stream::StreamCell;

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    in_flight: AtomicUsize,
    /// True while a request head is awaited: from the start, and from its first byte later on.
    in_head: AtomicBool,
    /// True when something has happened since the accept loop looked.
    changed: AtomicBool,
    /// HTTP/2 carries other things than requests, so there the first byte says nothing.
    is_multiplexed: AtomicBool,
    order: AtomicU8,
    waker: AtomicWaker,
    streams: Mutex<Vec<Arc<StreamCell>>>,
    /// What one request has left for the next, so that not each allocates its own.
    spare: Mutex<Option<Line>>,
}

/// What a connection is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Order {
    /// Go on.
    Serve,
    /// Close when the requests in flight are answered.
    Close,
    /// Close at once.
    Cut,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            in_flight: AtomicUsize::new(0),
            in_head: AtomicBool::new(true),
            changed: AtomicBool::new(false),
            is_multiplexed: AtomicBool::new(false),
            order: AtomicU8::new(Order::Serve as u8),
            waker: AtomicWaker::new(),
            streams: Mutex::default(),
            spare: Mutex::default(),
        }
    }

    /// Bytes have come in.
    pub(super) fn was_read(&self) {
        if self.in_flight.load(Ordering::Relaxed) == 0
            && !self.in_head.load(Ordering::Relaxed)
            && !self.is_multiplexed.load(Ordering::Relaxed)
        {
            self.in_head.store(true, Ordering::Relaxed);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// Bytes have gone out.
    pub(super) fn was_written(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_multiplexed(&self) {
        self.is_multiplexed.store(true, Ordering::Relaxed);
    }

    /// Tells the connection what to do; an order is never taken back.
    pub(super) fn order(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::AcqRel);
        self.waker.wake();
    }

    /// The order in force; a later one wakes the waker.
    pub(super) fn heed(&self, waker: &Waker) -> Order {
        self.waker.register(waker);
        match self.order.load(Ordering::Acquire) {
            order if order == Order::Serve as u8 => Order::Serve,
            order if order == Order::Close as u8 => Order::Close,
            _ => Order::Cut,
        }
    }

    fn spare(&self) -> MutexGuard<'_, Option<Line>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Arc<StreamCell>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection as the accept loop watches it.
#[derive(Debug)]
pub(super) struct Watch {
    activity: Arc<Activity>,
    /// Since when nothing has changed.
    since: Instant,
    closing: bool,
}

impl Watch {
    pub(super) fn new(activity: Arc<Activity>) -> Self {
        Self { activity, since: Instant::now(), closing: false }
    }

    /// How often connections are looked at. Each bound on their time is kept within twice this time.
    pub(super) fn interval(limits: &HttpLimits) -> Duration {
        let shortest = limits.header_timeout.min(limits.idle_timeout).min(limits.stall_timeout);
        (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    /// False once the connection has ended.
    pub(super) fn is_open(&self) -> bool {
        Arc::strong_count(&self.activity) > 1
    }

    pub(super) fn order(&self, order: Order) {
        self.activity.order(order);
    }

    /// Looks for what has lasted too long, and ends it.
    pub(super) fn look(&mut self, now: Instant, limits: &HttpLimits) {
        if self.activity.changed.swap(false, Ordering::Relaxed) {
            self.since = now;
        } else {
            // Nobody has needed it since the last look; a quiet connection should cost little.
            self.activity.spare().take();
        }
        if self.activity.in_flight.load(Ordering::Relaxed) > 0 {
            self.since = now;
            self.cancel_unread(now, limits);
            return;
        }
        let bound = match (self.closing, self.activity.in_head.load(Ordering::Relaxed)) {
            (true, _) => limits.linger,
            (false, true) => limits.header_timeout,
            (false, false) => limits.idle_timeout,
        };
        if now - self.since >= bound {
            self.order(if self.closing { Order::Cut } else { Order::Close });
            self.closing = true;
            self.since = now;
        }
    }

    fn cancel_unread(&self, now: Instant, limits: &HttpLimits) {
        let patience = limits.keep_alive_interval + limits.stall_timeout;
        let stalled =
            self.activity.streams().iter().filter(|stream| stream.cancel_if_unread(now, patience)).count();
        if stalled == 0 {
            return;
        }
        tracing::debug!(stalled, "streams were cancelled because nobody reads them");
        // Over HTTP/2 the other streams of the connection go on.
        if !self.activity.is_multiplexed.load(Ordering::Relaxed) {
            self.order(Order::Cut);
        }
    }
}

/// One request in flight, until its response has been handed over in full.
#[derive(Debug)]
pub(super) struct InFlight {
    activity: Arc<Activity>,
    stream: Option<Arc<StreamCell>>,
}

impl InFlight {
    pub(super) fn new(activity: &Arc<Activity>) -> Self {
        activity.in_flight.fetch_add(1, Ordering::Relaxed);
        activity.in_head.store(false, Ordering::Relaxed);
        Self { activity: Arc::clone(activity), stream: None }
    }

    /// The response is a stream, which has to be read.
    pub(super) fn watch(&mut self, stream: &Arc<StreamCell>) {
        self.activity.streams().push(Arc::clone(stream));
        self.stream = Some(Arc::clone(stream));
    }

    /// What an earlier request on this connection has left.
    pub(super) fn take_spare(&self) -> Option<Line> {
        self.activity.spare().take()
    }

    /// Leaves something for the next request on this connection.
    pub(super) fn leave_spare(&self, line: Line) {
        *self.activity.spare() = Some(line);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            self.activity.streams().retain(|other| !Arc::ptr_eq(other, stream));
        }
        self.activity.changed.store(true, Ordering::Relaxed);
        self.activity.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
