//! The port: taking the records of the gate and answering when they are durable.
//!
//! It must never block a call and never drop a record in silence: a record that cannot be queued is
//! refused, one that could not be written is counted, logged, and noted in the trail when that can be
//! written again. The gate holds one for its whole life.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_core::contract::Contract;
use callgate_core::port::{Answer, Audit, LogAudit, Record, ResultKind};
use callgate_core::refusal::{Code, Refusal};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::body::{Body, Writer};
use super::flood::Flood;
use super::queue::{Queue, Waiting};
use super::writer::{self, Store, StoreError};
use super::{OnFailure, Options};

/// How long dropping a trail waits for what is queued.
const CLOSE: Duration = Duration::from_secs(10);

/// The trail of a gate, in a store. Clones are the same trail.
#[derive(Clone)]
pub struct Trail(Arc<Owner>);

/// Closes the queue when the last clone is gone.
struct Owner {
    shared: Arc<Shared>,
}

/// What the port and its writer share.
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) options: Options,
    pub(super) state: State,
    pub(super) flood: Flood,
    writer: Writer,
}

/// Whether the store can be written.
#[derive(Default)]
pub(super) struct State {
    down: AtomicBool,
    /// Since when and why it is down.
    reason: Mutex<(i64, String)>,
    /// Records that nobody wrote, and since when and why.
    lost: Mutex<Lost>,
}

/// Records that are missing in the trail and not yet noted in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) count: u64,
    pub(super) since_us: i64,
    pub(super) reason: String,
}

impl State {
    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::Acquire)
    }

    pub(super) fn reason(&self) -> (i64, String) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True when it was up before.
    pub(super) fn set_down(&self, now_us: i64, reason: &str) -> bool {
        let mut place = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !self.down.swap(true, Ordering::AcqRel);
        let since = if first { now_us } else { place.0 };
        *place = (since, reason.to_owned());
        first
    }

    /// True when it was down before.
    pub(super) fn set_up(&self) -> bool {
        self.down.swap(false, Ordering::AcqRel)
    }

    /// The first loss gives the time and the reason for those that follow it until it is noted.
    pub(super) fn lose(&self, count: u64, now_us: i64, reason: &str) {
        let mut lost = self.losses();
        if count > 0 && lost.count == 0 {
            *lost = Lost { count: 0, since_us: now_us, reason: reason.to_owned() };
        }
        lost.count += count;
    }

    pub(super) fn has_lost(&self) -> bool {
        self.losses().count > 0
    }

    /// What was lost, to be noted in the trail. What is lost from here on is another loss.
    pub(super) fn take_lost(&self) -> Lost {
        std::mem::take(&mut *self.losses())
    }

    /// What could not be noted.
    pub(super) fn give_back(&self, earlier: Lost) {
        let mut lost = self.losses();
        if earlier.count > 0 {
            *lost = Lost { count: earlier.count + lost.count, ..earlier };
        }
    }

    fn losses(&self) -> MutexGuard<'_, Lost> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a trail was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the audit trail cannot be written: {message}")]
#[non_exhaustive]
pub struct StartError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Trail {
    /// Starts the writer on a store and waits until the store is open.
    ///
    /// # Errors
    /// The store cannot be written, unless reads may then go on: they may, and it is tried again.
    pub fn start(store: impl Store + 'static, options: Options) -> Result<Self, StartError> {
        let writer = Writer {
            server: options.server.as_str().into(),
            version: options.server_version.as_str().into(),
        };
        let queue = Queue::new(options.limits.queue);
        let (state, flood) = (State::default(), Flood::default());
        let shared = Arc::new(Shared { queue, options, state, flood, writer });
        let (opened, wait) = std::sync::mpsc::channel();
        let worker = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("callgate-audit".to_owned())
            .spawn(move || writer::run(store, &worker, &opened))
            .map_err(|error| StartError {
                message: format!("its thread cannot be made: {error}"),
                remedy: "free memory or threads of this machine".to_owned(),
            })?;
        let trail = Self(Arc::new(Owner { shared }));
        match wait.recv() {
            Ok(Ok(())) => Ok(trail),
            Ok(Err(StoreError { message, remedy })) => match trail.shared().options.on_failure {
                OnFailure::ServeReads => Ok(trail),
                OnFailure::Refuse => Err(StartError { message, remedy }),
            },
            Err(_) => Err(StartError {
                message: "its writer ended".to_owned(),
                remedy: "see the log for the reason".to_owned(),
            }),
        }
    }

