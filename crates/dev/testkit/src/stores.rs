//! What every store of handles and artifacts must do, as properties against a model of a few lines.
//!
//! The stores of the core and of the adapters run the same ones. A failure prints the steps that led to it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a panic in a test is a failed test"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use callgate_core::contract::digest::Digest;
use callgate_core::handle::HandleScope;
use callgate_core::keeping::{Keeping, Stores};
use callgate_core::limits::Limits;
use callgate_core::port::{
    ArtifactBounds, ArtifactStore, Clock, HandleKind, HandleRow, HandleStore, NewArtifact, Put, RowBounds,
    SystemEntropy, Timestamp,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::Code;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

/// A clock that stands still until it is set.
#[derive(Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// One step on handles. Callers, scopes and handles are numbers that are taken modulo how many there are.
#[derive(Clone, Debug)]
pub enum HandleStep {
    /// Make a handle that lives for so many seconds.
    Create(u8, u8, u8),
    /// Use the handle of that number.
    Check(u8, u8, u8),
    /// Revoke the handle of that number.
    Revoke(u8, u8, u8),
    /// Let seconds pass.
    Pass(u8),
}

fn principals() -> Vec<Principal> {
    vec![
        Principal::new("dana").with_tenant("a"),
        Principal::new("dana").with_tenant("b"),
        Principal::new("dana"),
        Principal::new("eve").with_tenant("a"),
    ]
}

fn scopes() -> Vec<(HandleScope, &'static str)> {
    vec![
        (HandleScope::tool(), "one"),
        (HandleScope::tool(), "other"),
        (HandleScope::operation("one"), "one"),
        (HandleScope::operation("shared"), "one"),
        (HandleScope::operation("shared").at_version("1"), "one"),
        (HandleScope::operation("shared").at_version("2"), "one"),
    ]
}

/// The steps of one run.
pub fn handle_steps() -> impl Strategy<Value = Vec<HandleStep>> {
    let step = prop_oneof![
        3 => (any::<u8>(), any::<u8>(), 1..20_u8).prop_map(|(who, scope, life)| HandleStep::Create(who, scope, life)),
        4 => any::<(u8, u8, u8)>().prop_map(|(handle, who, scope)| HandleStep::Check(handle, who, scope)),
        2 => any::<(u8, u8, u8)>().prop_map(|(handle, who, scope)| HandleStep::Revoke(handle, who, scope)),
        2 => (0..8_u8).prop_map(HandleStep::Pass),
    ];
    proptest::collection::vec(step, 1..60)
}

/// What the model knows of a handle.
struct Known {
    text: String,
    who: usize,
    scope: usize,
    expires: i64,
    is_revoked: bool,
}

/// Runs the steps on a store and on the model at once. `start` is the time at which the store is empty.
///
/// # Panics
/// The store does something else than the model.
pub async fn handles_do_as_the_model(stores: &Stores, start: Timestamp, steps: &[HandleStep]) {
    let mut limits = Limits::default();
    limits.handles_of_principal = 4;
    limits.handles = 9;
    let (clock, entropy) = (SetClock(AtomicI64::new(start.0)), SystemEntropy::default());
    let keeping = Keeping::new(stores, &limits, &clock, &entropy);
    let (principals, scopes) = (principals(), scopes());
    let mut known: Vec<Known> = Vec::new();
    let pick = |number: u8, of: usize| usize::from(number) % of;
    // A tool named like the operation of another one, and a version more, are other scopes.
    let same = |one: usize, other: usize| one == other;
    for step in steps {
        let now = clock.now().0;
        let live = |known: &Known| !known.is_revoked && known.expires > now;
        match step {
            HandleStep::Create(who, scope, life) => {
                let (who, scope) = (pick(*who, principals.len()), pick(*scope, scopes.len()));
                let (named, tool) = &scopes[scope];
                let payload = vec![who as u8, scope as u8];
                let handles = keeping.handles(&principals[who], tool);
                let lifetime = Duration::from_secs(u64::from(*life));
                let made = handles.create(named, payload, lifetime).await;
                let of_owner = known.iter().filter(|known| live(known) && known.who == who).count();
                let total = known.iter().filter(|known| live(known)).count();
                match made {
                    Ok(text) => {
                        assert!(of_owner < 4 && total < 9, "{step:?} beyond the bound");
                        let expires = now + i64::from(*life) * 1_000_000;
                        known.push(Known { text, who, scope, expires, is_revoked: false });
                    }
                    Err(refusal) => {
                        assert_eq!(refusal.code(), Code::StoreFull, "{step:?}");
                        assert!(of_owner >= 4 || total >= 9, "{step:?} is refused below the bound");
                    }
                }
            }
            HandleStep::Check(handle, who, scope) | HandleStep::Revoke(handle, who, scope) => {
                let (who, scope) = (pick(*who, principals.len()), pick(*scope, scopes.len()));
                // One number more than there are handles stands for a forged one.
                let at = pick(*handle, known.len() + 1);
                let text =
                    known.get(at).map_or("cgh_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", |it| &it.text);
                let is_good =
                    known.get(at).is_some_and(|it| live(it) && it.who == who && same(it.scope, scope));
                let (named, tool) = &scopes[scope];
                let handles = keeping.handles(&principals[who], tool);
                let result = match step {
                    HandleStep::Check(..) => handles.check(text, named).await,
                    _ => handles.revoke(text, named).await.map(|()| vec![who as u8, scope as u8]),
                };
                match result {
                    Ok(payload) => {
                        assert!(is_good, "{step:?} opens what is not good");
                        assert_eq!(payload, [who as u8, scope as u8]);
                    }
                    Err(refusal) => {
                        assert_eq!(refusal.code(), Code::InvalidHandle, "{step:?}");
                        assert_eq!(refusal.public(), "the handle is not valid here");
                        assert!(!is_good, "{step:?} refuses what is good");
                    }
                }
                if let (HandleStep::Revoke(..), true) = (step, is_good) {
                    known[at].is_revoked = true;
                }
            }
            HandleStep::Pass(seconds) => {
                clock.0.fetch_add(i64::from(*seconds) * 1_000_000, Ordering::Relaxed);
            }
        }
    }
}

/// Runs `runs` lists of random steps, each on an empty store that `make` gives.
///
/// # Panics
/// A run failed; the smallest one that fails is shown.
pub fn test_handles(runs: u32, make: impl Fn() -> Stores) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: runs, failure_persistence: None, ..Config::default() });
    runner
        .run(&handle_steps(), |steps| {
            let stores = make();
            runtime.block_on(handles_do_as_the_model(&stores, Timestamp(1_000_000), &steps));
            Ok(())
        })
        .unwrap();
}

