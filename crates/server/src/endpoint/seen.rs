//! A list as one set of callers sees it: rendered once for all whose sets are equal.
//!
//! What is kept belongs to one snapshot and is bounded in bytes. A list never holds an entry outside of its
//! set, and its cursors are good for that set alone. The lists call it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use callgate_core::contract::digest::DigestBuilder;
use callgate_core::port::VisibleSet;
use callgate_core::principal::Principal;
use callgate_core::snapshot::Snapshot;

use super::list::{Frame, List, ListKind, Rendered};
use super::published::Published;

/// The list of one set of entries.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) set: VisibleSet,
    /// What the cursors of this list are bound to: the names in it.
    pub(super) tag: Box<str>,
    /// All pages, unless they are too large to be kept.
    pub(super) pages: Vec<Rendered>,
}

/// The lists that were rendered lately.
#[derive(Debug, Default)]
pub(super) struct SeenLists {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lists: HashMap<(ListKind, VisibleSet), Arc<Seen>>,
    bytes: usize,
}

impl Seen {
    fn new(set: VisibleSet, list: &List, frame: Frame<'_>, bytes_max: usize) -> Self {
        let is_seen = |at: usize| set.contains(at);
        let mut tag = DigestBuilder::new("callgate/list-tag/1");
        let mut bytes = 0;
        for (_, entry) in list.entries().iter().enumerate().filter(|(at, _)| is_seen(*at)) {
            tag.field(list.kind().member(), &entry.key);
            bytes += entry.json.len();
        }
        let tag = tag.finish().to_string().into_boxed_str();
        let pages = if bytes > bytes_max { Vec::new() } else { list.pages(frame, &tag, is_seen) };
        Self { set, tag, pages }
    }

    /// Bytes that it takes to keep it.
    fn bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(|page| page.body.len()).sum();
        pages + self.set.catalogue_len() / 8 + 256
    }
}

impl SeenLists {
    fn of(
        &self,
        key: (ListKind, VisibleSet),
        bytes_max: usize,
        make: impl FnOnce(VisibleSet) -> Seen,
    ) -> Arc<Seen> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = lock().lists.get(&key) {
            return Arc::clone(seen);
        }
        // Made without the lock: two requests may make the same list, and either one serves.
        let seen = Arc::new(make(key.1.clone()));
        let mut kept = lock();
        if kept.bytes + seen.bytes() > bytes_max {
            // Rare, because few sets of callers differ; starting over is simpler than choosing.
            *kept = Kept::default();
        }
        if seen.bytes() <= bytes_max {
            kept.bytes += seen.bytes();
            kept.lists.insert(key, Arc::clone(&seen));
        }
        seen
    }
}

impl Published {
    /// Which entries of a list the principal sees; nothing where all see the same.
    pub(super) fn visible(&self, kind: ListKind, principal: &Principal) -> Option<VisibleSet> {
        (!self.gate.policy.is_same_for_all()).then(|| visible(&self.gate, kind, principal))
    }

    /// The list for those who see this set.
    pub(super) fn seen(&self, kind: ListKind, set: VisibleSet) -> Arc<Seen> {
        let bytes_max = self.limits.shared_list_bytes;
        let make = |set| Seen::new(set, self.list(kind), self.frame(), bytes_max);
        self.seen_lists.of((kind, set), bytes_max, make)
    }
}

/// What a principal may know of all that a list could hold. The catalogue has the order of the list.
pub(super) fn visible(gate: &Snapshot, kind: ListKind, principal: &Principal) -> VisibleSet {
    match kind.offer() {
        None => gate.policy.visible(principal, &gate.catalogue),
        Some(kind) => gate.policy.offered(principal, gate.catalogue.offers(kind)),
    }
}

#[cfg(test)]
mod tests {
    use callgate_core::port::VisibleSet;

    use super::super::list::{CacheScope, Entry, Frame, List, ListKind};
    use super::{Seen, SeenLists};

    fn list() -> List {
        let entry = |at: u32| Entry { key: format!("tool-{at}"), json: "x".repeat(100) };
        List::new(ListKind::Tools, (0..8).map(entry).collect(), 3)
    }

    fn seen(lists: &SeenLists, bits: usize, bytes_max: usize) -> std::sync::Arc<Seen> {
        let set = VisibleSet::of((0..8).map(|at| bits >> at & 1 == 1));
        let frame = Frame { ttl_ms: 0, scope: CacheScope::Private, meta: "{}" };
        lists.of((ListKind::Tools, set), bytes_max, |set| Seen::new(set, &list(), frame, bytes_max))
    }

    #[test]
    fn equal_sets_share_their_list_and_others_do_not() {
        let lists = SeenLists::default();
        let one = seen(&lists, 0b1011, 1 << 20);
        assert!(std::sync::Arc::ptr_eq(&one, &seen(&lists, 0b1011, 1 << 20)));
        let other = seen(&lists, 0b1010, 1 << 20);
        assert_ne!(one.tag, other.tag);
        assert_eq!((one.pages.len(), other.pages.len()), (1, 1));
        assert_eq!(seen(&lists, 0b1111, 1 << 20).pages.len(), 2);
    }

    #[test]
    fn what_is_kept_of_lists_is_bounded_in_bytes() {
        let lists = SeenLists::default();
        for bits in 0..256 {
            seen(&lists, bits, 4000);
            assert!(lists.kept.lock().unwrap().bytes <= 4000);
        }
        // One that is too large by itself is neither rendered nor kept.
        let large = seen(&SeenLists::default(), 0xff, 700);
        assert!(large.pages.is_empty() && !large.tag.is_empty());
    }
}
