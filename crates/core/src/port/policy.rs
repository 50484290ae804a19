//! What may be seen and done.
//!
//! An implementation decides on the question alone and does no I/O that the question does not need.
//! No answer means no permission.

mod visible;

pub use visible::VisibleSet;

use super::Answer;
use crate::contract::Contract;
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
            Self::Permit { policies } | Self::NeedsApproval { policies } | Self::Deny { policies, .. } => {
                policies
            }
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

/// Decides what is visible and what may be called. Both decisions come from the same rules.
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

    /// Whether the set of visible tools is the same for every principal, so that a list may be shared.
    fn is_same_for_all(&self) -> bool;

    /// Whether what a principal may see stays the same as long as this policy is in force. Where it does
    /// not, because a rule about lists looks at the time, no list may be kept.
    fn is_steady(&self) -> bool {
        true
    }

    /// Decides on one call. An error is a refusal to decide, which is never a permission.
    fn decide<'a>(&'a self, question: Question<'a>) -> Answer<'a, Result<Decision, Refusal>>;
}
