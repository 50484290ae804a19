//! Why a call is decided as it is, and what would change that.
//!
//! Each policy is asked alone, and the call is asked again under changed conditions; what is found is for
//! the operator and never for a caller. Nothing here takes part in a decision. The commands about policies
//! call it.

use std::collections::BTreeSet;
use std::ops::Range;

use callgate_core::contract::Contract;
use callgate_core::port::{Decision, Timestamp};
use callgate_core::principal::Principal;
use callgate_protocol::json::Value;
use cedar_policy::{Effect, PolicySet};

use super::arguments::express;
use super::engine::{Asked, CedarPolicy, Concerned, Judged, Verdict, may_concern};
use super::entities::Caller;
use super::mentions::Mentions;

/// A call to be explained.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyCase<'c> {
    /// Who calls.
    pub principal: &'c Principal,
    /// What is called.
    pub contract: &'c Contract,
    /// With what.
    pub arguments: Value<'c>,
    /// Whether somebody has approved it.
    pub approved: bool,
    /// Whether another person than the caller did.
    pub second_person: bool,
    /// When; now where nothing is said.
    pub at: Option<Timestamp>,
}

impl<'c> PolicyCase<'c> {
    /// A call now that nobody has approved.
    #[must_use]
    pub fn new(principal: &'c Principal, contract: &'c Contract, arguments: Value<'c>) -> Self {
        Self { principal, contract, arguments, approved: false, second_person: false, at: None }
    }
}

/// How one policy stands to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyState {
    /// Its conditions are true.
    Holds,
    /// Its conditions are false.
    ConditionFalse,
    /// Its scope names other callers.
    OtherCallers,
    /// It cannot be evaluated, which denies.
    Failed(String),
}

/// One policy that may concern the question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedPolicy {
    /// Its name.
    pub id: String,
    /// True for `permit`, false for `forbid`.
    pub permits: bool,
    /// How it stands to the question.
    pub state: PolicyState,
    /// Which of the texts it is in.
    pub text: usize,
    /// The bytes of that text.
    pub span: Range<usize>,
}

/// One thing that would change the decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyChange {
    /// Somebody approves the call.
    Approval,
    /// Another person than the caller approves the call.
    SecondPerson,
    /// The caller is in that group.
    Group(String),
    /// The credential of the caller has that scope.
    Scope(String),
    /// The caller belongs to that tenant.
    Tenant(String),
    /// These policies forbid it, or forbid to see the tool.
    Without(Vec<String>),
}

/// What a change would make of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// What has to change.
    pub change: PolicyChange,
    /// Whether the caller then sees the tool.
    pub visible: bool,
    /// What is then decided of the call.
    pub decision: Decision,
}

/// Why a call is decided as it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// What is decided, scopes that the tool needs apart.
    pub decision: Decision,
    /// Whether the caller sees the tool. To one who does not it is unknown.
    pub visible: bool,
    /// Scopes that the tool needs and the credential lacks; the caller is challenged for them first.
    pub missing_scopes: Vec<String>,
    /// The arguments that policies cannot see.
    pub inexpressible: Vec<String>,
    /// The policies about seeing the tool.
    pub list: Vec<ExplainedPolicy>,
    /// The policies about calling it.
    pub call: Vec<ExplainedPolicy>,
    /// What would make it better: show a tool that is hidden, or permit more.
    pub changes: Vec<Changed>,
}

/// Changes that are tried.
const CHANGES: usize = 64;

