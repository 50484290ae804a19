//! The default policy, in force when the operator configured none.
//!
//! It permits reads of tools, resources and prompts to whoever calls and lets everything else wait for an approval. It must never permit an
//! effect, and never be in force where others than local callers are let in: it does not tell callers apart.
//! Whoever builds a server sees to that.

use crate::contract::Contract;
use crate::offer::Offer;
use crate::port::{Answer, Approver, Decision, Policy, Question, UseQuestion};
use crate::principal::Principal;
use crate::refusal::Refusal;

/// Reads are permitted, everything else needs an approval, every tool is visible.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LocalPolicy;

impl LocalPolicy {
    /// The default policy.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Policy for LocalPolicy {
    fn is_visible(&self, _principal: &Principal, _contract: &Contract) -> bool {
        true
    }

    fn is_offered(&self, _principal: &Principal, _offer: &Offer) -> bool {
        true
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        // An empty vector costs no allocation; the default policy has no rule to name.
        let policies = Vec::new();
        Answer::now(Ok(if question.contract.effect().changes_something() && !question.approved {
            Decision::NeedsApproval { approver: Approver::Caller, policies }
        } else {
            Decision::Permit { policies }
        }))
    }

    fn decide_use<'a>(&'a self, _question: UseQuestion<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        Answer::now(Ok(Decision::Permit { policies: Vec::new() }))
    }
}
