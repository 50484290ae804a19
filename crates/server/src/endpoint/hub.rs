//! Who listens for changes, and what each has not been told yet.
//!
//! A listener costs a constant amount of memory however slow it is: a change of a list is a flag that
//! stays set until it is sent, a change of a resource is a bit of a set, so nothing is queued and the
//! last change is never lost. Publishing a snapshot and the handle set flags; transports poll. No policy is
//! asked while the registry is locked, so nobody who begins to listen waits for one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use callgate_core::principal::Principal;
use futures_util::task::AtomicWaker;

use super::compare::{Pairs, changed_lists, is_judged_anew, is_same_for_all};
use super::list::ListKind;
use super::published::Published;

/// Which changes a listener wants to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Wants {
    fn contains(self, list: ListKind) -> bool {
        match list {
            ListKind::Tools => self.tools,
            ListKind::Prompts => self.prompts,
            ListKind::Resources | ListKind::Templates => self.resources,
        }
    }
}

/// One thing to tell a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A list has changed: tools, prompts, or resources and their templates.
    List(ListKind),
    /// A resource has changed.
    Resource(String),
    /// What is in force has changed: before anything more is told, it is asked whether the listener may hear it.
    Judge,
    /// The server ends; nothing follows.
    Closing,
}

/// Why there is no room for a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HubFull {
    /// The server holds as many as it may, or it is closing.
    Process,
    /// The principal has as many as it may.
    Principal,
}

/// Whether a listener is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// It counts like any request of its principal.
    First,
    /// It takes the place of another one of the same client, which is given up for it.
    Again,
}

/// All listeners of one server.
pub(crate) struct Hub {
    registry: Mutex<Registry>,
    max: usize,
}

#[derive(Default)]
struct Registry {
    listeners: Vec<Option<Arc<Listener>>>,
    free: Vec<usize>,
    /// How many listeners a principal of a tenant has.
    of_principals: BTreeMap<(Box<str>, Option<Box<str>>), usize>,
    closing: bool,
}

struct Listener {
    principal: Arc<Principal>,
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    wants: Wants,
    changed: Wants,
    /// URIs that are watched.
    watched: Vec<Box<str>>,
    /// One bit for each place in `watched`.
    updated: u128,
    judge: bool,
    closing: bool,
}

/// Resources that one listener can watch: the bits of a set.
const WATCHED_MAX: usize = 128;

impl Hub {
    pub(crate) fn new(max: usize) -> Self {
        Self { registry: Mutex::default(), max }
    }

    /// A new listener, of whose principal there may be so many.
    ///
    /// # Errors
    /// When there are as many as a limit allows, or the server is closing.
    pub(crate) fn listen(
        self: &Arc<Self>,
        principal: Arc<Principal>,
        wants: Wants,
        opening: Opening,
        max_of_principal: usize,
    ) -> Result<Changes, HubFull> {
        let key = key(&principal);
        let state = Mutex::new(State { wants, ..State::default() });
        let listener = Arc::new(Listener { principal, state, waker: AtomicWaker::new() });
        let mut registry = lock(&self.registry);
        if registry.closing || registry.listeners.len() - registry.free.len() >= self.max {
            return Err(HubFull::Process);
        }
        // The one whose place is taken still counts.
        let max_of_principal = max_of_principal.saturating_add(usize::from(opening == Opening::Again));
        let own = registry.of_principals.get(&key).copied().unwrap_or_default();
        if own >= max_of_principal {
            return Err(HubFull::Principal);
        }
        registry.of_principals.insert(key, own + 1);
        let place = Some(Arc::clone(&listener));
        let slot = match registry.free.pop() {
            Some(slot) => {
                if let Some(free) = registry.listeners.get_mut(slot) {
                    *free = place;
                }
                slot
            }
            None => {
                registry.listeners.push(place);
                registry.listeners.len() - 1
            }
        };
        Ok(Changes { hub: Arc::clone(self), slot, listener })
    }

    /// Tells each listener which of its lists have changed between two snapshots, and has those judged anew whose
    /// credential or whose resources could be judged otherwise now.
    pub(super) fn changed(&self, old: &Published, new: &Published) {
        if is_judged_anew(old, new) {
            // First, so that nothing is told meanwhile that may not be told any more.
            self.each(|listener| {
                listener.mark(|state| {
                    state.judge = true;
                    true
                });
            });
        }
        let lists = changed_lists(old, new);
        if lists.is_empty() {
            return;
        }
        let same_for_all = is_same_for_all(old, new);
        let mut pairs = Pairs::default();
        for listener in self.listeners() {
            let is_told =
                |kind: &ListKind| same_for_all || pairs.differ(&listener.principal, *kind, old, new);
            let told: Vec<_> = lists.iter().copied().filter(is_told).collect();
            listener.mark(|state| {
                let mut is_new = false;
                for kind in told {
                    is_new |= state.tell(kind);
                }
                is_new
            });
        }
    }

    /// Tells those who watch a resource that it has changed.
    pub(crate) fn resource_updated(&self, uri: &str) {
        self.each(|listener| {
            listener.mark(|state| {
                let place = state.watched.iter().position(|watched| &**watched == uri);
                state.updated |= place.map_or(0, |place| 1 << place);
                place.is_some()
            });
        });
    }