impl CedarPolicy {
    /// Explains a call of a tool that the policies were judged with.
    ///
    /// # Errors
    /// The contract is of another catalogue, or the caller cannot be expressed.
    pub fn explain(&self, case: PolicyCase<'_>) -> Result<Explanation, String> {
        let (place, judged) =
            self.find(case.contract).ok_or("the policies were not judged with this tool")?;
        let PolicyCase { principal, arguments, approved, second_person, at, contract } = case;
        let asked = Asked { principal, arguments, approved, second_person, at };
        let caller = self.caller(principal)?;
        let decision = self.decided(place, judged, &caller, asked);
        let everything = Mentions { inexpressible: true, ..Mentions::default() };
        let expressed = express(arguments, &judged.tool.members, &everything, &self.limits);
        let missing = contract.scopes().iter().filter(|scope| !principal.has_scope(scope));
        Ok(Explanation {
            visible: self.sees(place, &caller, asked),
            missing_scopes: missing.cloned().collect(),
            inexpressible: expressed.inexpressible.into_iter().collect(),
            list: self.each(&judged.list, &caller, |alone| self.list(alone, judged, principal, &caller, at)),
            call: self.each(&judged.call, &caller, |alone| self.call(alone, judged, &caller, asked)),
            changes: self.changes(place, judged, asked, &decision)?,
            decision,
        })
    }

    /// Asks each policy alone.
    fn each(
        &self,
        concerned: &Concerned,
        caller: &Caller,
        ask: impl Fn(&Concerned) -> Verdict,
    ) -> Vec<ExplainedPolicy> {
        let explained = |at: &usize| {
            let rule = self.rules.get(*at)?;
            let state = if may_concern(rule, caller) {
                let set = PolicySet::from_policies([rule.policy.clone()]).ok()?;
                let alone = Concerned { rules: vec![*at], set, mentions: rule.mentions.clone() };
                let verdict = ask(&alone);
                match verdict.errors.into_iter().next() {
                    Some(error) => PolicyState::Failed(error),
                    None if verdict.policies.is_empty() => PolicyState::ConditionFalse,
                    None => PolicyState::Holds,
                }
            } else {
                PolicyState::OtherCallers
            };
            Some(ExplainedPolicy {
                id: rule.id.clone(),
                permits: rule.policy.effect() == Effect::Permit,
                state,
                text: rule.text,
                span: rule.span.clone(),
            })
        };
        concerned.rules.iter().filter_map(explained).collect()
    }

    /// What would show a tool that is hidden, or make a call that is not permitted permitted or dependent on an
    /// approval only.
    fn changes(
        &self,
        place: usize,
        judged: &Judged,
        asked: Asked<'_>,
        decision: &Decision,
    ) -> Result<Vec<Changed>, String> {
        let caller = self.caller(asked.principal)?;
        let before = rank(self.sees(place, &caller, asked), decision);
        let mut changes = Vec::new();
        let mut try_with = |change: PolicyChange, principal: &Principal, approved: bool| {
            let Ok(caller) = self.caller(principal) else { return };
            let second_person = asked.second_person || change == PolicyChange::SecondPerson;
            let asked = Asked { principal, approved, second_person, ..asked };
            let decision = self.decided(place, judged, &caller, asked);
            let visible = self.sees(place, &caller, asked);
            if rank(visible, &decision) > before {
                changes.push(Changed { change, visible, decision });
            }
        };
        if !asked.approved {
            try_with(PolicyChange::Approval, asked.principal, true);
        }
        if !asked.second_person && judged.call.mentions.second_person {
            try_with(PolicyChange::SecondPerson, asked.principal, true);
        }
        for change in self.candidates(judged, asked.principal) {
            let mut principal = asked.principal.clone();
            match &change {
                PolicyChange::Group(group) => principal.groups.push(group.as_str().into()),
                PolicyChange::Scope(scope) => principal.scopes.push(scope.as_str().into()),
                PolicyChange::Tenant(tenant) => principal.tenant = Some(tenant.as_str().into()),
                PolicyChange::Approval | PolicyChange::SecondPerson | PolicyChange::Without(_) => continue,
            }
            try_with(change, &principal, asked.approved);
        }
        changes.extend(self.without_prohibitions(judged, asked)?);
        Ok(changes)
    }

