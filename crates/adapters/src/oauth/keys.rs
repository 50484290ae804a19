//! The keys of an issuer: fetched once for all who ask, kept for a while, and fetched anew when they are old
//! or lack one that a token names.
//!
//! It must never ask more often than its bounds allow, whatever tokens name; never wait longer than the
//! bound; never give up keys that worked because the issuer does not answer, until they are too old; and
//! never take keys for good that nobody has looked at for a while, as long as the issuer can be asked. A
//! fetch runs in a task of its own, so that a caller who leaves does not take the keys of the others along.
//! The verifier calls it.

mod set;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::fetch::{Fetch, FetchError};
use super::options::{Algorithm, KeySource, Options};
use super::{Limits, discovery};
pub(super) use set::Key;
use set::KeySet;

/// How old the contents of a file may be, and how long no other look follows one.
const FILE_FRESH: Duration = Duration::from_secs(2);

/// The keys of one issuer.
pub(super) struct KeyStore {
    issuer: String,
    source: KeySource,
    fetch: Fetch,
    limits: Limits,
    state: Mutex<State>,
    revision: AtomicU64,
}

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    /// Ends when the fetch does that is on its way.
    flight: Option<watch::Receiver<()>>,
    /// No fetch begins before.
    not_before: Option<Instant>,
    /// Fetches that failed since one worked.
    failures: u32,
    error: Option<FetchError>,
}

impl State {
    /// Whether the issuer did not answer a short time ago.
    fn is_down(&self, now: Instant, grace: Duration) -> bool {
        self.failures > 0 && self.not_before.is_some_and(|not_before| now < not_before + grace)
    }
}

struct Kept {
    set: Arc<KeySet>,
    fetched: Instant,
}

/// Keys that fit a token.
pub(super) struct Found {
    pub(super) keys: Vec<Arc<Key>>,
    pub(super) revision: u64,
}

/// Why there is no key.
pub(super) enum KeyError {
    /// The issuer has none that fits.
    Unknown,
    /// The issuer does not say.
    Unavailable(String),
}

/// What to do about a question.
enum Step {
    Answer(Result<Found, KeyError>),
    Wait(watch::Receiver<()>),
}

impl KeyStore {
    pub(super) fn new(options: &Options, fetch: Fetch) -> Self {
        let mut limits = options.limits.clone();
        if matches!(options.keys, KeySource::File(_)) {
            limits.keys_fresh = FILE_FRESH;
            limits.keys_pause = FILE_FRESH;
            limits.keys_grace = Duration::ZERO;
        }
        Self {
            issuer: options.issuer.clone(),
            source: options.keys.clone(),
            fetch,
            limits,
            state: Mutex::default(),
            revision: AtomicU64::new(1),
        }
    }

