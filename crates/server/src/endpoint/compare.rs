//! What differs between two snapshots, and for whom.
//!
//! It asks policies, which may take their time, so it must never be called while a lock is held that somebody
//! waits for. The hub calls it when a snapshot is published.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_core::port::VisibleSet;
use callgate_core::principal::Principal;

use super::list::{CacheScope, Entry, ListKind};
use super::published::Published;

/// Whether both snapshots show the same to everybody.
pub(super) fn is_same_for_all(old: &Published, new: &Published) -> bool {
    old.scope() == CacheScope::Public && new.scope() == CacheScope::Public
}

/// Whether a credential or a watched resource could be judged otherwise than before.
pub(super) fn is_judged_anew(old: &Published, new: &Published) -> bool {
    !Arc::ptr_eq(&old.gate.authenticate, &new.gate.authenticate)
        || old.gate.required_scopes != new.gate.required_scopes
        || !Arc::ptr_eq(&old.resources, &new.resources)
        || !has_same_policy(old, new)
}

/// Whether both decide alike. The revision is the digest of the rules and of what they were judged with.
fn has_same_policy(old: &Published, new: &Published) -> bool {
    Arc::ptr_eq(&old.gate.policy, &new.gate.policy) || old.gate.policy_revision == new.gate.policy_revision
}

/// The lists that can differ for somebody.
pub(super) fn changed_lists(old: &Published, new: &Published) -> Vec<ListKind> {
    let same_for_all = is_same_for_all(old, new);
    let same_rules = old.scope() == new.scope() && (same_for_all || has_same_policy(old, new));
    let is_changed = |kind: &ListKind| !same_rules || old.list(*kind).entries() != new.list(*kind).entries();
    ListKind::ALL.into_iter().filter(is_changed).collect()
}

/// What was compared already: a list differs for all who see the same parts of the old and of the new one.
#[derive(Default)]
pub(super) struct Pairs(BTreeMap<(ListKind, Option<VisibleSet>, Option<VisibleSet>), bool>);

impl Pairs {
    /// Whether the list differs for this principal. A change of what it may not see is no change to it.
    pub(super) fn differ(
        &mut self,
        principal: &Principal,
        kind: ListKind,
        old: &Published,
        new: &Published,
    ) -> bool {
        let (before, after) = (old.visible(kind, principal), new.visible(kind, principal));
        let key = (kind, before, after);
        if let Some(known) = self.0.get(&key) {
            return *known;
        }
        let differs = seen(kind, old, key.1.as_ref()).ne(seen(kind, new, key.2.as_ref()));
        self.0.insert(key, differs);
        differs
    }
}

fn seen<'p>(
    kind: ListKind,
    published: &'p Published,
    visible: Option<&'p VisibleSet>,
) -> impl Iterator<Item = &'p Entry> + use<'p> {
    let entries = published.list(kind).entries().iter().enumerate();
    let is_seen = move |at| visible.is_none_or(|set| set.contains(at));
    entries.filter(move |(at, _)| is_seen(*at)).map(|(_, entry)| entry)
}
