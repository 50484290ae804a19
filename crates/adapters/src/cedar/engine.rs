//! Evaluation: one question to Cedar at a time, and its answer with the policies that gave it.
//!
//! An error of any policy that concerns the question is a denial, also where Cedar alone would pass the
//! policy over: a rule that forbids must not vanish because it failed. Nothing here panics and nothing
//! waits. The port and the explanation call it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgate_core::contract::Contract;
use callgate_core::contract::digest::Digest;
use callgate_core::port::{Clock, Timestamp, VisibleSet};
use callgate_core::principal::Principal;
use callgate_protocol::json::Value;
use cedar_policy::{
    ActionConstraint, Authorizer, Context, Decision, Entities, EntityUid, PolicySet, PrincipalConstraint,
    Request, ResourceConstraint, RestrictedExpression,
};

use super::arguments::{Expressed, express};
use super::entities::{Caller, Callers, with_caller};
use super::limits::PolicyLimits;
use super::mentions::Mentions;
use super::offers::JudgedOffers;
use super::texts::Rule;
use super::tools::KnownTool;

/// Policies of Cedar for one catalogue.
pub struct CedarPolicy {
    pub(super) rules: Vec<Rule>,
    pub(super) tools: Vec<Judged>,
    pub(super) offers: JudgedOffers,
    pub(super) base: Entities,
    pub(super) list_action: EntityUid,
    pub(super) limits: PolicyLimits,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) callers: Callers,
    pub(super) schema: String,
    pub(super) revision: Digest,
    pub(super) same_for_all: bool,
    pub(super) steady: bool,
    pub(super) authorizer: Authorizer,
    /// Questions put to Cedar, for those who count what an answer costs.
    pub(super) evaluations: AtomicU64,
}

/// A tool with the policies that may concern it.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) tool: KnownTool,
    pub(super) uid: EntityUid,
    pub(super) call_action: EntityUid,
    pub(super) list: Arc<Concerned>,
    pub(super) call: Arc<Concerned>,
    /// Those of `call` that look at the caller, the tool and the approval alone: what they say is kept.
    pub(super) call_settled: Arc<Concerned>,
    /// The others of `call`.
    pub(super) call_open: Arc<Concerned>,
}

/// Policies that may concern one question.
#[derive(Debug)]
pub(super) struct Concerned {
    pub(super) rules: Vec<usize>,
    pub(super) set: PolicySet,
    pub(super) mentions: Mentions,
}

/// A call as policies are asked about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'q> {
    pub(super) principal: &'q Principal,
    pub(super) arguments: Value<'q>,
    pub(super) approved: bool,
    /// Whether the approval is that of another person than the caller.
    pub(super) second_person: bool,
    /// Another time than now.
    pub(super) at: Option<Timestamp>,
}

/// What Cedar answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) permitted: bool,
    pub(super) policies: Vec<String>,
    pub(super) errors: Vec<String>,
}

impl Verdict {
    /// A denial because something could not be evaluated.
    pub(super) fn failed(policies: Vec<String>, error: impl fmt::Display) -> Self {
        Self { permitted: false, policies, errors: vec![error.to_string()] }
    }

    /// What two parts of the policies say together, as Cedar would say it of all of them: what forbids decides, and else
    /// what permits. Nothing if a part could not be evaluated.
    pub(super) fn joined(self, other: Self) -> Option<Self> {
        if !self.errors.is_empty() || !other.errors.is_empty() {
            return None;
        }
        let forbids = |verdict: &Self| !verdict.permitted && !verdict.policies.is_empty();
        let is_forbidden = forbids(&self) || forbids(&other);
        let permitted = !is_forbidden && (self.permitted || other.permitted);
        let mut policies = Vec::new();
        for verdict in [self, other] {
            // A part that neither permits nor forbids names no policy.
            if verdict.permitted == permitted {
                policies.extend(verdict.policies);
            }
        }
        policies.sort();
        Some(Self { permitted, policies, errors: Vec::new() })
    }
}

impl CedarPolicy {
    /// The digest of the policies, the schema and what the configuration says of the tools.
    #[must_use]
    pub fn revision(&self) -> Digest {
        self.revision
    }

