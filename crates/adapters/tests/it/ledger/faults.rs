//! A store that loses work and answers at any point: what is left is never a second effect.

use std::collections::BTreeMap;
use std::sync::Mutex;

use callgate_adapters::store::{Crash, Faults};

use super::stores::{Place, limits, reserve};
use super::*;
use crate::store::Kind;

/// Numbers that look random and are the same for each seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Loses a part of the work and of the answers.
struct Losing(Mutex<Random>);

impl Faults for Losing {
    fn next(&self, _: &[Statement]) -> Crash {
        match self.0.lock().unwrap().below(6) {
            0 => Crash::Before,
            1 => Crash::After,
            _ => Crash::None,
        }
    }
}

/// How many seeded runs each test makes.
fn runs(usual: u64) -> u64 {
    std::env::var("CALLGATE_CRASH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(usual)
}

#[derive(Default)]
struct Counts {
    effects: u64,
    replayed: u64,
    unknown: u64,
    refused: u64,
    crashes: u64,
}

/// One run: a few calls with one key on instances that are killed and stores that lose work. Returns how often the
/// effect happened and what the callers were told.
fn run(place: &Place, runtime: &Runtime, seed: u64, counts: &mut Counts) {
    place.execute("delete from callgate_effect");
    place.execute("delete from callgate_instance");
    let mut random = Random(seed);
    let faulty = |random: &mut Random| {
        place.store.with_faults(Arc::new(Losing(Mutex::new(Random(random.below(u64::MAX >> 1))))))
    };
    let start = |random: &mut Random| loop {
        if let Ok(ledger) = StoreLedger::start(faulty(random), limits(), "test") {
            return ledger;
        }
    };
    let mut ledger = start(&mut random);
    let mut effects: BTreeMap<CallId, u64> = BTreeMap::new();
    let mut acknowledged = None;
    for number in 0..12_u64 {
        let call = call(seed * 100 + number);
        let contract = contract();
        let told = runtime.block_on(claim(&ledger, &contract, call));
        match told {
            Err(_) => counts.refused += 1,
            Ok(Told::Owned) => {
                let before = random.below(4) == 0;
                let after = random.below(4) == 0;
                if before {
                    // Killed before anything was dispatched.
                    counts.crashes += 1;
                    kill(place, ledger);
                    ledger = start(&mut random);
                    continue;
                }
                if random.below(5) == 0 {
                    runtime.block_on(async {
                        let _ = ledger.settle(Row::new(key(1), call), Ending::Failed).await;
                    });
                    continue;
                }
                *effects.entry(call).or_default() += 1;
                if after {
                    // Killed after the effect, before its end was recorded.
                    counts.crashes += 1;
                    kill(place, ledger);
                    ledger = start(&mut random);
                    continue;
                }
                let result = StoredResult::new(None, Some(format!("\"{call}\"")), None);
                let settled = runtime.block_on(async {
                    ledger.settle(Row::new(key(1), call), Ending::Committed(Some(&result))).await
                });
                if settled.is_ok() {
                    acknowledged = Some(call);
                }
            }
            Ok(Told::Replayed(other, _)) => {
                counts.replayed += 1;
                assert_eq!(effects.get(&other), Some(&1), "seed {seed}: a replay of what did not happen");
            }
            Ok(Told::Unknown(_)) => counts.unknown += 1,
            Ok(Told::InFlight(_)) => {
                // Either it comes to rest by itself, or its owner is dead.
                if random.below(2) == 0 {
                    counts.crashes += 1;
                    kill(place, ledger);
                    ledger = start(&mut random);
                }
            }
            Ok(told) => panic!("seed {seed}: {told:?}"),
        }
        let happened: u64 = effects.values().sum();
        assert!(happened <= 1, "seed {seed}: {happened} effects");
    }
    let happened: u64 = effects.values().sum();
    counts.effects += happened;
    // What was acknowledged is found by whoever asks next.
    if let Some(call) = acknowledged {
        kill(place, ledger);
        let last = StoreLedger::start(place.store.clone(), limits(), "last").unwrap();
        let told = runtime.block_on(reserve(&last, 1, seed * 100 + 99));
        assert_eq!(told, Told::Replayed(call, Some(format!("\"{call}\""))), "seed {seed}");
        return;
    }
    // What is not known is resolved by what the backend shows, and then all agree.
    kill(place, ledger);
    for effect in unsettled(&place.store, 10).unwrap() {
        let outcome =
            if effects.contains_key(&effect.call) { Outcome::Committed(None) } else { Outcome::Failed };
        assert_eq!(resolve(&place.store, &effect, &outcome, "test", "counted").unwrap(), Resolved::Done);
    }
    let last = StoreLedger::start(place.store.clone(), limits(), "last").unwrap();
    let told = runtime.block_on(reserve(&last, 1, seed * 100 + 99));
    match told {
        Told::Owned => assert_eq!(happened, 0, "seed {seed}: the effect would happen again"),
        Told::Replayed(..) => assert_eq!(happened, 1, "seed {seed}"),
        told => panic!("seed {seed}: {told:?}"),
    }
}

/// Kills an instance; so long passes that all know.
fn kill(place: &Place, ledger: StoreLedger) {
    let instance = ledger.forget();
    let statement = Statement::new("update callgate_instance set beat_us = 0 where id = $1").bind(instance);
    place.store.run_blocking(vec![statement]).unwrap();
}

async fn claim(ledger: &StoreLedger, contract: &Contract, call: CallId) -> Result<Told, Code> {
    let principal = Principal::new("dana").with_tenant("tenant-a");
    let deadline = Instant::now() + Duration::from_secs(10);
    let row = Row::new(key(1), call);
    let input = InputDigest(Digest::of_bytes(&[b'i', 0]));
    let claim = Claim::new(row, input, &principal, contract, RETENTION, deadline);
    match ledger.reserve(claim).await {
        Ok(Reservation::Owned) => Ok(Told::Owned),
        Ok(Reservation::Replayed(replay)) => Ok(Told::Replayed(replay.call, None)),
        Ok(Reservation::InFlight(call)) => Ok(Told::InFlight(call)),
        Ok(Reservation::Unknown(call)) => Ok(Told::Unknown(call)),
        Ok(other) => panic!("{other:?}"),
        Err(refusal) => Err(refusal.code()),
    }
}

#[expect(clippy::print_stdout, reason = "`cargo xtask crash` shows the counts")]
fn many(kind: Kind, usual: u64) {
    let runtime = Runtime::new().unwrap();
    let place = Place::migrated(kind);
    let mut counts = Counts::default();
    let runs = runs(usual);
    for seed in 0..runs {
        run(&place, &runtime, seed, &mut counts);
    }
    let Counts { effects, replayed, unknown, refused, crashes } = counts;
    println!(
        "crash {kind:?}: {runs} runs, {crashes} crashes, {effects} effects, {replayed} replays, {unknown} unknown, \
         {refused} refused, 0 doubled, 0 lost"
    );
    assert!(effects > 0 && crashes > 0 && unknown > 0 && replayed > 0 && refused > 0);
}

#[test]
fn no_effect_happens_twice_and_none_that_was_acknowledged_is_lost_on_sqlite() {
    many(Kind::Sqlite, 1000);
}

#[test]
fn no_effect_happens_twice_and_none_that_was_acknowledged_is_lost_on_postgres() {
    many(Kind::Postgres, 300);
}
