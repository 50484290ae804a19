//! Who listens for changes, and what each has not been told yet.
//!
//! A listener costs a constant amount of memory however slow it is: a change of a list is a flag that
//! stays set until it is sent, a change of a resource is a bit of a set, so nothing is queued and the
//! last change is never lost. Publishing a snapshot and the handle set flags; transports poll.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use callgate_core::principal::Principal;
use futures_util::task::AtomicWaker;

use super::list::{CacheScope, Entry, ListKind};
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
    /// The server ends; nothing follows.
    Closing,
}

/// The server holds as many listeners as it may, or it is closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HubFull;

/// All listeners of one server.
pub(crate) struct Hub {
    registry: Mutex<Registry>,
    max: usize,
}

#[derive(Default)]
struct Registry {
    listeners: Vec<Option<Arc<Listener>>>,
    free: Vec<usize>,
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
    closing: bool,
}

/// Resources that one listener can watch: the bits of a set.
const WATCHED_MAX: usize = 128;

impl Hub {
    pub(crate) fn new(max: usize) -> Self {
        Self { registry: Mutex::default(), max }
    }

    /// A new listener.
    ///
    /// # Errors
    /// When there are as many as the limit allows, or the server is closing.
    pub(crate) fn listen(
        self: &Arc<Self>,
        principal: Arc<Principal>,
        wants: Wants,
    ) -> Result<Changes, HubFull> {
        let state = Mutex::new(State { wants, ..State::default() });
        let listener = Arc::new(Listener { principal, state, waker: AtomicWaker::new() });
        let mut registry = lock(&self.registry);
        if registry.closing || registry.listeners.len() - registry.free.len() >= self.max {
            return Err(HubFull);
        }
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

    /// Tells each listener which of its lists have changed between two snapshots.
    pub(super) fn lists_changed(&self, old: &Published, new: &Published) {
        let lists = [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates];
        let same_for_all = old.scope() == CacheScope::Public && new.scope() == CacheScope::Public;
        // A list is compared once where all see the same, else once for each listener.
        let changed: Vec<_> = lists
            .into_iter()
            .filter(|kind| {
                let is_equal = old.list(*kind).entries() == new.list(*kind).entries();
                !is_equal || (*kind == ListKind::Tools && !same_for_all)
            })
            .collect();
        if changed.is_empty() {
            return;
        }
        self.each(|listener| {
            for kind in &changed {
                if same_for_all || sees_change(&listener.principal, *kind, old, new) {
                    listener.mark(|state| {
                        let wanted = state.wants.contains(*kind);
                        match kind {
                            ListKind::Tools => state.changed.tools |= wanted,
                            ListKind::Prompts => state.changed.prompts |= wanted,
                            ListKind::Resources | ListKind::Templates => state.changed.resources |= wanted,
                        }
                        wanted
                    });
                }
            }
        });
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

/// Whether the list differs for this principal. A change of what it may not see is no change to it.
fn sees_change(principal: &Principal, kind: ListKind, old: &Published, new: &Published) -> bool {
    seen(principal, kind, old).ne(seen(principal, kind, new))
}

fn seen<'p>(
    principal: &'p Principal,
    kind: ListKind,
    published: &'p Published,
) -> impl Iterator<Item = &'p Entry> + use<'p> {
    let visible = published.visible(kind, principal);
    let entries = published.list(kind).entries().iter().enumerate();
    let is_seen = move |at| visible.as_ref().is_none_or(|set| set.contains(at));
    entries.filter(move |(at, _)| is_seen(*at)).map(|(_, entry)| entry)
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
    /// The next change: lists first, then resources, then the end.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Change> {
        // Registered before looking, so that a change between the two wakes us.
        self.listener.waker.register(context.waker());
        let mut state = lock(&self.listener.state);
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
