//! The one error type that crosses crate borders: why a call was not carried out as asked.
//!
//! `public` is shown to the caller and must never hold an argument value, a path, SQL or a secret;
//! `detail` goes to the log and the audit record only. Steps, executors and loaders make refusals;
//! the server maps each code to the wire in one exhaustive match.

mod party;
mod told;

use std::fmt;
use std::time::Duration;

pub use party::{Party, Retry};
pub use told::Refusal;

/// The stable code of a refusal. Codes are part of the public interface: they are documented in
/// `docs/refusals.md` and never change their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The request is not a well-formed tool call.
    MalformedCall,
    /// No tool of that name exists for this caller.
    UnknownTool,
    /// No resource or prompt of that name exists for this caller.
    NotFound,
    /// A mirrored header and the body differ, or one of them is missing.
    HeaderMismatch,
    /// The arguments do not fit the input schema.
    InvalidArguments,
    /// Checking the arguments took more work than the bound allows.
    ArgumentsTooCostly,
    /// Nobody was authenticated.
    Unauthenticated,
    /// The token is expired, revoked, forged, or was issued for another server.
    InvalidToken,
    /// The credential is sent in a form that cannot be read.
    MalformedCredential,
    /// The part of the gate that finds out who calls did not answer.
    IdentityUnavailable,
    /// The credential lacks a scope that the tool needs.
    InsufficientScope,
    /// The policy does not permit this call.
    Forbidden,
    /// The caller, the tenant or the tool has used up its rate.
    RateLimited,
    /// The gate is at a bound on concurrency.
    Busy,
    /// The tool needs a capability that the client did not declare with this request.
    MissingCapability,
    /// A sealed state is forged, expired, or was given for another request.
    InvalidState,
    /// An answer to a question of the tool is malformed.
    InvalidInputResponse,
    /// A cursor is forged, expired, or was given for another request.
    InvalidCursor,
    /// A handle is forged, expired, revoked, or was made for somebody or something else.
    InvalidHandle,
    /// A bound on what is kept is reached: handles, artifacts or used states.
    StoreFull,
    /// The call needs an approval that nobody here can give.
    ApprovalRequired,
    /// The call waits for the approval of a person.
    ApprovalPending,
    /// A person has declined the call.
    ApprovalDenied,
    /// The tool changes something, and no ledger is there to record it.
    LedgerRequired,
    /// The tool needs an idempotency key, and the request has none that can be used.
    IdempotencyKeyRequired,
    /// The idempotency key was used for a call with other arguments.
    IdempotencyConflict,
    /// Another call with the same idempotency key has not ended yet.
    CallInFlight,
    /// Nobody knows whether the effect happened.
    OutcomeUnknown,
    /// What is to be changed is not in the version any more that the caller has seen.
    PreconditionFailed,
    /// The effect happened, and its result is not kept.
    ResultNotKept,
    /// The ledger is full.
    LedgerFull,
    /// The call did not finish in time.
    Timeout,
    /// The caller gave the call up.
    Cancelled,
    /// The tool reported that it could not do what was asked.
    ToolFailed,
    /// The tool stopped in a way that it did not intend.
    ToolPanicked,
    /// The result does not fit the output schema.
    OutputInvalid,
    /// The result is larger than the contract allows.
    OutputTooLarge,
    /// A source that the tool reads from cannot be reached.
    SourceUnavailable,
    /// A part of the gate did not answer: the policy, the approvals, the ledger or the audit trail.
    GateUnavailable,
    /// Something of ours failed.
    Internal,
}

impl Code {
    /// Every code, in the order of the manual.
    pub const ALL: [Self; 40] = [
        Self::MalformedCall,
        Self::UnknownTool,
        Self::NotFound,
        Self::HeaderMismatch,
        Self::InvalidArguments,
        Self::ArgumentsTooCostly,
        Self::Unauthenticated,
        Self::InvalidToken,
        Self::MalformedCredential,
        Self::IdentityUnavailable,
        Self::InsufficientScope,
        Self::Forbidden,
        Self::RateLimited,
        Self::Busy,
        Self::MissingCapability,
        Self::InvalidState,
        Self::InvalidInputResponse,
        Self::InvalidCursor,
        Self::InvalidHandle,
        Self::StoreFull,
        Self::ApprovalRequired,
        Self::ApprovalPending,
        Self::ApprovalDenied,
        Self::LedgerRequired,
        Self::IdempotencyKeyRequired,
        Self::IdempotencyConflict,
        Self::CallInFlight,
        Self::OutcomeUnknown,
        Self::PreconditionFailed,
        Self::ResultNotKept,
        Self::LedgerFull,
        Self::Timeout,
        Self::Cancelled,
        Self::ToolFailed,
        Self::ToolPanicked,
        Self::OutputInvalid,
        Self::OutputTooLarge,
        Self::SourceUnavailable,
        Self::GateUnavailable,
        Self::Internal,
    ];

