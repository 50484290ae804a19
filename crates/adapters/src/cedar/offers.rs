//! Resources and prompts as policies know them, and what is decided of them.
//!
//! It follows the rules for tools: what may not be listed may not be used, an error denies, and a name that
//! nothing has is looked for like one that is hidden. Where a catalogue has no resources or no prompts, the
//! schema does not have them either, so policies about tools alone need not say so. The port calls it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgate_core::offer::{Offer, OfferKind};
use callgate_core::port::{Decision, Timestamp, UseQuestion, VisibleSet};
use callgate_core::principal::Principal;
use callgate_core::snapshot::Catalogue;
use cedar_policy::{EntityUid, RestrictedExpression};

use super::engine::{CedarPolicy, Concerned, Sorting, Verdict};
use super::entities::{Caller, uid};
use super::schema::{GET, READ};
use super::texts::Rule;

/// What a type of Cedar stands for: resources with their templates, or prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Resources,
    Prompts,
}

impl Family {
    pub(super) const ALL: [Self; 2] = [Self::Resources, Self::Prompts];

    pub(super) const fn of(kind: OfferKind) -> Self {
        match kind {
            OfferKind::Resource | OfferKind::Template => Self::Resources,
            OfferKind::Prompt => Self::Prompts,
        }
    }

    /// The name of the type.
    pub(super) const fn entity(self) -> &'static str {
        match self {
            Self::Resources => "Resource",
            Self::Prompts => "Prompt",
        }
    }

    /// The action of using one.
    pub(super) const fn action(self) -> &'static str {
        match self {
            Self::Resources => READ,
            Self::Prompts => GET,
        }
    }

    /// The member of the context that holds what the user chooses.
    pub(super) const fn inputs(self) -> &'static str {
        match self {
            Self::Resources => "variables",
            Self::Prompts => "arguments",
        }
    }
}

/// All of a catalogue, in its order.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownOffers(Vec<Arc<Offer>>);

