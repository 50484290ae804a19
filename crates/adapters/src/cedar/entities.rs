//! What Cedar is told of callers, tools and servers, and what is kept about a caller.
//!
//! What is kept follows from the attributes of a principal alone; a principal that differs in any of
//! them is another one, so nothing outlives a changed group or scope. The number of those kept is
//! bounded. The engine calls it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use callgate_core::offer::{Offer, OfferKind};
use callgate_core::port::VisibleSet;
use callgate_core::principal::Principal;
use cedar_policy::{Entities, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression, Schema};

use super::engine::Verdict;
use super::offers::Family;
use super::tools::KnownTool;

/// The name of something in Cedar. `kind` is one of the types of the schema, which are identifiers.
pub(super) fn uid(kind: &str, id: &str) -> Result<EntityUid, String> {
    let kind = EntityTypeName::from_str(kind).map_err(|error| error.to_string())?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

fn text(value: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(value.to_owned())
}

fn texts<'t>(values: impl IntoIterator<Item = &'t str>) -> RestrictedExpression {
    RestrictedExpression::new_set(values.into_iter().map(text))
}

fn entity<const N: usize>(
    uid: EntityUid,
    attributes: [(&str, Option<RestrictedExpression>); N],
    parents: HashSet<EntityUid>,
) -> Result<Entity, String> {
    let attributes = attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Entity::new(uid, attributes.collect(), parents).map_err(|error| error.to_string())
}

/// The actions, the server, its tools and what it offers besides them.
pub(super) fn of_catalogue<'t>(
    server: &str,
    tools: impl Iterator<Item = &'t KnownTool>,
    offers: impl Iterator<Item = &'t Offer>,
    schema: &Schema,
) -> Result<Entities, String> {
    let server = uid("Server", server)?;
    let mut all = vec![Entity::new_no_attrs(server.clone(), HashSet::new())];
    for tool in tools {
        let attributes = [
            ("name", Some(text(&tool.name))),
            ("server", Some(RestrictedExpression::new_entity_uid(server.clone()))),
            ("effect", Some(RestrictedExpression::new_entity_uid(uid("Effect", tool.effect.as_str())?))),
            ("changes", Some(RestrictedExpression::new_bool(tool.effect.changes_something()))),
            ("labels", Some(texts(tool.labels.iter().map(String::as_str)))),
            ("scopes", Some(texts(tool.scopes.iter().map(String::as_str)))),
        ];
        all.push(entity(uid("Tool", &tool.name)?, attributes, HashSet::from([server.clone()]))?);
    }
    for offer in offers {
        let name = text(offer.name());
        let own = match Family::of(offer.kind()) {
            Family::Resources => {
                let is_template = RestrictedExpression::new_bool(offer.kind() == OfferKind::Template);
                [("uri", Some(name)), ("template", Some(is_template))]
            }
            Family::Prompts => [("name", Some(name)), ("template", None)],
        };
        let [first, second] = own;
        let attributes = [
            first,
            second,
            ("server", Some(RestrictedExpression::new_entity_uid(server.clone()))),
            ("labels", Some(texts(offer.labels().iter().map(String::as_str)))),
            ("scopes", Some(texts(offer.scopes().iter().map(String::as_str)))),
        ];
        let own = uid(Family::of(offer.kind()).entity(), offer.name())?;
        all.push(entity(own, attributes, HashSet::from([server.clone()]))?);
    }
    Entities::from_entities(all, Some(schema)).map_err(|error| error.to_string())
}

/// The caller with its groups and tenant, beside what `known` has.
pub(super) fn with_caller(known: &Entities, principal: &Principal) -> Result<(EntityUid, Entities), String> {
    let own = uid("Principal", &principal.subject)?;
    let tenant = principal.tenant.as_deref().map(|tenant| uid("Tenant", tenant)).transpose()?;
    let mut parents = HashSet::new();
    for group in &principal.groups {
        parents.insert(uid("Group", group)?);
    }
    parents.extend(tenant.clone());
    let mut all: Vec<_> =
        parents.iter().map(|parent| Entity::new_no_attrs(parent.clone(), HashSet::new())).collect();
    let attributes = [
        ("subject", Some(text(&principal.subject))),
        ("tenant", tenant.map(RestrictedExpression::new_entity_uid)),
        ("scopes", Some(texts(principal.scopes.iter().map(|scope| &**scope)))),
        ("client", principal.client.as_deref().map(text)),
    ];
    all.push(entity(own.clone(), attributes, parents)?);
    let entities = known.clone().add_entities(all, None).map_err(|error| error.to_string())?;
    Ok((own, entities))
}

/// The place of a tool in the catalogue, and whether the call is approved, and by a second person.
type CallKey = (usize, (bool, bool));

