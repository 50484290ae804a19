use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::{Strategy, proptest};
use tokio::time::advance;

use super::{Keys, Moment, Rate, Slot};

fn rate(calls: u32, burst: u32) -> Rate {
    Rate::per_minute(NonZeroU32::new(calls).unwrap(), NonZeroU32::new(burst).unwrap())
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_burst_is_given_one_more_is_refused_and_told_when_to_come_back() {
    let slot = Slot::default();
    let sixty = rate(60, 3);
    for _ in 0..3 {
        assert_eq!(slot.take(sixty, Moment(0)), Ok(()));
    }
    assert_eq!(slot.take(sixty, Moment(0)), Err(Duration::from_secs(1)));
    assert_eq!(slot.take(sixty, Moment(SECOND - 1)), Err(Duration::from_nanos(1)));
    assert_eq!(slot.take(sixty, Moment(SECOND)), Ok(()), "a refusal uses nothing up");
    assert_eq!(slot.take(sixty, Moment(SECOND)), Err(Duration::from_secs(1)));
}

#[test]
fn a_changed_rate_keeps_what_was_used_and_starts_from_nothing_at_worst() {
    let slot = Slot::default();
    let (slow, fast) = (rate(60, 1000), rate(6000, 10));
    for _ in 0..1000 {
        slot.take(slow, Moment(0)).unwrap();
    }
    // What the slow rate would take a quarter of an hour to regain is all of the fast one.
    assert_eq!(slot.take(fast, Moment(0)), Err(Duration::from_millis(10)));
    assert_eq!(slot.take(fast, Moment(SECOND / 100)), Ok(()));
    assert!(slot.take(fast, Moment(SECOND / 100)).is_err());
    // And the other way: three used of the fast rate are three hundredths of a second.
    let slot = Slot::default();
    for _ in 0..3 {
        slot.take(fast, Moment(0)).unwrap();
    }
    assert_eq!(slot.take(rate(60, 1), Moment(0)), Err(Duration::from_millis(30)));
}

#[test]
fn rates_at_the_ends_of_their_range_do_not_overflow() {
    let slot = Slot::default();
    for rate in [rate(u32::MAX, u32::MAX), rate(1, u32::MAX), rate(1, 1), rate(u32::MAX, 1)] {
        for now in [0, u64::MAX / 2, u64::MAX] {
            let _ = slot.take(rate, Moment(now));
        }
    }
}

#[test]
fn places_are_given_to_the_bound_and_come_back() {
    let slot = Arc::new(Slot::default());
    let (one, two) = (slot.enter(2), slot.enter(2));
    assert!(one.is_some() && two.is_some() && slot.enter(2).is_none());
    drop(one);
    assert!(slot.enter(2).is_some());
    assert!(slot.enter(0).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_full_table_refuses_new_keys_until_one_has_nothing_in_use() {
    let keys = Keys::new();
    let sixty = rate(60, 1);
    for name in ["a", "b"] {
        let now = keys.now();
        keys.slot(keys.key(name), now, 2).unwrap().take(sixty, now).unwrap();
    }
    assert!(keys.slot(keys.key("c"), keys.now(), 2).is_none());
    assert!(keys.slot(keys.key("a"), keys.now(), 2).is_some(), "a known key is found in a full table");
    advance(Duration::from_millis(999)).await;
    assert!(
        keys.slot(keys.key("c"), keys.now(), 2).is_none(),
        "nobody is pushed out who has something in use"
    );
    let a = keys.slot(keys.key("a"), keys.now(), 2).unwrap();
    assert!(a.take(sixty, keys.now()).is_err(), "and trying new keys gives nothing back");
    let place = keys.slot(keys.key("b"), keys.now(), 2).unwrap().enter(1);
    drop(a);
    advance(Duration::from_millis(11)).await;
    assert!(keys.slot(keys.key("c"), keys.now(), 2).is_some(), "`a` is whole again and makes room");
    advance(Duration::from_millis(11)).await;
    drop(keys.slot(keys.key("d"), keys.now(), 2).unwrap());
    assert_eq!(keys.len(), 2, "`c` made room, `b` holds a place");
    assert!(keys.slot(keys.key("b"), keys.now(), 2).unwrap().enter(1).is_none());
    drop(place);
}

#[test]
fn many_threads_get_no_more_than_the_rate_and_the_bound() {
    let keys = Arc::new(Keys::new());
    let now = keys.now();
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let keys = Arc::clone(&keys);
            std::thread::spawn(move || {
                let mut taken = 0;
                for round in 0..2000_u32 {
                    let shared = keys.slot(keys.key("shared"), now, 500).unwrap();
                    taken += usize::from(shared.take(rate(1, 1000), now).is_ok());
                    // Every thread also meets keys of its own, more than there is room for.
                    let held = keys.slot(keys.key((thread, round)), now, 500).and_then(|slot| slot.enter(1));
                    assert!(keys.len() <= 500);
                    drop(held);
                }
                taken
            })
        })
        .collect();
    let taken: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(taken, 1000);
}

/// The model: a bucket that is filled by fractions.
fn allowed(rate: (u32, u32), moments: &[u64]) -> Vec<bool> {
    let interval = u128::from(60 * SECOND).div_ceil(u128::from(rate.0));
    let full = interval * u128::from(rate.1);
    let (mut level, mut last) = (full, 0);
    let take = |now: &u64| {
        level = full.min(level + u128::from(now - last));
        last = *now;
        let given = level >= interval;
        level -= if given { interval } else { 0 };
        given
    };
    moments.iter().map(take).collect()
}

fn moments() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(0..5 * SECOND, 1..200).prop_map(|gaps| {
        let mut now = 0;
        gaps.iter()
            .map(|gap| {
                now += gap / 16;
                now
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn a_rate_gives_what_a_bucket_would(calls in 1_u32..2000, burst in 1_u32..20, moments in moments()) {
        let slot = Slot::default();
        let rate = rate(calls, burst);
        let mut waiting = 0;
        for (now, expected) in moments.iter().zip(allowed((calls, burst), &moments)) {
            match slot.take(rate, Moment(*now)) {
                Ok(()) => assert!(expected && *now >= waiting),
                Err(wait) => {
                    assert!(!expected && !wait.is_zero());
                    waiting = now + u64::try_from(wait.as_nanos()).unwrap();
                }
            }
        }
    }
}