/// Of many who use the same thing up at once, one is first.
///
/// # Panics
/// None or several are.
pub async fn one_of_many_is_first(store: Arc<dyn HandleStore>, key: Digest) {
    let bounds = RowBounds { of_owner: 100, total: 100 };
    let row = HandleRow {
        kind: HandleKind::Spent,
        key,
        owner: Digest::of_bytes(b"owner"),
        scope: Digest::of_bytes(b"owner"),
        expires: Timestamp(9_000_000),
        payload: Vec::new(),
    };
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let (store, row) = (Arc::clone(&store), row.clone());
        tasks.spawn(async move { store.put(row, bounds, Timestamp(1)).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    let first = answers.iter().filter(|answer| **answer == Put::Kept).count();
    assert_eq!(first, 1, "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer, Put::Kept | Put::Taken)), "{answers:?}");
    // A handle of the same digest is something else.
    assert_eq!(store.get(HandleKind::Handle, key, Timestamp(1)).await.unwrap(), None);
    assert_eq!(store.get(HandleKind::Spent, key, Timestamp(1)).await.unwrap(), Some(row));
    assert_eq!(store.get(HandleKind::Spent, key, Timestamp(9_000_000)).await.unwrap(), None);
}

/// Of many handles that are made at once, no more are kept than the bounds say.
///
/// # Panics
/// More or fewer are.
pub async fn bounds_hold_under_load(store: Arc<dyn HandleStore>) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40_u8 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let row = HandleRow {
                kind: HandleKind::Handle,
                key: Digest::of_bytes(&[number]),
                owner: Digest::of_bytes(&[number % 2]),
                scope: Digest::of_bytes(b"scope"),
                expires: Timestamp(9_000_000),
                payload: vec![number],
            };
            let put = store.put(row, RowBounds { of_owner: 7, total: 12 }, Timestamp(1)).await.unwrap();
            (number % 2, put == Put::Kept)
        });
    }
    let mut kept: BTreeMap<u8, usize> = BTreeMap::new();
    for (owner, is_kept) in tasks.join_all().await {
        *kept.entry(owner).or_default() += usize::from(is_kept);
    }
    assert!(kept.values().all(|count| *count <= 7), "{kept:?}");
    assert_eq!(kept.values().sum::<usize>(), 12, "{kept:?}");
}

