//! What every store of approvals must do, as a property against a model of a few lines.
//!
//! The stores of the core and of the adapters run the same one. A failure prints the steps that led to it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic in a test is a failed test")]

use std::sync::Arc;

use callgate_core::contract::digest::Digest;
use callgate_core::port::{
    ApprovalBounds, ApprovalRow, ApprovalState, ApprovalVerdict, Approvals, Claimed, Ruled, Timestamp, Used,
};
use callgate_core::receipt::CallId;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

/// One step. Callers, calls and approvals are numbers that are taken modulo how many there are.
#[derive(Clone, Debug)]
pub enum ApprovalStep {
    /// A caller makes a call that needs an approval; it lives for so many seconds, and may want a second person.
    Claim(u8, u8, u8, bool),
    /// The caller answers the question of that number itself, with yes or no.
    UseUp(u8, u8, bool),
    /// That person decides the approval of that number, with yes or no, for so many seconds more.
    Rule(u8, u8, bool, u8),
    /// Let seconds pass.
    Pass(u8),
}

/// The steps of one run.
pub fn approval_steps() -> impl Strategy<Value = Vec<ApprovalStep>> {
    let step = prop_oneof![
        5 => (any::<u8>(), any::<u8>(), 1..20_u8, any::<bool>())
            .prop_map(|(who, call, life, second)| ApprovalStep::Claim(who, call, life, second)),
        2 => any::<(u8, u8, bool)>().prop_map(|(who, at, yes)| ApprovalStep::UseUp(who, at, yes)),
        4 => (any::<u8>(), any::<u8>(), any::<bool>(), 0..20_u8)
            .prop_map(|(at, by, yes, more)| ApprovalStep::Rule(at, by, yes, more)),
        2 => (0..8_u8).prop_map(ApprovalStep::Pass),
    ];
    proptest::collection::vec(step, 1..80)
}

const PEOPLE: [&str; 3] = ["dana", "kim", "eve"];
const OWN: usize = 3;
const TOTAL: usize = 6;

fn bounds() -> ApprovalBounds {
    ApprovalBounds { of_owner: OWN, total: TOTAL }
}

/// A row of one of the callers. Each has its own id, as each call has.
fn row(number: usize, who: usize, state: ApprovalState, now: i64, life: u8) -> ApprovalRow {
    let id = CallId::new(u64::try_from(number).unwrap(), &[7; 10]);
    let owner = Digest::of_bytes(PEOPLE[who].as_bytes());
    let expires = Timestamp(now + i64::from(life) * 1_000_000);
    let mut row = ApprovalRow::new(id, owner, state, Timestamp(now), expires);
    row.subject = PEOPLE[who].to_owned();
    row.tenant = (who == 1).then(|| "tenant".to_owned());
    row.tool = "tool".to_owned();
    row.text = format!("text {number}, \"é\" 'x'");
    row
}

/// The model: rows in a list, looked at one by one.
#[derive(Default)]
struct Model(Vec<ApprovalRow>);

impl Model {
    fn pass(&mut self, now: i64) {
        self.0.retain(|row| row.expires.0 > now);
    }

    fn has_room(&self, owner: Digest, counts: impl Fn(&ApprovalRow) -> bool) -> bool {
        let of = |all: bool| self.0.iter().filter(|row| counts(row) && (all || row.owner == owner)).count();
        of(true) < TOTAL && of(false) < OWN
    }

    fn claim(&mut self, row: ApprovalRow) -> Claimed {
        let open = |row: &ApprovalRow| row.binding.is_some() && row.state != ApprovalState::Burned;
        let has_room = self.has_room(row.owner, open);
        let Some(known) = self.0.iter_mut().find(|known| open(known) && known.binding == row.binding) else {
            return if has_room {
                self.0.push(row.clone());
                Claimed::Pending(row)
            } else {
                Claimed::Full
            };
        };
        match known.state {
            ApprovalState::Granted => {
                known.state = ApprovalState::Burned;
                Claimed::Burned(known.clone())
            }
            ApprovalState::Denied => Claimed::Denied(known.clone()),
            _ => Claimed::Pending(known.clone()),
        }
    }

    fn use_up(&mut self, row: ApprovalRow) -> Used {
        if self.0.iter().any(|known| known.id == row.id) {
            Used::Again
        } else if self.has_room(row.owner, |row| row.binding.is_none()) {
            self.0.push(row);
            Used::First
        } else {
            Used::Full
        }
    }

    fn rule(&mut self, id: CallId, verdict: ApprovalVerdict) -> Ruled {
        let Some(row) = self.0.iter_mut().find(|row| row.id == id && row.binding.is_some()) else {
            return Ruled::Unknown;
        };
        if row.state != ApprovalState::Pending {
            return Ruled::Settled(row.clone());
        }
        if verdict.granted && row.second_person && row.subject == verdict.by {
            return Ruled::OwnCall(row.clone());
        }
        row.state = if verdict.granted { ApprovalState::Granted } else { ApprovalState::Denied };
        row.expires = row.expires.max(verdict.until);
        row.by = Some(verdict.by);
        row.reason = verdict.reason;
        Ruled::Done(row.clone())
    }
}