/// A caller as Cedar knows it, and what was decided about it where that does not change.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) uid: EntityUid,
    pub(super) entities: Entities,
    pub(super) visible: Option<VisibleSet>,
    /// The same of resources, templates and prompts, by kind.
    pub(super) offered: Option<[VisibleSet; 3]>,
    /// What may be seen in one millisecond, where that changes with the time.
    latest: Mutex<Option<(i64, VisibleSet)>>,
    latest_offered: Mutex<Option<(i64, [VisibleSet; 3])>>,
    /// Calls of a tool, approved or not and by a second person or not, that are decided without a look at
    /// arguments or the time.
    calls: Mutex<HashMap<CallKey, Verdict>>,
}

impl Caller {
    pub(super) fn new(uid: EntityUid, entities: Entities) -> Self {
        Self {
            uid,
            entities,
            visible: None,
            offered: None,
            latest: Mutex::default(),
            latest_offered: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// What may be seen in that millisecond, found now if it was not the latest one that was asked for.
    pub(super) fn visible_in(&self, millisecond: i64, find: impl FnOnce() -> VisibleSet) -> VisibleSet {
        found_in(&self.latest, millisecond, find)
    }

    /// The same of resources, templates and prompts.
    pub(super) fn offered_in(
        &self,
        millisecond: i64,
        find: impl FnOnce() -> [VisibleSet; 3],
    ) -> [VisibleSet; 3] {
        found_in(&self.latest_offered, millisecond, find)
    }

    /// What was decided of calls of the tool at a place of the catalogue, decided now if it was not.
    pub(super) fn call(
        &self,
        place: usize,
        approved: (bool, bool),
        decide: impl FnOnce() -> Verdict,
    ) -> Verdict {
        let calls = || self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = calls().get(&(place, approved)) {
            return known.clone();
        }
        // Decided without the lock: two calls may decide the same.
        let verdict = decide();
        calls().insert((place, approved), verdict.clone());
        verdict
    }
}

/// What holds for one millisecond, found now if it was not the latest one that was asked for.
fn found_in<T: Clone>(kept: &Mutex<Option<(i64, T)>>, millisecond: i64, find: impl FnOnce() -> T) -> T {
    let latest = || kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, found)) = &*latest()
        && *known == millisecond
    {
        return found.clone();
    }
    // Found without the lock: two may find the same.
    let found = find();
    *latest() = Some((millisecond, found.clone()));
    found
}

/// Callers that were seen lately: two generations, of which the older one is dropped when the younger is
/// full.
pub(super) struct Callers {
    hasher: RandomState,
    max: usize,
    kept: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<u64, Kept>,
    old: HashMap<u64, Kept>,
}

type Kept = (Principal, Arc<Caller>);

impl Callers {
    /// Keeps at most `max` callers.
    pub(super) fn new(max: usize) -> Self {
        Self { hasher: RandomState::new(), max: max.div_ceil(2), kept: Mutex::default() }
    }

    /// The caller, made if it is not kept.
    pub(super) fn of<E>(
        &self,
        principal: &Principal,
        make: impl FnOnce() -> Result<Caller, E>,
    ) -> Result<Arc<Caller>, E> {
        let key = self.hasher.hash_one(Attributes(principal));
        if let Some(caller) = self.kept(key, principal) {
            return Ok(caller);
        }
        // Made without the lock: two requests may make the same caller, and either one serves.
        let caller = Arc::new(make()?);
        self.keep(key, (principal.clone(), Arc::clone(&caller)));
        Ok(caller)
    }

    fn kept(&self, key: u64, principal: &Principal) -> Option<Arc<Caller>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Equal keys prove nothing; the principal itself is compared.
        if let Some((known, caller)) = kept.young.get(&key) {
            return (Attributes(known) == Attributes(principal)).then(|| Arc::clone(caller));
        }
        let found = kept.old.remove(&key).filter(|(known, _)| Attributes(known) == Attributes(principal))?;
        let caller = Arc::clone(&found.1);
        drop(kept);
        self.keep(key, found);
        Some(caller)
    }

    fn keep(&self, key: u64, caller: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.young.len() >= self.max {
            kept.old = std::mem::take(&mut kept.young);
        }
        kept.young.insert(key, caller);
    }

    /// How many are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.young.len() + kept.old.len()
    }
}

/// Everything of a principal that a policy can tell apart. When its credential ends is no part of it, so that
/// all tokens of one person share what is kept.
struct Attributes<'p>(&'p Principal);

impl<'p> Attributes<'p> {
    fn all(&self) -> impl Hash + PartialEq + use<'p> {
        let Principal { subject, tenant, groups, scopes, purpose, client, .. } = self.0;
        (subject, tenant, groups, scopes, purpose, client)
    }
}

impl Hash for Attributes<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.all().hash(state);
    }
}

impl PartialEq for Attributes<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}
