//! Evidence: one record for each call, however it ended.
//!
//! A record never holds a result or a secret, and of the arguments only a digest and the values of those
//! that the contract names. The pipeline writes records; nothing else does.

mod log;

use std::time::Duration;

pub use log::LogAudit;

use super::Answer;
use crate::contract::Contract;
use crate::contract::digest::{Digest, InputDigest};
use crate::port::{Decision, Timestamp, Transport};
use crate::principal::Principal;
use crate::receipt::{CallId, EffectStatus};
use crate::refusal::{Code, Refusal};

/// What is known of one call at its end.
///
/// A call that was refused early is known less well: what a step had not found out yet is `None`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The id that the caller's receipt quotes.
    pub call: CallId,
    /// When the call came in.
    pub started: Timestamp,
    /// How the request came in.
    pub transport: Transport,
    /// Who called.
    pub principal: Option<&'a Principal>,
    /// The name that was asked for; anything a client may send.
    pub requested: &'a str,
    /// Which tool that is, by which definition; nothing where none may be seen by that name.
    pub contract: Option<&'a Contract>,
    /// Which arguments, by digest.
    pub input: Option<InputDigest>,
    /// The arguments that the contract names for the trail: one JSON object.
    pub view: Option<&'a str>,
    /// What the policy decided.
    pub decision: Option<&'a Decision>,
    /// The digest of the policy and of the configuration that feeds it.
    pub policy: Digest,
    /// Whether an approval was used up for the call.
    pub approved: bool,
    /// How the call relates to earlier ones of the same intention.
    pub idempotency: IdempotencyDecision,
    /// What the caller got.
    pub result: ResultKind,
    /// Why the call was refused or failed; nothing when it was answered.
    pub code: Option<Code>,
    /// What the operator may know of the reason.
    pub detail: Option<&'a str>,
    /// What happened in the world.
    pub effect: EffectStatus,
    /// How long it took.
    pub latency: Duration,
}

impl<'a> Record<'a> {
    /// A record of a call of which nothing else is known.
    #[must_use]
    pub fn new(call: CallId, started: Timestamp, requested: &'a str, result: ResultKind) -> Self {
        Self {
            call,
            started,
            transport: Transport::Stdio,
            principal: None,
            requested,
            contract: None,
            input: None,
            view: None,
            decision: None,
            policy: Digest::from_bytes([0; 32]),
            approved: false,
            idempotency: IdempotencyDecision::NotNeeded,
            result,
            code: None,
            detail: None,
            effect: EffectStatus::None,
            latency: Duration::ZERO,
        }
    }
}

/// How a call relates to earlier ones of the same intention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdempotencyDecision {
    /// The tool changes nothing, so nothing had to be kept apart, or the call did not get that far.
    #[default]
    NotNeeded,
    /// The call was the first of its intention, and ran.
    First,
    /// The effect was committed before; the call got the stored result.
    Replayed,
    /// Another call of the same intention had not ended yet.
    InFlight,
    /// Nobody knows whether an earlier call of the same intention took effect.
    Unknown,
    /// The key was used for another input.
    Conflict,
}

impl IdempotencyDecision {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotNeeded => "not_needed",
            Self::First => "first",
            Self::Replayed => "replayed",
            Self::InFlight => "in_flight",
            Self::Unknown => "unknown",
            Self::Conflict => "conflict",
        }
    }
}

/// What the caller got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultKind {
    /// A result.
    Complete,
    /// A result in which the tool says that it could not do what was asked.
    ToolError,
    /// Questions; the client calls again with the answers.
    InputRequired,
    /// A refusal before the tool ran.
    Refused,
    /// A failure while the tool ran, or of its result.
    Failed,
    /// Nothing: the caller was gone.
    Cancelled,
}

impl ResultKind {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ToolError => "tool_error",
            Self::InputRequired => "input_required",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Takes the record of each call.
pub trait Audit: Send + Sync {
    /// Whether a record of a call of this tool could be written now. Asked before a tool runs, so that
    /// nothing happens that nobody can account for. It must not wait.
    ///
    /// # Errors
    /// [`Code::GateUnavailable`] when the trail cannot be written and calls of this kind must then not be made.
    fn ready(&self, contract: &Contract) -> Result<(), Refusal>;

    /// Takes one record. It is handed over when the method is called; the answer comes when it is as durable
    /// as the store promises, and dropping the answer takes nothing back.
    ///
    /// # Errors
    /// [`Code::GateUnavailable`] when the record was not written and the result of such a call must then not
    /// leave.
    fn record<'a>(&'a self, record: &Record<'_>) -> Answer<'a, Result<(), Refusal>>;
}
