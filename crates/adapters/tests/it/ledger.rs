//! One ledger against a model of a few lines: in memory, in SQLite and in PostgreSQL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use callgate_adapters::store::ledger::{LedgerLimits, Outcome, Resolved, StoreLedger, resolve, unsettled};
use callgate_adapters::store::{Options, Statement, Store, migrate, missing, plan};
use callgate_core::contract::digest::{Digest, InputDigest};
use callgate_core::contract::{Contract, Definition, Effect, Idempotency, KeySource, Resolution};
use callgate_core::limits::Limits;
use callgate_core::port::{
    Claim, Clock, EffectKey, Ending, Ledger, MemoryLedger, MemoryLedgerLimits, Reservation, Row,
    StoredResult, Timestamp,
};
use callgate_core::principal::Principal;
use callgate_core::receipt::CallId;
use callgate_core::refusal::Code;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Runtime;
use tokio::time::Instant;

mod cut;
mod faults;
mod stores;

pub(crate) use stores::Place;

/// How long a row is kept in these tests.
const RETENTION: Duration = Duration::from_secs(3600);
const ROWS: usize = 4;
const KEYS: u8 = 6;

pub(crate) fn contract() -> Contract {
    let mut definition = Definition::new("pay", Effect::Append, r#"{"type":"object"}"#);
    definition.description = Some("Pays an invoice once.".to_owned());
    definition.idempotency = Some(Idempotency::new(KeySource::Input).with_retention(RETENTION));
    definition.resolution = Some(Resolution::Person);
    Contract::new(&definition, &Limits::default()).unwrap()
}

pub(crate) fn key(key: u8) -> EffectKey {
    EffectKey(Digest::of_bytes(&[key]))
}

fn input(input: u8) -> InputDigest {
    InputDigest(Digest::of_bytes(&[b'i', input]))
}

pub(crate) fn call(number: u64) -> CallId {
    let mut random = [0; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    CallId::new(1_700_000_000_000, &random)
}

/// What happens to a ledger.
#[derive(Clone, Debug)]
enum Step {
    /// An instance claims a key for an input.
    Reserve { instance: usize, key: u8, input: u8, replay_only: bool },
    /// The owner of a row says how it ended.
    Settle { open: usize, ending: End },
    /// The call of a row is dropped.
    Abandon { open: usize },
    /// An instance is killed and started again.
    Crash { instance: usize },
    /// So long passes that whoever was killed counts as lost.
    Silence,
    /// So long passes that what ended may go.
    Retention,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Committed,
    Failed,
    Released,
    Unknown,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ending = prop_oneof![3 => Just(End::Committed), 1 => Just(End::Failed), 1 => Just(End::Released), 1 => Just(End::Unknown)];
    let step = prop_oneof![
        8 => (0..2_usize, 0..KEYS, 0..2_u8, proptest::bool::weighted(0.15)).prop_map(
            |(instance, key, input, replay_only)| Step::Reserve { instance, key, input, replay_only }),
        5 => (any::<usize>(), ending).prop_map(|(open, ending)| Step::Settle { open, ending }),
        1 => any::<usize>().prop_map(|open| Step::Abandon { open }),
        1 => (0..2_usize).prop_map(|instance| Step::Crash { instance }),
        1 => Just(Step::Silence),
        1 => Just(Step::Retention),
    ];
    proptest::collection::vec(step, 1..40)
}

/// What a claim is told.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Owned,
    Replayed(CallId, Option<String>),
    InFlight(CallId),
    Unknown(CallId),
    Conflict(CallId),
    Absent,
    Full,
}

/// The model: what each key stands for.
#[derive(Default)]
struct Model(BTreeMap<u8, Held>);

struct Held {
    state: Option<End>,
    call: CallId,
    input: u8,
    expired: bool,
    /// The instance that owns it is dead, and perhaps so long that all know.
    dead: bool,
    lost: bool,
}

impl Model {
    fn reserve(&mut self, key: u8, input: u8, call: CallId, replay_only: bool) -> Told {
        if let Some(held) = self.0.get(&key) {
            let free =
                held.state == Some(End::Failed) || (held.state == Some(End::Committed) && held.expired);
            if !free {
                return match held.state {
                    _ if held.input != input => Told::Conflict(held.call),
                    Some(End::Committed) => Told::Replayed(held.call, Some(held.call.to_string())),
                    None if !held.lost => Told::InFlight(held.call),
                    _ => Told::Unknown(held.call),
                };
            }
        }
        if replay_only {
            return Told::Absent;
        }
        if !self.0.contains_key(&key) {
            self.0
                .retain(|_, held| !held.expired || !matches!(held.state, Some(End::Committed | End::Failed)));
            if self.0.len() >= ROWS {
                return Told::Full;
            }
        }
        let held = Held { state: None, call, input, expired: false, dead: false, lost: false };
        self.0.insert(key, held);
        Told::Owned
    }

    fn end(&mut self, key: u8, call: CallId, end: End) {
        if self.0.get(&key).is_none_or(|held| held.call != call) {
            return;
        }
        if end == End::Released {
            self.0.remove(&key);
        } else if let Some(held) = self.0.get_mut(&key) {
            held.state = Some(end);
            // Recognised for its whole time from when it is known.
            held.expired &= end != End::Committed;
        }
    }
}

/// Instances on one ledger, and what makes time pass for it.
pub(crate) trait World {
    fn ledger(&self, instance: usize) -> &dyn Ledger;
    /// Kills an instance, which owned these rows, and starts it again.
    fn crash(&mut self, instance: usize, owned: Vec<Row>);
    fn silence(&mut self);
    fn retention(&mut self);
    /// Waits until a row that was abandoned says so.
    fn rest(&self, _: Row) {}
}

fn check(runtime: &Runtime, new: impl Fn() -> Box<dyn World>, cases: u32) {
    let contract = contract();
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let numbers = std::cell::Cell::new(0_u64);
    let result = runner.run(&steps(), |steps| {
        let mut world = new();
        let mut model = Model::default();
        let mut open: Vec<(usize, u8, CallId)> = Vec::new();
        for step in steps {
            match step {
                Step::Reserve { instance, key, input, replay_only } => {
                    numbers.set(numbers.get() + 1);
                    let call = call(numbers.get());
                    let expected = model.reserve(key, input, call, replay_only);
                    let told = runtime.block_on(ask(
                        world.ledger(instance),
                        &contract,
                        key,
                        input,
                        call,
                        replay_only,
                    ));
                    proptest::prop_assert_eq!(&told, &expected);
                    if told == Told::Owned {
                        open.push((instance, key, call));
                    }
                }
                Step::Settle { open: at, ending } if !open.is_empty() => {
                    let (instance, key, call) = open.swap_remove(at % open.len());
                    runtime.block_on(settle(world.ledger(instance), key, call, ending));
                    model.end(key, call, ending);
                }
                Step::Abandon { open: at } if !open.is_empty() => {
                    let (instance, key, call) = open.swap_remove(at % open.len());
                    let row = Row::new(self::key(key), call);
                    world.ledger(instance).abandon(row);
                    world.rest(row);
                    model.end(key, call, End::Unknown);
                }
                Step::Settle { .. } | Step::Abandon { .. } => {}
                Step::Crash { instance } => {
                    let (gone, kept) = open.into_iter().partition(|(owner, ..)| *owner == instance);
                    open = kept;
                    let gone: Vec<(usize, u8, CallId)> = gone;
                    for (_, key, call) in &gone {
                        if let Some(held) = model.0.get_mut(key).filter(|held| held.call == *call) {
                            held.dead = true;
                        }
                    }
                    let rows = gone.iter().map(|(_, key, call)| Row::new(self::key(*key), *call)).collect();
                    world.crash(instance, rows);
                }
                Step::Silence => {
                    model.0.values_mut().for_each(|held| held.lost |= held.dead);
                    world.silence();
                }
                Step::Retention => {
                    model.0.values_mut().for_each(|held| held.expired = true);
                    world.retention();
                }
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

async fn ask(
    ledger: &dyn Ledger,
    contract: &Contract,
    of: u8,
    with: u8,
    call: CallId,
    replay_only: bool,
) -> Told {
    let principal = Principal::new("dana").with_tenant("tenant-a");
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut claim =
        Claim::new(Row::new(key(of), call), input(with), &principal, contract, RETENTION, deadline);
    claim.replay_only = replay_only;
    let is_settled = ledger.is_settled(claim).await.unwrap();
    let told = match ledger.reserve(claim).await {
        Ok(Reservation::Owned) => Told::Owned,
        Ok(Reservation::Replayed(replay)) => {
            Told::Replayed(replay.call, replay.result.and_then(|result| result.structured))
        }
        Ok(Reservation::InFlight(call)) => Told::InFlight(call),
        Ok(Reservation::Unknown(call)) => Told::Unknown(call),
        Ok(Reservation::Conflict(call)) => Told::Conflict(call),
        Ok(Reservation::Absent) => Told::Absent,
        Err(refusal) if refusal.code() == Code::LedgerFull => Told::Full,
        Err(refusal) => panic!("{refusal:?}"),
    };
    assert_eq!(is_settled, matches!(told, Told::Replayed(..)));
    told
}

async fn settle(ledger: &dyn Ledger, of: u8, call: CallId, end: End) {
    let result = StoredResult::new(None, Some(call.to_string()), None);
    let ending = match end {
        End::Committed => Ending::Committed(Some(&result)),
        End::Failed => Ending::Failed,
        End::Released => Ending::Released,
        End::Unknown => Ending::Unknown,
    };
    ledger.settle(Row::new(key(of), call), ending).await.unwrap();
}

/// A clock that the test moves.
struct Moved(AtomicI64);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

struct InMemory {
    ledger: MemoryLedger,
    clock: Arc<Moved>,
    dead: Vec<Row>,
}

impl World for InMemory {
    fn ledger(&self, _: usize) -> &dyn Ledger {
        &self.ledger
    }

    fn crash(&mut self, _: usize, owned: Vec<Row>) {
        self.dead.extend(owned);
    }

    fn silence(&mut self) {
        self.dead.drain(..).for_each(|row| self.ledger.abandon(row));
    }

    fn retention(&mut self) {
        let hour = i64::try_from(RETENTION.as_micros()).unwrap();
        self.clock.0.fetch_add(hour, Ordering::Relaxed);
    }
}

#[test]
fn the_ledger_in_memory_does_what_the_model_does() {
    let runtime = Runtime::new().unwrap();
    let new = || -> Box<dyn World> {
        let clock = Arc::new(Moved(AtomicI64::new(0)));
        let limits = MemoryLedgerLimits::DEFAULT.with_rows(ROWS);
        Box::new(InMemory {
            ledger: MemoryLedger::new(limits, Arc::clone(&clock) as _),
            clock,
            dead: Vec::new(),
        })
    };
    check(&runtime, new, 512);
}