    /// The Cedar schema that the policies were judged against.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// How many questions were put to Cedar so far.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// The names of the policies, in the order of their texts.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.id.as_str())
    }

    /// The tool of a contract, and its place in the catalogue. A contract that the policies were not judged
    /// with is none.
    pub(super) fn find(&self, contract: &Contract) -> Option<(usize, &Judged)> {
        let name = contract.name().as_str();
        let at = self.tools.binary_search_by(|judged| judged.tool.name.as_str().cmp(name)).ok()?;
        let judged = self.tools.get(at)?;
        (judged.tool.digest == Some(contract.digest())).then_some((at, judged))
    }

    /// The caller, with what it may see where that never changes.
    pub(super) fn caller(&self, principal: &Principal) -> Result<Arc<Caller>, String> {
        self.callers.of(principal, || {
            let (uid, entities) = with_caller(&self.base, principal)?;
            let mut caller = Caller::new(uid, entities);
            if self.steady {
                caller.visible = Some(self.seen(principal, &caller, None));
                caller.offered = Some(self.seen_offers(principal, &caller, None));
            }
            Ok(caller)
        })
    }

    /// Every tool that the caller may see now, or at another time.
    ///
    /// Where a policy looks at the time, all tools are asked for whichever of them is looked for, so that a hidden
    /// tool and a name that no tool has cost the same work. What was found is kept for the millisecond for which it
    /// holds: policies see no finer time.
    pub(super) fn visible_at(
        &self,
        principal: &Principal,
        caller: &Caller,
        at: Option<Timestamp>,
    ) -> VisibleSet {
        if let Some(visible) = &caller.visible {
            return visible.clone();
        }
        let time = at.unwrap_or_else(|| self.clock.now());
        caller.visible_in(time.0.div_euclid(1000), || self.seen(principal, caller, Some(time)))
    }

    fn seen(&self, principal: &Principal, caller: &Caller, at: Option<Timestamp>) -> VisibleSet {
        let sees = |judged: &Judged| self.list(&judged.list, judged, principal, caller, at).permitted;
        VisibleSet::of(self.tools.iter().map(sees))
    }

    /// Whether these policies let the caller see the tool. `at` is another time than now.
    pub(super) fn list(
        &self,
        concerned: &Concerned,
        judged: &Judged,
        principal: &Principal,
        caller: &Caller,
        at: Option<Timestamp>,
    ) -> Verdict {
        let context = match self.common(&concerned.mentions, principal, at) {
            Ok(pairs) => pairs,
            Err(error) => return Verdict::failed(Vec::new(), error),
        };
        self.ask(concerned, caller, &self.list_action, &judged.uid, context)
    }

    /// Whether these policies let the caller call the tool as asked.
    pub(super) fn call(
        &self,
        concerned: &Concerned,
        judged: &Judged,
        caller: &Caller,
        asked: Asked<'_>,
    ) -> Verdict {
        let Asked { principal, arguments, approved, second_person, at } = asked;
        let mentions = &concerned.mentions;
        let Expressed { arguments, inexpressible, missing } =
            express(arguments, &judged.tool.members, mentions, &self.limits);
        if let Some(refused) = self.blind(concerned, caller, &missing) {
            return refused;
        }
        let mut context = match self.common(mentions, principal, at) {
            Ok(context) => context,
            Err(error) => return Verdict::failed(Vec::new(), error),
        };
        match RestrictedExpression::new_record(arguments) {
            Ok(record) => context.push(("arguments".to_owned(), record)),
            Err(error) => return Verdict::failed(Vec::new(), error),
        }
        if mentions.inexpressible {
            let inexpressible = inexpressible.into_iter().map(RestrictedExpression::new_string);
            context.push(("inexpressible".to_owned(), RestrictedExpression::new_set(inexpressible)));
        }
        if mentions.approved {
            context.push(("approved".to_owned(), RestrictedExpression::new_bool(approved)));
        }
        if mentions.second_person {
            let second_person = RestrictedExpression::new_bool(approved && second_person);
            context.push(("second_person".to_owned(), second_person));
        }
        self.ask(concerned, caller, &judged.call_action, &judged.uid, context)
    }

    /// A denial if a policy that may concern the caller looks at something that it cannot be shown.
    fn blind(
        &self,
        concerned: &Concerned,
        caller: &Caller,
        missing: &BTreeSet<Vec<String>>,
    ) -> Option<Verdict> {
        if missing.is_empty() {
            return None;
        }
        let rules = concerned.rules.iter().filter_map(|at| self.rules.get(*at));
        let mut blind = Vec::new();
        let mut first = None;
        for rule in rules.filter(|rule| may_concern(rule, caller)) {
            if let Some(place) = missing.iter().find(|place| rule.mentions.misses(place)) {
                blind.push(rule.id.clone());
                first.get_or_insert((rule.id.as_str(), place.join(".")));
            }
        }
        let (rule, argument) = first?;
        let error =
            format!("policy `{rule}` looks at the argument `{argument}`, which Cedar cannot hold exactly");
        Some(Verdict::failed(blind, error))
    }

    /// The members of every context, as far as a policy looks at them.
    pub(super) fn common(
        &self,
        mentions: &Mentions,
        principal: &Principal,
        at: Option<Timestamp>,
    ) -> Result<Vec<(String, RestrictedExpression)>, String> {
        let mut context = Vec::with_capacity(6);
        if mentions.caller {
            for (name, value) in [("tenant", &principal.tenant), ("purpose", &principal.purpose)] {
                if let Some(value) = value {
                    let value = RestrictedExpression::new_string(value.to_string());
                    context.push((name.to_owned(), value));
                }
            }
        }
        if mentions.time {
            let time = at.unwrap_or_else(|| self.clock.now());
            let time = jiff::Timestamp::from_millisecond(time.0.div_euclid(1000))
                .map_err(|error| error.to_string())?;
            let text = time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
            context.push(("time".to_owned(), RestrictedExpression::new_datetime(text)));
        }
        Ok(context)
    }

    pub(super) fn ask(
        &self,
        concerned: &Concerned,
        caller: &Caller,
        action: &EntityUid,
        resource: &EntityUid,
        context: Vec<(String, RestrictedExpression)>,
    ) -> Verdict {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        let context = match Context::from_pairs(context) {
            Ok(context) => context,
            Err(error) => return Verdict::failed(Vec::new(), error),
        };
        let request = Request::new(caller.uid.clone(), action.clone(), resource.clone(), context, None);
        let request = match request {
            Ok(request) => request,
            Err(error) => return Verdict::failed(Vec::new(), error),
        };
        let response = self.authorizer.is_authorized(&request, &concerned.set, &caller.entities);
        let errors: Vec<_> = response.diagnostics().errors().map(ToString::to_string).collect();
        let mut policies: Vec<_> = response.diagnostics().reason().map(ToString::to_string).collect();
        policies.sort();
        let permitted = response.decision() == Decision::Allow && errors.is_empty();
        if !errors.is_empty() && response.decision() == Decision::Allow {
            // What would have permitted did not decide; what failed did, and the errors name it.
            policies.clear();
        }
        Verdict { permitted, policies, errors }
    }
}