/// Runs the steps on a store and on the model at once. `start` is the time at which the store is empty.
///
/// # Panics
/// The store does something else than the model.
pub async fn approvals_do_as_the_model(store: &dyn Approvals, start: Timestamp, steps: &[ApprovalStep]) {
    let (mut now, mut model) = (start.0, Model::default());
    let pick = |number: u8, of: usize| usize::from(number) % of;
    for (number, step) in steps.iter().enumerate() {
        model.pass(now);
        let at = Timestamp(now);
        match step {
            ApprovalStep::Claim(who, call, life, second) => {
                let who = pick(*who, PEOPLE.len());
                let mut row = row(number, who, ApprovalState::Pending, now, *life);
                row.second_person = *second;
                row.binding = Some(Digest::of_bytes(format!("{who} {} {second}", call % 4).as_bytes()));
                let claimed = store.claim(row.clone(), bounds(), at).await.unwrap();
                assert_eq!(claimed, model.claim(row), "{number}: {step:?}");
            }
            ApprovalStep::UseUp(who, id, yes) => {
                let who = pick(*who, PEOPLE.len());
                let state = if *yes { ApprovalState::Burned } else { ApprovalState::Denied };
                // Among the ids are some of other rows, and some that are used for the first time.
                let row = row(1000 + pick(*id, 8), who, state, now, 10);
                let used = store.use_up(row.clone(), bounds(), at).await.unwrap();
                assert_eq!(used, model.use_up(row), "{number}: {step:?}");
            }
            ApprovalStep::Rule(id, by, yes, more) => {
                let id = CallId::new(u64::try_from(pick(*id, number + 2)).unwrap(), &[7; 10]);
                let by = PEOPLE[pick(*by, PEOPLE.len())];
                let verdict = if *yes {
                    ApprovalVerdict::grant(by, Timestamp(now + i64::from(*more) * 1_000_000))
                } else {
                    ApprovalVerdict::deny(by).with_reason((more % 2 == 0).then(|| "no \"reason\"".to_owned()))
                };
                let ruled = store.rule(id, verdict.clone(), at).await.unwrap();
                assert_eq!(ruled, model.rule(id, verdict), "{number}: {step:?}");
                let known = model.0.iter().find(|row| row.id == id && row.binding.is_some()).cloned();
                assert_eq!(store.get(id, at).await.unwrap(), known, "{number}: {step:?}");
            }
            ApprovalStep::Pass(seconds) => now += i64::from(*seconds) * 1_000_000,
        }
    }
    model.pass(now);
    let mut left: Vec<_> = model.0.into_iter().filter(|row| row.binding.is_some()).collect();
    left.sort_by_key(|row| row.id);
    let listed = store.list(100, Timestamp(now)).await.unwrap();
    assert_eq!(listed, left);
    assert_eq!(store.list(1, Timestamp(now)).await.unwrap(), left.get(..1.min(left.len())).unwrap());
}

/// Runs `runs` lists of random steps, each on an empty store that `make` gives.
///
/// # Panics
/// A run failed; the smallest one that fails is shown.
pub fn test_approvals(runs: u32, make: impl Fn() -> Arc<dyn Approvals>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: runs, failure_persistence: None, ..Config::default() });
    runner
        .run(&approval_steps(), |steps| {
            let store = make();
            runtime.block_on(approvals_do_as_the_model(&*store, Timestamp(1_000_000), &steps));
            Ok(())
        })
        .unwrap();
}

/// Of many who claim one granted approval at once, or answer one question at once, one gets it.
///
/// # Panics
/// None or several do.
pub async fn one_of_many_gets_it(store: Arc<dyn Approvals>) {
    let wide = ApprovalBounds { of_owner: 100, total: 100 };
    let now = Timestamp(1_000_000);
    let mut asked = row(1, 0, ApprovalState::Pending, now.0, 60);
    asked.binding = Some(Digest::of_bytes(b"one call"));
    assert!(matches!(store.claim(asked.clone(), wide, now).await.unwrap(), Claimed::Pending(_)));
    let ruled = store.rule(asked.id, ApprovalVerdict::grant("kim", now), now).await.unwrap();
    assert!(matches!(ruled, Ruled::Done(_)));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let (store, mut again) =
            (Arc::clone(&store), row(100 + number, 0, ApprovalState::Pending, now.0, 60));
        again.binding = asked.binding;
        let answered = row(50, 0, ApprovalState::Burned, now.0, 60);
        tasks.spawn(async move {
            let claimed = store.claim(again, wide, now).await.unwrap();
            let used = store.use_up(answered, wide, now).await.unwrap();
            (matches!(claimed, Claimed::Burned(_)), used == Used::First)
        });
    }
    let all = tasks.join_all().await;
    assert_eq!(all.iter().filter(|(burned, _)| *burned).count(), 1);
    assert_eq!(all.iter().filter(|(_, first)| *first).count(), 1);
    assert_eq!(store.list(100, now).await.unwrap().len(), 2, "the burned one and one that waits");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgate_core::memory::MemoryApprovals;

    use super::{one_of_many_gets_it, test_approvals};

    #[test]
    fn approvals_in_memory_do_as_the_model() {
        test_approvals(1024, || Arc::new(MemoryApprovals::new()));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn of_many_in_memory_one_gets_an_approval() {
        one_of_many_gets_it(Arc::new(MemoryApprovals::new())).await;
    }
}
