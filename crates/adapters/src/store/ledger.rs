//! The ledger in a store: rows that outlive the process and are shared by all instances.
//!
//! Each claim and each ending is one statement, so a crash leaves a row before or after it and never between.
//! Whether the owner of a row is alive is told by the row of its instance, by the clock of the store; a row
//! whose owner is not is unknown, never free. The gate starts one ledger for its whole life; the states are in
//! `docs/design/ledger.md`.

mod beat;
mod reconcile;
mod row;
mod waiters;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_core::contract::Contract;
use callgate_core::port::{
    Answer, Claim, EffectKey, Ending, Entropy as _, Ledger, Replay, Reservation, Row, StoredResult,
    SystemEntropy,
};
use callgate_core::refusal::{Code, Refusal};
use tokio::time::Instant;

use super::migrate::Part;
use super::queue::Answered;
use super::{Rows, Store, StoreError, first};
use row::{Found, Owned, State};
use waiters::Waiters;

pub use reconcile::{Effect, Outcome, Resolved, find, resolve, unsettled};

/// The tables of the ledger.
pub const PART: Part = Part::new("ledger", &[row::TABLES]);

/// The bounds of a ledger.
///
/// # Defaults
/// | bound | default | why |
/// | --- | --- | --- |
/// | `rows` | 1,000,000 | beyond it effects are refused; nothing is forgotten before its time |
/// | `result_bytes` | 64 KiB | a larger result is not replayed |
/// | `lost_after` | 15 s | an instance that was not heard of for so long has lost its rows |
/// | `look_again` | 100 ms | how long a call that waits for another instance waits before it looks again |
/// | `doubt` | 30 s | how long a claim whose answer was lost may still come through; no statement runs so long |
/// | `count_after` | 60 s | how old a count of the rows may be |
/// | `purge` | 1,000 | rows whose time is over that one statement deletes |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LedgerLimits {
    /// Rows at one time.
    pub rows: u64,
    /// The largest result that is kept.
    pub result_bytes: usize,
    /// After which silence an instance has lost its rows.
    pub lost_after: Duration,
    /// How long a call that waits waits before it looks again.
    pub look_again: Duration,
    /// How long a claim whose answer was lost may still come through.
    pub doubt: Duration,
    /// How old a count of the rows may be.
    pub count_after: Duration,
    /// Rows that one statement deletes.
    pub purge: u32,
}

impl Default for LedgerLimits {
    fn default() -> Self {
        Self {
            rows: 1_000_000,
            result_bytes: 64 << 10,
            lost_after: Duration::from_secs(15),
            look_again: Duration::from_millis(100),
            doubt: Duration::from_secs(30),
            count_after: Duration::from_secs(60),
            purge: 1000,
        }
    }
}

/// A ledger in a store. Clones are the same ledger; the last one that is dropped says that its instance is gone.
#[derive(Clone)]
pub struct StoreLedger(Arc<Owner>);

/// Ends the instance when the last clone is gone.
struct Owner {
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

struct Shared {
    store: Store,
    limits: LedgerLimits,
    /// The name of this instance, new for each start.
    instance: String,
    /// What people may know of it.
    about: String,
    waiters: Waiters,
    /// Rows there were when they were counted, and those claimed since.
    used: AtomicI64,
    state: Mutex<Inner>,
    /// There is something to write again, or the end.
    came: Condvar,
    forgotten: AtomicBool,
}

struct Inner {
    /// When this instance was last heard of.
    heard: Instant,
    counted: Instant,
    /// Why it could not make itself heard.
    fault: Option<String>,
    /// Endings that could not be written yet.
    again: Vec<Owned>,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether others take this instance for alive, so that a row of it is its own.
    fn ready(&self) -> Result<(), Refusal> {
        let inner = self.lock();
        // Less than after which it is lost, so that a call that begins now is not in doubt at once.
        if inner.heard.elapsed() * 3 < self.limits.lost_after * 2 {
            return Ok(());
        }
        let reason =
            inner.fault.clone().unwrap_or_else(|| "this instance was not heard of in time".to_owned());
        Err(unavailable(&reason))
    }
}

impl StoreLedger {
    /// Starts a ledger: the instance is heard of when this returns. It blocks, and may be called anywhere.
    ///
    /// # Errors
    /// The store cannot be written, or has no tables.
    pub fn start(store: Store, limits: LedgerLimits, about: &str) -> Result<Self, StoreError> {
        let mut bytes = [0_u8; 16];
        SystemEntropy::default().fill(&mut bytes).map_err(|error| {
            StoreError::unavailable(error.to_string(), "use a system whose random source works")
        })?;
        let now = Instant::now();
        let shared = Arc::new(Shared {
            store,
            limits,
            instance: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            about: row::bounded(about),
            waiters: Waiters::default(),
            used: AtomicI64::new(0),
            state: Mutex::new(Inner {
                heard: now,
                counted: now,
                fault: None,
                again: Vec::new(),
                closed: false,
            }),
            came: Condvar::new(),
            forgotten: AtomicBool::new(false),
        });
        beat::first(&shared)?;
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("callgate-ledger".to_owned())
            .spawn(move || beat::run(&worker))
            .map_err(|error| {
                let remedy = "free memory or threads of this machine";
                StoreError::unavailable(format!("its thread cannot be made: {error}"), remedy)
            })?;
        Ok(Self(Arc::new(Owner { shared, thread: Mutex::new(Some(thread)) })))
    }