    /// Groups, scopes and tenants that policies name and the caller lacks.
    fn candidates(&self, judged: &Judged, principal: &Principal) -> Vec<PolicyChange> {
        let mut candidates = BTreeSet::new();
        let rules = judged.list.rules.iter().chain(&judged.call.rules);
        for rule in rules.filter_map(|at| self.rules.get(*at)) {
            for literal in rule.policy.entity_literals() {
                let id = literal.id().unescaped().to_owned();
                let is_own = |own: &Option<Box<str>>| own.as_deref() == Some(id.as_str());
                match literal.type_name().to_string().as_str() {
                    "Group" if !principal.groups.iter().any(|group| **group == *id) => {
                        candidates.insert(PolicyChange::Group(id));
                    }
                    "Tenant" if !is_own(&principal.tenant) => {
                        candidates.insert(PolicyChange::Tenant(id));
                    }
                    _ => {}
                }
            }
            let scopes = rule.mentions.scopes.iter().filter(|scope| !principal.has_scope(scope));
            candidates.extend(scopes.cloned().map(PolicyChange::Scope));
        }
        candidates.into_iter().take(CHANGES).collect()
    }

    /// What would be without the policies that forbid to see the tool, and without those that forbid the call
    /// besides.
    fn without_prohibitions(&self, judged: &Judged, asked: Asked<'_>) -> Result<Vec<Changed>, String> {
        let caller = self.caller(asked.principal)?;
        let lists = |concerned: &Concerned| self.list(concerned, judged, asked.principal, &caller, asked.at);
        let calls = |concerned: &Concerned| self.verdict_of_call(concerned, judged, &caller, asked);
        let mut changes = Vec::new();
        let mut removed = Vec::new();
        let listed = lists(&judged.list);
        if !listed.permitted {
            let Some(forbidding) = forbidding(&listed) else { return Ok(changes) };
            if !lists(&self.without(&judged.list, forbidding)?).permitted {
                return Ok(changes);
            }
            removed.extend_from_slice(forbidding);
            changes.push(Changed {
                change: PolicyChange::Without(removed.clone()),
                visible: true,
                decision: calls(&self.without(&judged.call, &removed)?),
            });
        }
        let called = match changes.last() {
            Some(shown) => shown.decision.clone(),
            None => calls(&judged.call),
        };
        let Decision::Deny { policies, errors } = called else { return Ok(changes) };
        if policies.is_empty() || !errors.is_empty() {
            return Ok(changes);
        }
        removed.extend(policies);
        removed.sort();
        let decision = calls(&self.without(&judged.call, &removed)?);
        if matches!(decision, Decision::Permit { .. }) {
            changes.push(Changed { change: PolicyChange::Without(removed), visible: true, decision });
        }
        Ok(changes)
    }

    /// The same policies without some of them.
    fn without(&self, concerned: &Concerned, removed: &[String]) -> Result<Concerned, String> {
        let is_kept = |at: &usize| self.rules.get(*at).is_some_and(|rule| !removed.contains(&rule.id));
        let rules: Vec<usize> = concerned.rules.iter().copied().filter(is_kept).collect();
        let kept = || rules.iter().filter_map(|at| self.rules.get(*at));
        let set = PolicySet::from_policies(kept().map(|rule| rule.policy.clone()))
            .map_err(|error| error.to_string())?;
        let mut mentions = Mentions::default();
        kept().for_each(|rule| mentions.add(&rule.mentions));
        Ok(Concerned { rules, set, mentions })
    }
}

/// How good it is for the caller.
fn rank(visible: bool, decision: &Decision) -> u8 {
    match decision {
        _ if !visible => 0,
        Decision::Permit { .. } => 3,
        Decision::NeedsApproval { .. } => 2,
        _ => 1,
    }
}

/// The policies that forbid, if nothing else stands in the way.
fn forbidding(verdict: &Verdict) -> Option<&[String]> {
    (!verdict.policies.is_empty() && verdict.errors.is_empty()).then_some(verdict.policies.as_slice())
}