impl fmt::Debug for CedarPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CedarPolicy({} policies, {} tools)", self.rules.len(), self.tools.len())
    }
}

/// Whether the scope of a policy lets it concern a caller.
pub(super) fn may_concern(rule: &Rule, caller: &Caller) -> bool {
    let own = &caller.uid;
    match rule.policy.principal_constraint() {
        PrincipalConstraint::Any => true,
        PrincipalConstraint::Eq(uid) => uid == *own,
        PrincipalConstraint::In(uid) => uid == *own || caller.entities.is_ancestor_of(&uid, own),
        PrincipalConstraint::Is(kind) => kind == *own.type_name(),
        PrincipalConstraint::IsIn(kind, uid) => {
            kind == *own.type_name() && (uid == *own || caller.entities.is_ancestor_of(&uid, own))
        }
    }
}

/// Which policies may concern a question, by their scopes. Questions with the same policies share them.
#[derive(Default)]
pub(super) struct Sorting {
    shared: BTreeMap<Vec<usize>, Arc<Concerned>>,
}

impl Sorting {
    pub(super) fn concerned(
        &mut self,
        rules: &[Rule],
        actions: &[EntityUid],
        resource: &EntityUid,
        server: &EntityUid,
    ) -> Result<Arc<Concerned>, String> {
        let is_meant = |rule: &Rule| {
            let by_action = match rule.policy.action_constraint() {
                ActionConstraint::Any => true,
                ActionConstraint::Eq(uid) => actions.contains(&uid),
                ActionConstraint::In(uids) => uids.iter().any(|uid| actions.contains(uid)),
            };
            let is_in = |uid: &EntityUid| uid == resource || uid == server;
            by_action
                && match rule.policy.resource_constraint() {
                    ResourceConstraint::Any => true,
                    ResourceConstraint::Eq(uid) => uid == *resource,
                    ResourceConstraint::In(uid) => is_in(&uid),
                    ResourceConstraint::Is(kind) => kind == *resource.type_name(),
                    ResourceConstraint::IsIn(kind, uid) => kind == *resource.type_name() && is_in(&uid),
                }
        };
        let meant: Vec<_> = rules.iter().enumerate().filter(|(_, rule)| is_meant(rule)).collect();
        self.of(&meant)
    }

    /// Those of some policies that what is decided follows from, with or without a look at the arguments or the time.
    pub(super) fn part(
        &mut self,
        rules: &[Rule],
        whole: &Concerned,
        is_settled: bool,
    ) -> Result<Arc<Concerned>, String> {
        let whole = whole.rules.iter().filter_map(|at| Some((*at, rules.get(*at)?)));
        let part: Vec<_> = whole.filter(|(_, rule)| rule.mentions.is_settled() == is_settled).collect();
        self.of(&part)
    }

    fn of(&mut self, meant: &[(usize, &Rule)]) -> Result<Arc<Concerned>, String> {
        let key: Vec<_> = meant.iter().map(|(at, _)| *at).collect();
        if let Some(known) = self.shared.get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut mentions = Mentions::default();
        meant.iter().for_each(|(_, rule)| mentions.add(&rule.mentions));
        let set = PolicySet::from_policies(meant.iter().map(|(_, rule)| rule.policy.clone()))
            .map_err(|error| error.to_string())?;
        let concerned = Arc::new(Concerned { rules: key.clone(), set, mentions });
        self.shared.insert(key, Arc::clone(&concerned));
        Ok(concerned)
    }
}