    /// The store, for what shares it.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.shared.store
    }

    /// Ends as a process ends that is killed: nothing is written any more, and nobody is told. For tests, which get
    /// the name of the instance.
    #[doc(hidden)]
    #[must_use]
    pub fn forget(self) -> String {
        self.0.shared.forgotten.store(true, Ordering::Release);
        self.0.shared.instance.clone()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.came.notify_all();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the ledger panicked");
        }
    }
}

impl Shared {
    async fn reserve(self: Arc<Self>, claim: Asked) -> Result<Reservation, Refusal> {
        self.ready()?;
        if self.limits.count_after.is_zero() {
            self.make_room().await?;
        }
        // A row that failed, or whose time is over, is taken again and needs no more room.
        let mut again = false;
        // Another call may end, be forgotten or be given back between two questions; that is bounded.
        for _ in 0..4 {
            let slot = if again { None } else { Slot::take(&self) };
            if (again || slot.is_some()) && !claim.replay_only {
                let mut claiming = Claiming::begin(&self, &claim);
                let taken = claiming.answer().await.map_err(|error| explained(&error))?;
                if !taken.is_empty() {
                    slot.into_iter().for_each(Slot::keep);
                    return Ok(Reservation::Owned);
                }
            }
            let full = slot.is_none();
            drop(slot);
            let found = self.look(claim.key).await?;
            match found.as_ref().and_then(|found| found.reservation(&claim)) {
                Some(reservation) => return Ok(reservation),
                None if claim.replay_only => return Ok(Reservation::Absent),
                None => {}
            }
            again = found.is_some();
            if full && !again && !self.make_room().await? {
                let message = "the ledger is full, so no new effect can be recorded";
                return Err(Refusal::new(Code::LedgerFull, message));
            }
        }
        Err(unavailable("the row of the effect does not come to rest"))
    }

    async fn look(&self, key: EffectKey) -> Result<Option<Found>, Refusal> {
        let rows = self.store.one(row::look(key)).await.map_err(|error| explained(&error))?;
        rows.first().map(|row| Found::of(row).ok_or_else(|| unavailable("a row is damaged"))).transpose()
    }

    fn has_room(&self) -> bool {
        u64::try_from(self.used.load(Ordering::Acquire)).unwrap_or(0) < self.limits.rows
    }

    /// Deletes what may go and counts again; false when there is no room all the same.
    async fn make_room(&self) -> Result<bool, Refusal> {
        {
            let mut inner = self.lock();
            let often = self.limits.count_after.min(Duration::from_secs(1));
            if !often.is_zero() && inner.counted.elapsed() < often {
                return Ok(false);
            }
            inner.counted = Instant::now();
        }
        let statements = vec![row::purge(self.limits.purge), row::count()];
        let answers = self.store.run(statements).await.map_err(|error| explained(&error))?;
        self.counted(&answers);
        Ok(self.has_room())
    }

    fn counted(&self, answers: &[Rows]) {
        if let Some(count) = answers.last().and_then(|rows| rows.first()).and_then(|row| row.integer(0)) {
            self.used.store(count, Ordering::Release);
        }
    }

    /// Hands an ending over. What could not be written is written again later.
    fn end(self: &Arc<Self>, owned: Owned, told: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        if self.forgotten.load(Ordering::Acquire) {
            return;
        }
        let shared = Arc::clone(self);
        let statement = owned.statement();
        self.store.submit(vec![statement], true, move |answer: Answered| {
            let key = owned.row.key;
            let result = match answer {
                Ok(answers) => {
                    owned.judge(&answers);
                    if !owned.is_done() {
                        shared.lock().again.push(owned);
                        shared.came.notify_all();
                    }
                    Ok(())
                }
                Err(error) => {
                    tracing::error!(%error, remedy = error.remedy(), call = %owned.row.call,
                        "the end of an effect could not be recorded and is tried again");
                    shared.lock().again.push(owned);
                    shared.came.notify_all();
                    Err(error)
                }
            };
            shared.waiters.wake(key);
            told(result);
        });
    }
}

/// One place in the ledger, given back unless it is kept.
struct Slot<'s>(&'s Shared);