/// What a store of artifacts must do: order of pieces, bounds, expiry, owners, and that nothing can be read
/// before it is finished.
///
/// # Panics
/// It does something else.
pub async fn artifacts_are_kept_as_written(store: Arc<dyn ArtifactStore>) {
    let bounds = ArtifactBounds { of_owner: 2, of_owner_bytes: 100, total_bytes: 150 };
    let (dana, eve) = (Digest::of_bytes(b"dana"), Digest::of_bytes(b"eve"));
    let key = |number: u8| Digest::of_bytes(&[b'k', number]);
    let new = |number: u8, owner: Digest| NewArtifact {
        key: key(number),
        owner,
        name: "Zoë.csv".to_owned(),
        media_type: "text/csv".to_owned(),
        abandoned: Timestamp(1000),
    };
    let at = Timestamp;
    assert_eq!(store.begin(new(1, dana), bounds, at(1)).await.unwrap(), Put::Kept);
    assert_eq!(store.begin(new(1, dana), bounds, at(1)).await.unwrap(), Put::Taken);
    let piece = |byte: u8, length: usize| vec![byte; length];
    assert_eq!(store.append(key(1), (0, 0), piece(0, 40), bounds, at(2)).await.unwrap(), Put::Kept);
    assert_eq!(store.append(key(1), (2, 80), piece(9, 1), bounds, at(2)).await.unwrap(), Put::Taken, "a gap");
    assert_eq!(store.append(key(1), (0, 0), piece(9, 1), bounds, at(2)).await.unwrap(), Put::Taken, "twice");
    assert_eq!(store.append(key(1), (1, 40), piece(255, 40), bounds, at(2)).await.unwrap(), Put::Kept);
    assert_eq!(store.append(key(1), (2, 80), piece(1, 21), bounds, at(2)).await.unwrap(), Put::Full);
    assert_eq!(store.append(key(1), (2, 80), piece(1, 20), bounds, at(2)).await.unwrap(), Put::Kept);
    assert_eq!(store.find(key(1), dana, at(3)).await.unwrap(), None, "it is not finished");
    let digest = Digest::of_bytes(b"contents");
    assert!(store.finish(key(1), digest, at(5000), at(3)).await.unwrap());
    assert!(!store.finish(key(1), digest, at(9000), at(3)).await.unwrap(), "it is finished");
    assert_eq!(store.append(key(1), (3, 100), piece(1, 1), bounds, at(3)).await.unwrap(), Put::Taken);
    let found = store.find(key(1), dana, at(4)).await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.media_type.as_str(), found.bytes), ("Zoë.csv", "text/csv", 100));
    assert_eq!((found.digest, found.expires), (digest, at(5000)));
    assert_eq!(store.find(key(1), eve, at(4)).await.unwrap(), None);
    assert_eq!(store.find(key(2), dana, at(4)).await.unwrap(), None);
    assert_eq!(store.pieces(key(1), 1..9).await.unwrap(), [piece(255, 40), piece(1, 20)]);
    assert_eq!(store.pieces(key(1), 0..1).await.unwrap(), [piece(0, 40)]);
    assert!(store.pieces(key(2), 0..1).await.unwrap().is_empty());

    // The bytes of one owner are used up, those of all are not.
    assert_eq!(store.begin(new(3, dana), bounds, at(5)).await.unwrap(), Put::Full);
    assert_eq!(store.begin(new(4, eve), bounds, at(5)).await.unwrap(), Put::Kept);
    assert_eq!(store.append(key(4), (0, 0), piece(1, 51), bounds, at(5)).await.unwrap(), Put::Full);
    assert_eq!(store.append(key(4), (0, 0), piece(1, 50), bounds, at(5)).await.unwrap(), Put::Kept);
    assert_eq!(store.begin(new(5, eve), bounds, at(5)).await.unwrap(), Put::Full, "all bytes are used up");
    assert_eq!(
        store.begin(new(5, eve), ArtifactBounds { of_owner: 1, ..bounds }, at(999)).await.unwrap(),
        Put::Full
    );
    // What nobody finished goes at its time, and its bytes with it.
    assert!(!store.finish(key(4), digest, at(5000), at(1000)).await.unwrap());
    let later = NewArtifact { abandoned: at(9000), ..new(5, eve) };
    assert_eq!(
        store.begin(later, ArtifactBounds { of_owner: 1, ..bounds }, at(1000)).await.unwrap(),
        Put::Kept
    );
    assert_eq!(store.append(key(5), (0, 0), piece(1, 50), bounds, at(1000)).await.unwrap(), Put::Kept);
    store.discard(key(5)).await.unwrap();
    store.discard(key(5)).await.unwrap();
    assert!(store.pieces(key(5), 0..1).await.unwrap().is_empty());
    // What is finished goes at its time.
    assert!(store.find(key(1), dana, at(4999)).await.unwrap().is_some());
    assert_eq!(store.find(key(1), dana, at(5000)).await.unwrap(), None);
    assert_eq!(
        store.begin(NewArtifact { abandoned: at(9000), ..new(6, dana) }, bounds, at(5000)).await.unwrap(),
        Put::Kept
    );
    store.discard(key(6)).await.unwrap();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgate_core::contract::digest::Digest;
    use callgate_core::keeping::Stores;
    use callgate_core::memory::{MemoryArtifacts, MemoryHandles};

    use super::{artifacts_are_kept_as_written, bounds_hold_under_load, one_of_many_is_first, test_handles};

    #[test]
    fn handles_in_memory_do_as_the_model() {
        test_handles(512, Stores::in_memory);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn in_memory_one_of_many_is_first_and_bounds_hold() {
        one_of_many_is_first(Arc::new(MemoryHandles::new()), Digest::of_bytes(b"key")).await;
        bounds_hold_under_load(Arc::new(MemoryHandles::new())).await;
    }

    #[tokio::test]
    async fn artifacts_in_memory_are_kept_as_written() {
        artifacts_are_kept_as_written(Arc::new(MemoryArtifacts::new())).await;
    }
}