    /// Waits until everything that was handed over is answered. False if that took too long. It blocks.
    #[must_use]
    pub fn flush(&self, patience: Duration) -> bool {
        self.shared().queue.flush(patience)
    }

    /// Why the store cannot be written at the moment.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.shared().state.is_down().then(|| self.shared().state.reason().1)
    }

    fn shared(&self) -> &Shared {
        &self.0.shared
    }

    /// Whether a call of this tool may go on without its record.
    fn may_go_on(&self, contract: Option<&Contract>) -> bool {
        self.shared().options.on_failure == OnFailure::ServeReads
            && contract.is_some_and(|contract| !contract.effect().changes_something())
    }
}

impl Audit for Trail {
    fn ready(&self, contract: &Contract) -> Result<(), Refusal> {
        let shared = self.shared();
        if !shared.state.is_down() && shared.queue.has_room() {
            return Ok(());
        }
        if self.may_go_on(Some(contract)) {
            return Ok(());
        }
        let reason = if shared.state.is_down() { shared.state.reason().1 } else { FULL.to_owned() };
        Err(unavailable(&reason))
    }

    fn record<'a>(&'a self, record: &Record<'_>) -> Answer<'a, Result<(), Refusal>> {
        let shared = self.shared();
        let limits = &shared.options.limits;
        // A store that is down takes no record, and a count is more than a loss.
        let has_room = || shared.queue.has_fewer_than(limits.refusal_queue) && !shared.state.is_down();
        if record.result == ResultKind::Refused
            && !shared.flood.writes(record, writer::now_us(), has_room(), limits)
        {
            return Answer::now(Ok(()));
        }
        let may_go_on = self.may_go_on(record.contract);
        let (answer, answered) = oneshot::channel();
        let body = Box::new(Body::of_record(record, &shared.writer, &shared.options.limits));
        if shared.queue.push(Waiting { body, answer }).is_err() {
            shared.state.lose(1, writer::now_us(), FULL);
            // The log is no trail, and better than nothing.
            let _logged = LogAudit.record(record);
            return Answer::now(if may_go_on { Ok(()) } else { Err(unavailable(FULL)) });
        }
        if may_go_on && shared.state.is_down() {
            // It is tried all the same, and nobody waits for what is not needed.
            return Answer::now(Ok(()));
        }
        let patience = shared.options.limits.answer;
        Answer::later(async move {
            let result = match timeout(patience, answered).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err("its writer ended".to_owned()),
                Err(_) => {
                    // From here on nothing else waits as long; the next group that is written ends it.
                    shared.state.set_down(writer::now_us(), LATE);
                    Err(LATE.to_owned())
                }
            };
            match result {
                Ok(()) => Ok(()),
                Err(_) if may_go_on => Ok(()),
                Err(reason) => Err(unavailable(&reason)),
            }
        })
    }
}

const LATE: &str = "it did not answer in time";
const FULL: &str = "too many records wait to be written";

fn unavailable(reason: &str) -> Refusal {
    Refusal::new(Code::GateUnavailable, "the call could not be recorded")
        .with_detail(format_args!("the audit trail cannot be written: {reason}"))
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.shared.queue.close(CLOSE) {
            tracing::error!("the audit trail was not written to its end in time");
        }
    }
}

impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trail").field("options", &self.shared().options).finish_non_exhaustive()
    }
}