impl<'s> Slot<'s> {
    fn take(shared: &'s Shared) -> Option<Self> {
        let before = shared.used.fetch_add(1, Ordering::AcqRel);
        let slot = Self(shared);
        (u64::try_from(before).unwrap_or(0) < shared.limits.rows).then_some(slot)
    }

    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a call asks, owned.
struct Asked {
    key: EffectKey,
    call: callgate_core::receipt::CallId,
    input: callgate_core::contract::digest::Digest,
    replay_only: bool,
    row: row::NewRow,
}

impl Asked {
    fn of(claim: &Claim<'_>) -> Self {
        Self {
            key: claim.key,
            call: claim.call,
            input: claim.input.0,
            replay_only: claim.replay_only,
            row: row::NewRow::of(claim),
        }
    }
}

/// A claim on its way. Dropped before its answer was taken, the row it made is given back.
struct Claiming {
    shared: Arc<Shared>,
    row: Row,
    pending: Option<super::Pending>,
}

impl Claiming {
    fn begin(shared: &Arc<Shared>, claim: &Asked) -> Self {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let row = Row::new(claim.key, claim.call);
        let statement = claim.row.statement(row, &shared.instance);
        let release = Arc::clone(shared);
        shared.store.submit(vec![statement], false, move |answer: Answered| {
            // Nobody takes it, or nobody knows whether it was made: nothing was dispatched, so it goes.
            let doubt = answer.as_ref().is_err_and(|error| !error.proves_nothing_done());
            let refused = sender.send(answer);
            let made = |answers: &Vec<Rows>| answers.first().is_some_and(|rows| !rows.is_empty());
            if doubt || refused.is_err_and(|answer| answer.as_ref().is_ok_and(made)) {
                let until = doubt.then(|| Instant::now() + release.limits.doubt);
                release.end(Owned::released(row, until), |_| {});
            }
        });
        Self { shared: Arc::clone(shared), row, pending: Some(receiver) }
    }

    async fn answer(&mut self) -> Result<Rows, StoreError> {
        let Some(pending) = &mut self.pending else { return Err(StoreError::ended()) };
        let answer = pending.await;
        self.pending = None;
        answer.unwrap_or_else(|_| Err(StoreError::ended())).map(first)
    }
}

impl Drop for Claiming {
    fn drop(&mut self) {
        let Some(mut pending) = self.pending.take() else { return };
        pending.close();
        // It came and was not taken. One that comes later finds that nobody takes it.
        if pending.try_recv().is_ok_and(|answer| answer.is_ok_and(|answers| !first(answers).is_empty())) {
            self.shared.end(Owned::released(self.row, None), |_| {});
        }
    }
}

impl StoreLedger {
    /// Hands an ending over, and answers when it is written.
    fn end(&self, owned: Owned) -> Answer<'_, Result<(), Refusal>> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.0.shared.end(owned, move |result| {
            // The call may be gone.
            let _ = sender.send(result);
        });
        Answer::later(async move {
            let result = receiver.await.unwrap_or_else(|_| Err(StoreError::ended()));
            result.map_err(|error| explained(&error))
        })
    }
}

impl Ledger for StoreLedger {
    fn ready(&self, _contract: &Contract) -> Result<(), Refusal> {
        self.0.shared.ready()
    }

    fn is_settled<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Result<bool, Refusal>> {
        let asked = Asked::of(&claim);
        Answer::later(async move {
            let found = self.0.shared.look(asked.key).await?;
            let reservation = found.and_then(|found| found.reservation(&asked));
            Ok(matches!(reservation, Some(Reservation::Replayed(_))))
        })
    }

    fn reserve<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Result<Reservation, Refusal>> {
        Answer::later(Arc::clone(&self.0.shared).reserve(Asked::of(&claim)))
    }

    fn changed(&self, key: EffectKey) -> Answer<'_, ()> {
        Answer::later(self.0.shared.waiters.wait(key, self.0.shared.limits.look_again))
    }

    fn settle<'a>(&'a self, row: Row, ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>> {
        self.end(Owned::of(row, ending, self.0.shared.limits.result_bytes))
    }

    fn resolve<'a>(&'a self, row: Row, ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>> {
        self.end(Owned::of(row, ending, self.0.shared.limits.result_bytes).foreign())
    }

    fn abandon(&self, row: Row) {
        self.0.shared.end(Owned::of(row, Ending::Unknown, 0), |_| {});
    }
}

impl Found {
    /// What a claim is told; nothing where the row may be taken.
    fn reservation(&self, claim: &Asked) -> Option<Reservation> {
        let over = self.expired && matches!(self.state, State::Committed | State::Compensated);
        if over || self.state == State::Failed {
            return None;
        }
        if self.input != claim.input {
            return Some(Reservation::Conflict(self.call));
        }
        Some(match self.state {
            State::Executing if self.alive => Reservation::InFlight(self.call),
            State::Executing | State::Unknown => Reservation::Unknown(self.call),
            State::Committed | State::Compensated | State::Failed => {
                let compensated = self.state == State::Compensated;
                let json = callgate_protocol::json::Limits::DEFAULT;
                let result = self.result.as_deref().and_then(|text| StoredResult::from_json(text, &json));
                Reservation::Replayed(Replay::new(self.call, self.contract, compensated, result))
            }
        })
    }
}

fn explained(error: &StoreError) -> Refusal {
    unavailable(&format!("{error}; {}", error.remedy()))
}

fn unavailable(reason: &str) -> Refusal {
    Refusal::new(Code::GateUnavailable, "the effect could not be recorded")
        .with_detail(format_args!("the ledger: {reason}"))
}

impl fmt::Debug for StoreLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreLedger").field("instance", &self.0.shared.instance).finish_non_exhaustive()
    }
}
