//! What happens on one connection: enough to close it when nothing does, and to cancel a request whose
//! client has stopped reading.
//!
//! It must never cost a request more than a few instructions, so it has counters and no timers; the
//! connection's own timer asks for a [`Verdict`] now and then. The accept loop, the service and the
//! bodies call it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::limits::HttpLimits;
use super::stream::StreamCell;

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    start: Instant,
    /// Milliseconds from `start` to the last change of what the connection waits for.
    since: AtomicU64,
    in_flight: AtomicUsize,
    /// True while a request head is awaited: from the start, and from its first byte later on.
    in_head: AtomicBool,
    /// HTTP/2 carries other things than requests, so there the first byte says nothing.
    is_multiplexed: AtomicBool,
    streams: Mutex<Vec<Arc<StreamCell>>>,
}

/// What to do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing until then.
    Wait(Instant),
    /// Close it: it has been without a request for too long.
    Close,
    /// Cut it: its client does not read.
    Cut,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            since: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            in_head: AtomicBool::new(true),
            is_multiplexed: AtomicBool::new(false),
            streams: Mutex::default(),
        }
    }

    /// Bytes have come in.
    pub(super) fn was_read(&self) {
        if self.in_flight.load(Ordering::Relaxed) == 0
            && !self.in_head.load(Ordering::Relaxed)
            && !self.is_multiplexed.load(Ordering::Relaxed)
        {
            self.in_head.store(true, Ordering::Relaxed);
            self.touch();
        }
    }

    /// Bytes have gone out.
    pub(super) fn was_written(&self) {
        if self.in_flight.load(Ordering::Relaxed) == 0 {
            self.touch();
        }
    }

    pub(super) fn is_multiplexed(&self) {
        self.is_multiplexed.store(true, Ordering::Relaxed);
    }

    pub(super) fn add_stream(&self, stream: Arc<StreamCell>) {
        self.streams().push(stream);
    }

    pub(super) fn remove_stream(&self, stream: &Arc<StreamCell>) {
        self.streams().retain(|other| !Arc::ptr_eq(other, stream));
    }

    /// Looks for what has lasted too long.
    pub(super) fn judge(&self, limits: &HttpLimits) -> Verdict {
        let now = Instant::now();
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            let patience = limits.keep_alive_interval + limits.stall_timeout;
            let stalled =
                self.streams().iter().filter(|stream| stream.cancel_if_unread(now, patience)).count();
            if stalled > 0 {
                tracing::debug!(stalled, "streams were cancelled because nobody reads them");
                // Over HTTP/2 the other streams of the connection go on.
                if !self.is_multiplexed.load(Ordering::Relaxed) {
                    return Verdict::Cut;
                }
            }
            return Verdict::Wait(now + Self::tick(limits));
        }
        let since = self.start + Duration::from_millis(self.since.load(Ordering::Relaxed));
        let bound =
            if self.in_head.load(Ordering::Relaxed) { limits.header_timeout } else { limits.idle_timeout };
        if now >= since + bound {
            return Verdict::Close;
        }
        // A head may begin while nobody looks, so somebody looks again before its time can be over twice.
        Verdict::Wait((since + bound).min(now + Self::tick(limits)))
    }

    /// How often a connection is looked at: each bound is kept within twice its time.
    pub(super) fn tick(limits: &HttpLimits) -> Duration {
        let shortest = limits.header_timeout.min(limits.idle_timeout).min(limits.stall_timeout);
        shortest.max(Duration::from_millis(10))
    }

    fn touch(&self) {
        let elapsed = self.start.elapsed().as_millis();
        self.since.store(u64::try_from(elapsed).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Arc<StreamCell>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.activity.add_stream(Arc::clone(stream));
        self.stream = Some(Arc::clone(stream));
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            self.activity.remove_stream(stream);
        }
        if self.activity.in_flight.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.activity.touch();
        }
    }
}
