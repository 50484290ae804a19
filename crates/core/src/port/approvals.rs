//! Approvals of single calls: who waits for one, who gave it, and that each is used once.
//!
//! A row stands for one approval of one call, by a digest of everything that was reviewed. The approve step
//! asks for it and uses it up; a person grants or denies it. An implementation decides nothing about who may
//! call what, and it never gives back what was used or declined. The states and who may change them are in
//! `docs/design/approvals.md`.

use super::{Answer, Timestamp};
use crate::contract::digest::Digest;
use crate::receipt::CallId;
use crate::refusal::Refusal;

/// Where an approval is in its life. Past its time it is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApprovalState {
    /// Nobody has decided yet.
    Pending,
    /// Somebody has permitted the call, which has not come back for it.
    Granted,
    /// Somebody has refused the call.
    Denied,
    /// The call was made with it.
    Burned,
}

impl ApprovalState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Granted, Self::Denied, Self::Burned];

    /// The name in stores and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Burned => "burned",
        }
    }

    /// The state of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// What a person has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalVerdict {
    /// Whether the call is permitted.
    pub granted: bool,
    /// Who says so.
    pub by: String,
    /// Why; the caller may read it.
    pub reason: Option<String>,
    /// Until when a granted call may be made.
    pub until: Timestamp,
}

impl ApprovalVerdict {
    /// A call may be made until then, says that person.
    #[must_use]
    pub fn grant(by: impl Into<String>, until: Timestamp) -> Self {
        Self { granted: true, by: by.into(), reason: None, until }
    }

    /// A call may not be made, says that person.
    #[must_use]
    pub fn deny(by: impl Into<String>) -> Self {
        Self { granted: false, by: by.into(), reason: None, until: Timestamp(0) }
    }

    /// The same for a reason.
    #[must_use]
    pub fn with_reason(mut self, reason: Option<String>) -> Self {
        self.reason = reason;
        self
    }
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalRow {
    /// The call that asked for it, which is its name.
    pub id: CallId,
    /// What was reviewed: principal, tenant, definition, arguments, policy, and who may approve. Nothing where the
    /// caller itself was asked in the call, whose sealed state holds all that.
    pub binding: Option<Digest>,
    /// Whose call it is, by digest; bounds are counted by it.
    pub owner: Digest,
    /// Whose call it is.
    pub subject: String,
    /// The tenant of the caller.
    pub tenant: Option<String>,
    /// The tool.
    pub tool: String,
    /// What the approver reads.
    pub text: String,
    /// Whether it must be another person than the caller who approves.
    pub second_person: bool,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it is over.
    pub expires: Timestamp,
    /// Where it is in its life.
    pub state: ApprovalState,
    /// Who has decided.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

impl ApprovalRow {
    /// A row of its parts that say which call it is; the others are set afterwards.
    #[must_use]
    pub fn new(
        id: CallId,
        owner: Digest,
        state: ApprovalState,
        created: Timestamp,
        expires: Timestamp,
    ) -> Self {
        Self {
            id,
            binding: None,
            owner,
            subject: String::new(),
            tenant: None,
            tool: String::new(),
            text: String::new(),
            second_person: false,
            created,
            expires,
            state,
            by: None,
            reason: None,
        }
    }
}

/// How many approvals may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalBounds {
    /// Of one owner.
    pub of_owner: usize,
    /// Of all owners.
    pub total: usize,
}

/// How an approval stands that a call asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It was granted, and is used up now.
    Burned(ApprovalRow),
    /// Nobody has decided yet.
    Pending(ApprovalRow),
    /// It was denied.
    Denied(ApprovalRow),
    /// As many wait as the bounds allow.
    Full,
}

/// Whether something was used for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// It was.
    First,
    /// It had been used before.
    Again,
    /// No more can be remembered, so it must not be used.
    Full,
}

/// What became of a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruled {
    /// It holds.
    Done(ApprovalRow),
    /// There is no such approval, or its time is over.
    Unknown,
    /// It was decided, or used, before.
    Settled(ApprovalRow),
    /// Another person than the caller must decide.
    OwnCall(ApprovalRow),
}

/// Keeps the approvals.
///
/// Each method is one step: of two at once, one comes first. A row whose `expires` is not after `now` is not there.
/// An error is [`Code::GateUnavailable`](crate::refusal::Code::GateUnavailable): the store did not answer.
pub trait Approvals: Send + Sync {
    /// Whether people can see what waits here and decide it. Where they cannot, no call waits for them.
    fn reaches_people(&self) -> bool;

    /// Uses up the granted approval of the row's binding, or says how the one stands that there is; where there is
    /// none, keeps the row, which is pending. Only rows that wait or stand granted or denied count in the bounds.
    ///
    /// Not cancel safe: a burned approval stays burned.
    fn claim(
        &self,
        row: ApprovalRow,
        bounds: ApprovalBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Claimed, Refusal>>;

    /// Keeps a row without binding that is burned or denied from the start, if there is none of its id. Only such
    /// rows count in the bounds.
    ///
    /// Not cancel safe: what is used stays used.
    fn use_up(
        &self,
        row: ApprovalRow,
        bounds: ApprovalBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Used, Refusal>>;

    /// Decides a pending approval that has a binding.
    fn rule(
        &self,
        id: CallId,
        verdict: ApprovalVerdict,
        now: Timestamp,
    ) -> Answer<'_, Result<Ruled, Refusal>>;

    /// One approval that has a binding.
    fn get(&self, id: CallId, now: Timestamp) -> Answer<'_, Result<Option<ApprovalRow>, Refusal>>;

    /// At most so many approvals that have a binding, in the order in which they were asked for.
    fn list(&self, max: usize, now: Timestamp) -> Answer<'_, Result<Vec<ApprovalRow>, Refusal>>;
}