    /// The name on the wire, in records and in the manual.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MalformedCall => "malformed_call",
            Self::UnknownTool => "unknown_tool",
            Self::NotFound => "not_found",
            Self::HeaderMismatch => "header_mismatch",
            Self::InvalidArguments => "invalid_arguments",
            Self::ArgumentsTooCostly => "arguments_too_costly",
            Self::Unauthenticated => "unauthenticated",
            Self::InvalidToken => "invalid_token",
            Self::MalformedCredential => "malformed_credential",
            Self::IdentityUnavailable => "identity_unavailable",
            Self::InsufficientScope => "insufficient_scope",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limited",
            Self::Busy => "busy",
            Self::MissingCapability => "missing_capability",
            Self::InvalidState => "invalid_state",
            Self::InvalidInputResponse => "invalid_input_response",
            Self::InvalidCursor => "invalid_cursor",
            Self::InvalidHandle => "invalid_handle",
            Self::StoreFull => "store_full",
            Self::ApprovalRequired => "approval_required",
            Self::ApprovalPending => "approval_pending",
            Self::ApprovalDenied => "approval_denied",
            Self::LedgerRequired => "ledger_required",
            Self::IdempotencyKeyRequired => "idempotency_key_required",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::CallInFlight => "call_in_flight",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::PreconditionFailed => "precondition_failed",
            Self::ResultNotKept => "result_not_kept",
            Self::LedgerFull => "ledger_full",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::ToolFailed => "tool_failed",
            Self::ToolPanicked => "tool_panicked",
            Self::OutputInvalid => "output_invalid",
            Self::OutputTooLarge => "output_too_large",
            Self::SourceUnavailable => "source_unavailable",
            Self::GateUnavailable => "gate_unavailable",
            Self::Internal => "internal",
        }
    }

    /// Who has to change something.
    #[must_use]
    pub const fn party(self) -> Party {
        match self {
            Self::MalformedCall
            | Self::UnknownTool
            | Self::NotFound
            | Self::HeaderMismatch
            | Self::InvalidArguments
            | Self::ArgumentsTooCostly
            | Self::Unauthenticated
            | Self::InvalidToken
            | Self::MalformedCredential
            | Self::InsufficientScope
            | Self::MissingCapability
            | Self::InvalidState
            | Self::InvalidInputResponse
            | Self::InvalidCursor
            | Self::IdempotencyKeyRequired
            | Self::IdempotencyConflict
            | Self::PreconditionFailed
            | Self::CallInFlight
            | Self::InvalidHandle
            | Self::Cancelled => Party::Caller,
            Self::Forbidden
            | Self::RateLimited
            | Self::ApprovalRequired
            | Self::ApprovalPending
            | Self::ApprovalDenied => Party::Policy,
            Self::Timeout
            | Self::OutcomeUnknown
            | Self::ToolFailed
            | Self::ToolPanicked
            | Self::OutputInvalid
            | Self::OutputTooLarge => Party::Tool,
            Self::SourceUnavailable => Party::Upstream,
            Self::Busy
            | Self::StoreFull
            | Self::LedgerRequired
            | Self::LedgerFull
            | Self::ResultNotKept
            | Self::IdentityUnavailable
            | Self::GateUnavailable
            | Self::Internal => Party::Us,
        }
    }

    /// Whether and how the same intention may be tried again.
    #[must_use]
    pub const fn retry(self) -> Retry {
        match self {
            Self::InvalidArguments
            | Self::ArgumentsTooCostly
            | Self::MalformedCall
            | Self::HeaderMismatch
            | Self::InvalidInputResponse
            | Self::InvalidToken
            | Self::MalformedCredential
            | Self::InsufficientScope
            | Self::MissingCapability
            | Self::InvalidState
            | Self::InvalidCursor
            | Self::IdempotencyKeyRequired
            | Self::IdempotencyConflict
            | Self::PreconditionFailed
            | Self::InvalidHandle
            | Self::OutputTooLarge => Retry::Changed,
            Self::Busy
            | Self::RateLimited
            | Self::CallInFlight
            | Self::LedgerFull
            | Self::SourceUnavailable
            | Self::IdentityUnavailable
            | Self::GateUnavailable => Retry::After(Duration::from_secs(1)),
            Self::StoreFull => Retry::After(Duration::from_secs(60)),
            Self::ApprovalPending => Retry::After(Duration::from_secs(30)),
            Self::Timeout | Self::Cancelled => Retry::Same,
            Self::UnknownTool
            | Self::NotFound
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::ApprovalRequired
            | Self::ApprovalDenied
            | Self::LedgerRequired
            | Self::OutcomeUnknown
            | Self::ResultNotKept
            | Self::ToolFailed
            | Self::ToolPanicked
            | Self::OutputInvalid
            | Self::Internal => Retry::No,
        }
    }

    /// What the caller can safely do next.
    #[must_use]
    pub const fn next_step(self) -> &'static str {
        match self {
            Self::MalformedCall => "send a tools/call request with a name and an arguments object",
            Self::UnknownTool => "list the tools and choose one of them",
            Self::NotFound => "list the resources or prompts and choose one of them",
            Self::HeaderMismatch => "list the tools again and mirror the parameters they name",
            Self::InvalidArguments => "correct the arguments named here and call again",
            Self::ArgumentsTooCostly => "call again with smaller arguments",
            Self::Unauthenticated => "send a credential that this server accepts",
            Self::InvalidToken => "get a new token for this server and call again",
            Self::MalformedCredential => "send one `Authorization: Bearer` header with one token",
            Self::IdentityUnavailable => "call again later",
            Self::InsufficientScope => "authorize again with the scopes named here and call again",
            Self::Forbidden => "do not repeat the call; ask the operator for permission",
            Self::RateLimited => "call again after the time named here",
            Self::Busy => "call again later",
            Self::MissingCapability => "call again from a client that declares the capability",
            Self::InvalidState => "start the call again without requestState",
            Self::InvalidInputResponse => "answer the question as its schema asks",
            Self::InvalidCursor => "start again from the first page",
            Self::InvalidHandle => "do not try others; make a new handle with the tool that gives them out",
            Self::StoreFull => "call again later, when something that is kept has expired",
            Self::ApprovalRequired => "do not repeat the call; ask the operator to approve it",
            Self::ApprovalPending => {
                "tell the user that the call waits for the approval named here; once it is given, repeat exactly the same call, which then runs once"
            }
            Self::ApprovalDenied => {
                "do not repeat the call and do not try it in another way; tell the user that it was declined"
            }
            Self::LedgerRequired => "do not repeat the call; this server cannot record its effect",
            Self::IdempotencyKeyRequired => {
                "make a new key for this intention, and send the same one with each try of it"
            }
            Self::IdempotencyConflict => {
                "repeat the call with its own arguments, or use a new key for a new intention"
            }
            Self::CallInFlight => "repeat the same call with the same key later; it does nothing twice",
            Self::OutcomeUnknown => {
                "do not do it again in another way; look with a reading tool whether it happened, or ask the operator to reconcile the call"
            }
            Self::PreconditionFailed => {
                "nothing was changed: read the present version, decide again, and use a new key"
            }
            Self::ResultNotKept => "do not repeat the call: it took effect; look at it with a reading tool",
            Self::LedgerFull => "call again later; nothing was changed",
            Self::Timeout => "call again with a narrower question",
            Self::Cancelled => "call again if the result is still wanted",
            Self::ToolFailed => "read the message; do not repeat the same call",
            Self::ToolPanicked => "do not repeat the call; report it to the operator",
            Self::OutputInvalid => "do not repeat the call; report it to the operator",
            Self::OutputTooLarge => "call again with a narrower question",
            Self::SourceUnavailable => "call again later",
            Self::GateUnavailable => "call again later",
            Self::Internal => "do not repeat the call; report it to the operator",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