    /// Ends all listeners and takes no new ones.
    pub(crate) fn close(&self) {
        lock(&self.registry).closing = true;
        self.each(|listener| {
            listener.mark(|state| {
                state.closing = true;
                true
            });
        });
    }

    /// How many listen.
    pub(crate) fn len(&self) -> usize {
        let registry = lock(&self.registry);
        registry.listeners.len() - registry.free.len()
    }

    /// Those who listen now.
    fn listeners(&self) -> Vec<Arc<Listener>> {
        lock(&self.registry).listeners.iter().flatten().cloned().collect()
    }

    fn each(&self, tell: impl Fn(&Listener)) {
        // The lock is held while flags are set: nothing in `tell` waits or takes another listener's lock.
        for listener in lock(&self.registry).listeners.iter().flatten() {
            tell(listener);
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hub({} listeners)", self.len())
    }
}

/// Whose listeners are counted together.
fn key(principal: &Principal) -> (Box<str>, Option<Box<str>>) {
    (principal.subject.clone(), principal.tenant.clone())
}

impl State {
    /// Notes that a list has changed; false where nobody wants to hear of it.
    fn tell(&mut self, kind: ListKind) -> bool {
        let is_wanted = self.wants.contains(kind);
        match kind {
            ListKind::Tools => self.changed.tools |= is_wanted,
            ListKind::Prompts => self.changed.prompts |= is_wanted,
            ListKind::Resources | ListKind::Templates => self.changed.resources |= is_wanted,
        }
        is_wanted
    }
}

impl Listener {
    fn mark(&self, set: impl FnOnce(&mut State) -> bool) {
        if set(&mut lock(&self.state)) {
            self.waker.wake();
        }
    }
}

/// The changes that one listener hears of. Dropping it ends the listener.
pub(crate) struct Changes {
    hub: Arc<Hub>,
    slot: usize,
    listener: Arc<Listener>,
}

impl Changes {
    /// The next change: whether anything may be told comes first, then lists, then resources, then the end.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Change> {
        // Registered before looking, so that a change between the two wakes us.
        self.listener.waker.register(context.waker());
        let mut state = lock(&self.listener.state);
        if std::mem::take(&mut state.judge) && !state.closing {
            return Poll::Ready(Change::Judge);
        }
        if std::mem::take(&mut state.changed.tools) {
            return Poll::Ready(Change::List(ListKind::Tools));
        }
        if std::mem::take(&mut state.changed.prompts) {
            return Poll::Ready(Change::List(ListKind::Prompts));
        }
        if std::mem::take(&mut state.changed.resources) {
            return Poll::Ready(Change::List(ListKind::Resources));
        }
        while state.updated != 0 {
            let place = state.updated.trailing_zeros() as usize;
            state.updated &= state.updated - 1;
            if let Some(uri) = state.watched.get(place) {
                return Poll::Ready(Change::Resource(uri.clone().into()));
            }
        }
        if state.closing { Poll::Ready(Change::Closing) } else { Poll::Pending }
    }

    /// Whether the server ends, for who waits for something else.
    pub(crate) fn is_closing(&self, context: &Context<'_>) -> bool {
        self.listener.waker.register(context.waker());
        lock(&self.listener.state).closing
    }

    /// The resources that are watched.
    pub(crate) fn watched(&self) -> Vec<String> {
        let state = lock(&self.listener.state);
        state.watched.iter().filter(|uri| !uri.is_empty()).map(ToString::to_string).collect()
    }

    /// Watches no other resources than these any more.
    pub(crate) fn keep(&self, uris: &[String]) {
        let mut state = lock(&self.listener.state);
        let State { watched, updated, .. } = &mut *state;
        for (place, uri) in watched.iter_mut().enumerate() {
            if !uris.iter().any(|kept| **kept == **uri) {
                // The place stays, because the bits of the others count from it. No resource has this URI.
                *uri = Box::default();
                *updated &= !(1 << place);
            }
        }
    }

    /// Has the listener judged, and told of every list that it wants to hear of: something changed while it was
    /// opened, and nobody knows whether it was told.
    pub(crate) fn assume_changed(&self) {
        let mut state = lock(&self.listener.state);
        state.judge = true;
        state.changed = state.wants;
    }

    /// Watches one more resource; false when as many are watched as one listener may.
    pub(crate) fn watch(&self, uri: &str, max: usize) -> bool {
        let mut state = lock(&self.listener.state);
        if state.watched.iter().any(|watched| &**watched == uri) {
            return true;
        }
        if state.watched.len() >= max.min(WATCHED_MAX) {
            return false;
        }
        state.watched.push(uri.into());
        true
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut registry = lock(&self.hub.registry);
        if let Some(place) = registry.listeners.get_mut(self.slot) {
            *place = None;
            registry.free.push(self.slot);
        }
        let key = key(&self.listener.principal);
        if let Some(own) = registry.of_principals.get_mut(&key) {
            *own -= 1;
            if *own == 0 {
                registry.of_principals.remove(&key);
            }
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Changes({})", self.slot)
    }
}

/// A lock whose holder never leaves it half changed, so that poison means nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
