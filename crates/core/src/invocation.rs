//! One run of a tool: what an executor is given, and how it speaks to the client.
//!
//! It must never show an executor the credentials of the caller. The execute step makes it.

mod ask;
mod trace;

pub use ask::{Asked, Capability, CapabilitySet, InputRequest};
pub use trace::TraceContext;

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use callgate_protocol::json::Value;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::artifact::Artifacts;
use crate::call::MirroredHeaders;
use crate::contract::Contract;
use crate::contract::digest::InputDigest;
use crate::handle::Handles;
use crate::keeping::Keeping;
use crate::port::{CallerToken, Delegate, Delegated, EffectKey, Peer};
use crate::principal::Principal;
use crate::receipt::CallId;
use crate::refusal::{Code, Refusal};

/// What an executor knows of the call it carries out.
pub struct Invocation<'c> {
    pub(crate) call: CallId,
    pub(crate) contract: &'c Contract,
    pub(crate) principal: &'c Principal,
    pub(crate) arguments: Value<'c>,
    pub(crate) input: InputDigest,
    pub(crate) effect_key: Option<EffectKey>,
    pub(crate) deadline: Instant,
    pub(crate) peer: &'c dyn Peer,
    pub(crate) declared: CapabilitySet,
    pub(crate) meta: Option<Value<'c>>,
    pub(crate) headers: Option<&'c dyn MirroredHeaders>,
    /// Never shown: it goes to the delegate alone.
    pub(crate) caller: Option<CallerToken<'c>>,
    pub(crate) delegate: Option<&'c dyn Delegate>,
    pub(crate) responses: Option<Value<'c>>,
    pub(crate) state: Option<&'c [u8]>,
    pub(crate) questions_max: usize,
    pub(crate) keeping: Keeping<'c>,
    pub(crate) noted: Mutex<Noted>,
    pub(crate) cancellation: OnceLock<DropGuard>,
}

/// What a tool noted for the next round.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(crate) questions: Vec<(String, InputRequest)>,
    pub(crate) state: Option<Vec<u8>>,
    pub(crate) missing: CapabilitySet,
}

impl<'c> Invocation<'c> {
    /// The id of this call, the one that the receipt shows.
    #[must_use]
    pub fn call(&self) -> CallId {
        self.call
    }

    /// The contract of the tool.
    #[must_use]
    pub fn contract(&self) -> &'c Contract {
        self.contract
    }

    /// Who calls.
    #[must_use]
    pub fn principal(&self) -> &'c Principal {
        self.principal
    }

    /// The arguments, already checked against the input schema.
    #[must_use]
    pub fn arguments(&self) -> Value<'c> {
        self.arguments
    }

    /// The digest over tool, principal, tenant and arguments.
    #[must_use]
    pub fn input(&self) -> InputDigest {
        self.input
    }

    /// Under which key the ledger knows this call; nothing where the tool changes nothing. It is the same for each
    /// try of one intention, tells nothing of its parts, and is what a backend gets as idempotency key.
    #[must_use]
    pub fn effect_key(&self) -> Option<EffectKey> {
        self.effect_key
    }

    /// When the call is given up.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// A token that is cancelled when the call ends in any way, for work that runs beside the handler.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        let guard = self.cancellation.get_or_init(|| CancellationToken::new().drop_guard());
        guard.token().clone()
    }

    /// A token for the service that this tool speaks to, in the name of the caller. The caller's own token is not
    /// in it.
    ///
    /// # Errors
    /// The refusal of the [`Delegate`], and of a tool that has none.
    pub async fn delegated(&self) -> Result<Delegated, Refusal> {
        match self.delegate {
            Some(delegate) => delegate.delegate(self.caller, self.deadline).await,
            None => Err(Refusal::new(Code::Internal, "the tool cannot speak for its caller")
                .with_detail("the tool has no delegate")),
        }
    }

    /// The W3C trace that the call belongs to, where the client names one.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext<'c>> {
        TraceContext::of(self.meta, self.headers)
    }

    /// The client at the other end.
    #[must_use]
    pub fn peer(&self) -> &'c dyn Peer {
        self.peer
    }

    /// What the client declared that it can be asked for, with this request.
    #[must_use]
    pub fn declared(&self) -> CapabilitySet {
        self.declared
    }

    /// The state that this tool kept in the round before, opened and checked.
    #[must_use]
    pub fn state(&self) -> Option<&'c [u8]> {
        self.state
    }

    /// Keeps state for the next round. It is sealed and bound to this principal, tool and input, and it
    /// is sent only when the tool ends with questions.
    pub fn keep(&self, state: impl Into<Vec<u8>>) {
        self.noted().state = Some(state.into());
    }

    /// The handles of this principal and tool.
    #[must_use]
    pub fn handles(&self) -> Handles<'c> {
        self.keeping.handles(self.principal, self.contract.name().as_str())
    }

    /// The artifacts of this principal. A tool may make one if its contract says so.
    ///
    /// # Errors
    /// The contract does not say so.
    pub fn artifacts(&self) -> Result<Artifacts<'c>, Refusal> {
        if self.contract.delivery().makes_artifacts() {
            return Ok(self.keeping.artifacts(self.principal).within(self.contract.timeout()));
        }
        Err(Refusal::new(Code::ToolFailed, "the tool failed")
            .with_detail("its contract does not say that it makes artifacts"))
    }

    fn noted(&self) -> std::sync::MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Invocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invocation")
            .field("call", &self.call)
            .field("tool", &self.contract.name())
            .finish_non_exhaustive()
    }
}
