//! What may be seen and done.
//!
//! An implementation decides on the question alone and does no I/O that the question does not need.
//! No answer means no permission.

mod visible;

pub use visible::VisibleSet;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Answer;
use crate::contract::Contract;
use crate::offer::{Offer, OfferKind};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::snapshot::Catalogue;
use callgate_protocol::json::Value;

/// One call to be decided on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Question<'q> {
    /// Who calls.
    pub principal: &'q Principal,
    /// What is called.
    pub contract: &'q Contract,
    /// With what; already checked against the input schema.
    pub arguments: Value<'q>,
    /// Whether an approval for exactly this call is at hand.
    pub approved: bool,
}

impl<'q> Question<'q> {
    /// A question about a call that nobody has approved yet.
    #[must_use]
    pub fn new(principal: &'q Principal, contract: &'q Contract, arguments: Value<'q>) -> Self {
        Self { principal, contract, arguments, approved: false }
    }
}

/// One use of a resource or a prompt to be decided on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UseQuestion<'q> {
    /// Who asks.
    pub principal: &'q Principal,
    /// What is to be read or rendered.
    pub offer: &'q Offer,
    /// The variables of the template or the arguments of the prompt, as far as they are chosen.
    pub inputs: &'q BTreeMap<String, String>,
}

impl<'q> UseQuestion<'q> {
    /// A question about a use.
    #[must_use]
    pub fn new(principal: &'q Principal, offer: &'q Offer, inputs: &'q BTreeMap<String, String>) -> Self {
        Self { principal, offer, inputs }
    }
}

/// Whose approval a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Approver {
    /// Anybody's; the caller itself may be asked.
    Caller,
    /// Another person's than the caller.
    SecondPerson,
}

impl Approver {
    /// The name in records and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::SecondPerson => "second_person",
        }
    }
}

/// What a policy decided, and which of its rules did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The call may be made.
    Permit {
        /// The rules that decided.
        policies: Vec<String>,
    },
    /// The call may be made once somebody has approved it.
    NeedsApproval {
        /// Who that may be.
        approver: Approver,
        /// The rules that decided.
        policies: Vec<String>,
    },
    /// The call may not be made.
    Deny {
        /// The rules that decided; empty when nothing permits it.
        policies: Vec<String>,
        /// What went wrong while the rules were evaluated: a rule that fails never permits. For the trail only.
        errors: Vec<String>,
    },
}

impl Decision {
    /// The name in records.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Permit { .. } => "permit",
            Self::NeedsApproval { .. } => "needs_approval",
            Self::Deny { .. } => "deny",
        }
    }

    /// The rules that decided.
    #[must_use]
    pub fn policies(&self) -> &[String] {
        match self {
            Self::Permit { policies }
            | Self::NeedsApproval { policies, .. }
            | Self::Deny { policies, .. } => policies,
        }
    }

    /// What went wrong while the rules were evaluated.
    #[must_use]
    pub fn errors(&self) -> &[String] {
        match self {
            Self::Permit { .. } | Self::NeedsApproval { .. } => &[],
            Self::Deny { errors, .. } => errors,
        }
    }
}

/// Decides what is visible and what may be called or read. All decisions come from the same rules. An
/// implementation that says nothing of resources and prompts hides them all.
///
/// Cancel safe: dropping the answer leaves nothing behind.
pub trait Policy: Send + Sync {
    /// Whether this principal may know that the tool exists.
    fn is_visible(&self, principal: &Principal, contract: &Contract) -> bool;

    /// Does for a name that no tool has the work that [`Policy::is_visible`] does for a tool that is
    /// hidden, so that the time of an answer does not tell the two apart.
    fn look_for_nothing(&self, _principal: &Principal) {}

    /// Which tools of a catalogue this principal may see: those for which [`Policy::is_visible`] says so.
    fn visible(&self, principal: &Principal, catalogue: &Catalogue) -> VisibleSet {
        VisibleSet::of(catalogue.tools().map(|tool| self.is_visible(principal, tool.contract())))
    }

    /// Whether this principal may know that the resource, the template or the prompt exists.
    fn is_offered(&self, _principal: &Principal, _offer: &Offer) -> bool {
        false
    }

    /// Does for a name that nothing of that kind has the work that [`Policy::is_offered`] does for what is
    /// hidden.
    fn look_for_no_offer(&self, _principal: &Principal, _kind: OfferKind) {}

    /// Which of these offers of one kind this principal may know: those for which [`Policy::is_offered`] says so.
    fn offered(&self, principal: &Principal, offers: &[Arc<Offer>]) -> VisibleSet {
        VisibleSet::of(offers.iter().map(|offer| self.is_offered(principal, offer)))
    }

    /// Whether what is visible is the same for every principal, so that a list may be shared.
    fn is_same_for_all(&self) -> bool;

    /// Whether what a principal may see stays the same as long as this policy is in force. Where it does
    /// not, because a rule about lists looks at the time, no list may be kept.
    fn is_steady(&self) -> bool {
        true
    }

    /// Decides on one call. An error is a refusal to decide, which is never a permission.
    fn decide<'a>(&'a self, question: Question<'a>) -> Answer<'a, Result<Decision, Refusal>>;

    /// Decides on one read of a resource or one rendering of a prompt that [`Policy::is_offered`] shows.
    fn decide_use<'a>(&'a self, _question: UseQuestion<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        Answer::now(Ok(Decision::Deny { policies: Vec::new(), errors: Vec::new() }))
    }
}
