//! Approvals of single calls.
//!
//! An approval is bound to what was reviewed and is used once; an implementation burns it before it
//! says that it was granted.

use super::Answer;
use crate::contract::digest::{ContractDigest, InputDigest};
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// What an approval is bound to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Approval<'a> {
    /// Who wants to make the call.
    pub principal: &'a Principal,
    /// The definition that was reviewed.
    pub contract: ContractDigest,
    /// The arguments that were reviewed.
    pub input: InputDigest,
}

impl<'a> Approval<'a> {
    /// An approval of one input to one contract.
    #[must_use]
    pub fn new(principal: &'a Principal, contract: ContractDigest, input: InputDigest) -> Self {
        Self { principal, contract, input }
    }
}

/// Looks for an approval and uses it up.
pub trait Approvals: Send + Sync {
    /// Ok when an approval was there and has been burned; otherwise the refusal to answer with.
    ///
    /// Not cancel safe: a burned approval stays burned.
    fn consume<'a>(&'a self, approval: Approval<'a>) -> Answer<'a, Result<(), Refusal>>;
}

/// No channel for approvals is configured, so what needs one is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoApprovals;

impl Approvals for NoApprovals {
    fn consume<'a>(&'a self, _approval: Approval<'a>) -> Answer<'a, Result<(), Refusal>> {
        Answer::now(Err(Refusal::new(
            Code::ApprovalRequired,
            "this call needs an approval, and this server has no way to ask for one",
        )))
    }
}
