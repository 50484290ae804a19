//! The tool itself: what runs once every check has passed.
//!
//! An executor must never check what the pipeline has checked, and never answer for another tool.
//! Native handlers, SQL tools and later HTTP and upstream tools implement it.

use tokio::time::Instant;

use super::{Answer, EffectKey, StoredResult};
use crate::contract::Contract;
use crate::invocation::Invocation;
use crate::outcome::ToolOutput;
use crate::receipt::CallId;
use crate::refusal::Refusal;

/// How a tool ended.
#[derive(Debug)]
#[must_use]
pub enum Execution {
    /// With a result, which may say that the tool could not do what was asked.
    Complete(ToolOutput),
    /// With questions to the client, which [`Invocation::ask`] has noted.
    Asks,
    /// Without a result. Whether a tool that changes something did so is not known.
    Failed(Refusal),
    /// Without a result, and it is proven that nothing changed: the backend was never asked, it refused, or it
    /// rolled back and said so. A lost answer proves nothing.
    NotDone(Refusal),
    /// Without a result that can be shown, and the backend said that it did what was asked. A repeated call must
    /// not do it again.
    Done(Refusal),
}

/// Runs a tool.
///
/// The future is dropped when the caller gives up or the time is over: an executor must stop its work
/// then, in the backend as well. A panic becomes a refusal of that one call.
pub trait Execute: Send + Sync {
    /// Runs the tool for one invocation.
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution>;

    /// Asks the backend whether an effect happened whose outcome is unknown. Only a tool that declares
    /// [`Resolution::Backend`](crate::contract::Resolution::Backend) is asked.
    ///
    /// It must not repeat the effect, and must say that it did not happen only where the backend can prove it: also
    /// of a run that goes on somewhere, which then must not come through any more. The key with which the backend
    /// keeps the effect is what proves that.
    fn resolve<'a>(&'a self, _effect: &'a Unresolved<'a>) -> Answer<'a, Verdict> {
        Answer::now(Verdict::CannotTell)
    }
}

/// An effect of which nobody knows whether it happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Unresolved<'a> {
    /// Which intention it is: the key that [`Invocation::effect_key`] gave.
    pub key: EffectKey,
    /// The call that tried it.
    pub call: CallId,
    /// The tool.
    pub contract: &'a Contract,
    /// On whose data.
    pub tenant: Option<&'a str>,
    /// Until when an answer is wanted.
    pub deadline: Instant,
}

impl<'a> Unresolved<'a> {
    /// A question about an effect.
    #[must_use]
    pub const fn new(
        key: EffectKey,
        call: CallId,
        contract: &'a Contract,
        tenant: Option<&'a str>,
        deadline: Instant,
    ) -> Self {
        Self { key, call, contract, tenant, deadline }
    }
}

/// What a backend shows of an effect.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It happened; with the result where the backend keeps that too.
    Happened(Option<StoredResult>),
    /// It did not happen, and no run that goes on can make it happen.
    DidNotHappen,
    /// The backend was not reached, or does not know.
    CannotTell,
}