impl KnownOffers {
    pub(super) fn of(catalogue: &Catalogue) -> Self {
        Self(OfferKind::ALL.into_iter().flat_map(|kind| catalogue.offers(kind)).cloned().collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Offer> {
        self.0.iter().map(|offer| &**offer)
    }

    pub(super) fn family(&self, family: Family) -> impl Iterator<Item = &Offer> {
        self.iter().filter(move |offer| Family::of(offer.kind()) == family)
    }

    pub(super) fn has(&self, family: Family) -> bool {
        self.family(family).next().is_some()
    }

    /// What users choose, of all of a family.
    pub(super) fn inputs(&self, family: Family) -> BTreeSet<&str> {
        self.family(family).flat_map(Offer::inputs).map(String::as_str).collect()
    }
}

/// A resource, a template or a prompt with the policies that may concern it.
#[derive(Debug)]
pub(super) struct JudgedOffer {
    offer: Arc<Offer>,
    uid: EntityUid,
    pub(super) list: Arc<Concerned>,
    act: Arc<Concerned>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct JudgedOffers {
    /// By kind and name.
    all: [Vec<JudgedOffer>; OfferKind::ALL.len()],
    actions: [EntityUid; 2],
    /// What policies may ask of the inputs, by family.
    inputs: [BTreeSet<String>; 2],
}

impl JudgedOffers {
    pub(super) fn new(
        offers: &KnownOffers,
        rules: &[Rule],
        sorting: &mut Sorting,
        (list_action, server): (&EntityUid, &EntityUid),
    ) -> Result<Self, String> {
        let actions = [uid("Action", READ)?, uid("Action", GET)?];
        let mut judged = |offer: Arc<Offer>| -> Result<JudgedOffer, String> {
            let family = Family::of(offer.kind());
            let own = uid(family.entity(), offer.name())?;
            let act = std::slice::from_ref(&actions[family as usize]);
            Ok(JudgedOffer {
                list: sorting.concerned(rules, std::slice::from_ref(list_action), &own, server)?,
                act: sorting.concerned(rules, act, &own, server)?,
                uid: own,
                offer,
            })
        };
        let mut all: [Vec<JudgedOffer>; OfferKind::ALL.len()] = Default::default();
        for offer in &offers.0 {
            // Every kind has its place, by the type of the array.
            if let Some(of_kind) = all.get_mut(offer.kind() as usize) {
                of_kind.push(judged(Arc::clone(offer))?);
            }
        }
        let inputs = Family::ALL
            .map(|family| offers.inputs(family).into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
        Ok(Self { all, actions, inputs })
    }

    /// All that is asked about.
    pub(super) fn each(&self) -> impl Iterator<Item = &JudgedOffer> {
        self.all.iter().flatten()
    }

    fn of_kind(&self, kind: OfferKind) -> &[JudgedOffer] {
        self.all.get(kind as usize).map_or(&[], Vec::as_slice)
    }
}

impl CedarPolicy {
    /// What the policies were judged with, and its place among its kind.
    fn find_offer(&self, offer: &Offer) -> Option<(usize, &JudgedOffer)> {
        let of_kind = self.offers.of_kind(offer.kind());
        let at = of_kind.binary_search_by(|judged| judged.offer.name().cmp(offer.name())).ok()?;
        let judged = of_kind.get(at)?;
        (*judged.offer == *offer).then_some((at, judged))
    }

    fn lists_offer(
        &self,
        judged: &JudgedOffer,
        principal: &Principal,
        caller: &Caller,
        at: Option<Timestamp>,
    ) -> bool {
        match self.common(&judged.list.mentions, principal, at) {
            Ok(context) => self.ask(&judged.list, caller, &self.list_action, &judged.uid, context).permitted,
            Err(_) => false,
        }
    }

    /// Everything besides tools that the caller may know at a time, by kind.
    pub(super) fn seen_offers(
        &self,
        principal: &Principal,
        caller: &Caller,
        at: Option<Timestamp>,
    ) -> [VisibleSet; 3] {
        OfferKind::ALL.map(|kind| {
            let sees = |judged: &JudgedOffer| self.lists_offer(judged, principal, caller, at);
            VisibleSet::of(self.offers.of_kind(kind).iter().map(sees))
        })
    }

    /// What of a kind the caller may know now. As with tools, all are asked for whichever is looked for, so that a
    /// hidden one and a name that nothing has cost the same work.
    fn offered_now(&self, principal: &Principal, caller: &Caller, kind: OfferKind) -> VisibleSet {
        let sets = caller.offered.clone().unwrap_or_else(|| {
            let time = self.clock.now();
            let find = || self.seen_offers(principal, caller, Some(time));
            caller.offered_in(time.0.div_euclid(1000), find)
        });
        let [resources, templates, prompts] = sets;
        match kind {
            OfferKind::Resource => resources,
            OfferKind::Template => templates,
            OfferKind::Prompt => prompts,
        }
    }

    fn sees_offer(&self, place: usize, principal: &Principal, caller: &Caller, kind: OfferKind) -> bool {
        self.offered_now(principal, caller, kind).contains(place)
    }

    pub(super) fn offers_to(&self, principal: &Principal, offer: &Offer) -> bool {
        let Some((place, _)) = self.find_offer(offer) else { return false };
        self.caller(principal).is_ok_and(|caller| self.sees_offer(place, principal, &caller, offer.kind()))
    }

    /// Which of these offers of one kind the caller may know.
    pub(super) fn offers_all_to(&self, principal: &Principal, offers: &[Arc<Offer>]) -> VisibleSet {
        let Some(kind) = offers.first().map(|offer| offer.kind()) else { return VisibleSet::of([]) };
        let known = self.offers.of_kind(kind);
        let same =
            offers.len() == known.len() && offers.iter().zip(known).all(|(one, it)| **one == *it.offer);
        match self.caller(principal) {
            Ok(caller) if same => self.offered_now(principal, &caller, kind),
            // Others than those that the policies were judged with: each on its own.
            _ => VisibleSet::of(offers.iter().map(|offer| self.offers_to(principal, offer))),
        }
    }

    pub(super) fn look_for_no_offer_of(&self, principal: &Principal, kind: OfferKind) {
        if let Ok(caller) = self.caller(principal) {
            // Nothing has a place beyond the catalogue.
            self.sees_offer(usize::MAX, principal, &caller, kind);
        }
    }

    /// What is decided of a use.
    pub(super) fn decided_use(&self, question: &UseQuestion<'_>) -> Decision {
        let denied = |error: String| Decision::Deny { policies: Vec::new(), errors: vec![error] };
        let Some((place, judged)) = self.find_offer(question.offer) else {
            return denied("the policies were not judged with this".to_owned());
        };
        let caller = match self.caller(question.principal) {
            Ok(caller) => caller,
            Err(error) => return denied(error),
        };
        if !self.sees_offer(place, question.principal, &caller, question.offer.kind()) {
            return denied("what may not be listed may not be used".to_owned());
        }
        let Verdict { permitted, policies, errors } = self.use_of(judged, question, &caller);
        if permitted { Decision::Permit { policies } } else { Decision::Deny { policies, errors } }
    }

    fn use_of(&self, judged: &JudgedOffer, question: &UseQuestion<'_>, caller: &Caller) -> Verdict {
        let family = Family::of(judged.offer.kind());
        let mentions = &judged.act.mentions;
        let mut context = match self.common(mentions, question.principal, None) {
            Ok(context) => context,
            Err(error) => return Verdict::failed(Vec::new(), error),
        };
        let inputs = match self.inputs(family, mentions.looks_at_inputs(), question.inputs) {
            Ok(inputs) => inputs,
            Err(error) => return Verdict::failed(Vec::new(), error),
        };
        match RestrictedExpression::new_record(inputs) {
            Ok(record) => context.push((family.inputs().to_owned(), record)),
            Err(error) => return Verdict::failed(Vec::new(), error),
        }
        self.ask(&judged.act, caller, &self.offers.actions[family as usize], &judged.uid, context)
    }

    /// What the user chose, as far as the schema has it. It is bounded where a policy looks at it.
    fn inputs(
        &self,
        family: Family,
        is_looked_at: bool,
        chosen: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, RestrictedExpression)>, String> {
        if !is_looked_at {
            return Ok(Vec::new());
        }
        let known = &self.offers.inputs[family as usize];
        let given: Vec<_> = chosen.iter().filter(|(name, _)| known.contains(*name)).collect();
        let bytes: usize = given.iter().map(|(_, value)| value.len()).sum();
        if given.len() > self.limits.argument_values || bytes > self.limits.argument_bytes {
            return Err(format!("the {} are larger than policies look at", family.inputs()));
        }
        let text = |value: &String| RestrictedExpression::new_string(value.clone());
        Ok(given.into_iter().map(|(name, value)| (name.clone(), text(value))).collect())
    }
}