    /// A number that changes when other keys come into force.
    pub(super) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// The keys that a token with this key name and algorithm may be signed with.
    pub(super) async fn find(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Found, KeyError> {
        match self.step(kid, algorithm, Attempt::First) {
            Step::Answer(answer) => return answer,
            Step::Wait(mut flight) => {
                // The fetch is bounded in time itself; this bound is for one that lost its task.
                let _ended = timeout(2 * self.limits.fetch_timeout, flight.changed()).await;
            }
        }
        match self.step(kid, algorithm, Attempt::Last) {
            Step::Answer(answer) => answer,
            // The last attempt waits for nobody.
            Step::Wait(_) => Err(KeyError::Unavailable("the keys are still on their way".to_owned())),
        }
    }

    fn step(self: &Arc<Self>, kid: Option<&str>, algorithm: Algorithm, attempt: Attempt) -> Step {
        let mut state = self.state();
        let now = Instant::now();
        let kept = state.kept.as_ref().filter(|kept| now < kept.fetched + self.limits.keys_kept);
        let keys = kept.map(|kept| kept.set.fitting(kid, algorithm, self.limits.keys_tried));
        let age = kept.map(|kept| now.saturating_duration_since(kept.fetched));
        let is_old = age.is_none_or(|age| age >= self.limits.keys_fresh);
        let is_stale = age.is_none_or(|age| age >= self.limits.keys_fresh + self.limits.keys_grace);
        let has_keys = keys.is_some();
        if let Some(keys) = keys.filter(|keys| !keys.is_empty()) {
            if is_old && attempt == Attempt::First {
                let is_down = state.is_down(now, self.limits.keys_grace);
                let flight = self.fly(&mut state, now);
                // After a silence nobody knows what was withdrawn meanwhile, so whoever comes first waits.
                // In use, keys are fetched anew beside those who ask; an issuer that is down holds up nobody.
                if let Some(flight) = flight.filter(|_| is_stale && !is_down) {
                    return Step::Wait(flight);
                }
            }
            return Step::Answer(Ok(Found { keys, revision: self.revision() }));
        }
        if attempt == Attempt::First
            && let Some(flight) = self.fly(&mut state, now)
        {
            return Step::Wait(flight);
        }
        // With a failed fetch behind it, nobody can say that the key does not exist.
        Step::Answer(Err(match &state.error {
            None if has_keys => KeyError::Unknown,
            None => KeyError::Unavailable("the keys are not there yet".to_owned()),
            Some(error) => KeyError::Unavailable(format!("keys of {}: {error}", self.issuer)),
        }))
    }

    /// The fetch that is on its way, or a new one if one may begin.
    fn fly(self: &Arc<Self>, state: &mut State, now: Instant) -> Option<watch::Receiver<()>> {
        if let Some(flight) = state.flight.as_ref().filter(|flight| flight.has_changed().is_ok()) {
            return Some(flight.clone());
        }
        if state.not_before.is_some_and(|not_before| now < not_before) {
            return None;
        }
        let (landed, flight) = watch::channel(());
        state.flight = Some(flight.clone());
        let store = Arc::clone(self);
        tokio::spawn(async move {
            let fetched = timeout(store.limits.fetch_timeout, store.fetch()).await;
            store.land(fetched.unwrap_or(Err(FetchError::Timeout)));
            // Whoever waits goes on when this is gone, also after a panic.
            drop(landed);
        });
        Some(flight)
    }

    async fn fetch(&self) -> Result<KeySet, FetchError> {
        let body = match &self.source {
            KeySource::Url(url) => self.fetch.get(url).await?,
            KeySource::Discovery => {
                let url = discovery::jwks_uri(&self.fetch, &self.issuer).await?;
                self.fetch.get(&url).await?
            }
            KeySource::File(path) => {
                let (path, bytes) = (path.clone(), self.limits.response_bytes);
                tokio::task::spawn_blocking(move || read_file(&path, bytes))
                    .await
                    .unwrap_or(Err(FetchError::File))?
            }
        };
        KeySet::read(body, self.limits.keys)
    }

    /// Takes in what a fetch brought. What failed changes nothing but the time of the next.
    fn land(&self, fetched: Result<KeySet, FetchError>) {
        let now = Instant::now();
        let mut state = self.state();
        match fetched {
            Ok(set) => {
                let is_same = state.kept.as_ref().is_some_and(|kept| *kept.set == set);
                if !is_same {
                    self.revision.fetch_add(1, Ordering::AcqRel);
                    tracing::info!(issuer = self.issuer, keys = set.len(), "other keys are in force");
                }
                state.kept = Some(Kept { set: Arc::new(set), fetched: now });
                state.failures = 0;
                state.error = None;
                state.not_before = Some(now + self.limits.keys_pause);
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer, %error, "the keys of the issuer could not be fetched");
                let wait = Duration::from_secs(1) * 2_u32.saturating_pow(state.failures.min(16));
                state.failures = state.failures.saturating_add(1);
                state.error = Some(error);
                state.not_before = Some(now + wait.min(self.limits.backoff_max));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a question may still wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Last,
}

/// A set of keys of arbitrary text, for the fuzz target.
pub(super) fn read_set(body: Vec<u8>, most: usize) -> Result<KeySet, FetchError> {
    KeySet::read(body, most)
}

fn read_file(path: &Path, bytes: usize) -> Result<Vec<u8>, FetchError> {
    use std::io::Read as _;
    let file = std::fs::File::open(path).map_err(|_| FetchError::File)?;
    let mut body = Vec::new();
    let bound = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(1);
    file.take(bound).read_to_end(&mut body).map_err(|_| FetchError::File)?;
    if body.len() > bytes { Err(FetchError::TooLong) } else { Ok(body) }
}
