//! Step 8: the tool runs.
//!
//! It must never start a second attempt, and never a first one where the effect is committed already. A panic, a deadline and a failure are outcomes like any other.

use std::future::{Future as _, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::Poll;

use futures_util::FutureExt as _;
use tokio::time::timeout_at;

use super::reserve::{Place, Reserved};
use super::validate::{Validated, invalid_state};
use crate::call::Call;
use crate::entry::Entry;
use crate::handle::spend;
use crate::invocation::{Invocation, Noted};
use crate::keeping::Keeping;
use crate::port::{CallerToken, Execution};
use crate::refusal::{Code, Refusal};

/// Evidence: the tool has run, and this is what it left.
#[derive(Debug)]
#[must_use]
pub struct Executed<'r> {
    reserved: Reserved<'r>,
    /// Nothing where the call gets what an earlier one left.
    execution: Option<Execution>,
    noted: Noted,
}

impl<'r> Executed<'r> {
    pub(in crate::stage) fn into_parts(self) -> (Reserved<'r>, Option<Execution>, Noted) {
        (self.reserved, self.execution, self.noted)
    }
}

/// Runs the tool until it ends or its time is over.
pub async fn execute<'r>(
    keeping: Keeping<'_>,
    mut reserved: Reserved<'r>,
    call: &Call<'_>,
    entry: &mut Entry<'_>,
) -> Executed<'r> {
    if let Place::Replayed(_) = reserved.place() {
        return Executed { execution: None, noted: Noted::default(), reserved };
    }
    if let Err(refusal) = use_up(keeping, reserved.validated()).await {
        return Executed { execution: Some(Execution::NotDone(refusal)), noted: Noted::default(), reserved };
    }
    reserved.dispatch();
    entry.dispatched();
    let validated = reserved.validated();
    let resolved = validated.resolved();
    let deadline = entry.since() + resolved.contract().timeout;
    let invocation = Invocation {
        call: entry.id(),
        contract: resolved.contract(),
        principal: resolved.principal(),
        arguments: validated.arguments(),
        input: validated.input(),
        effect_key: reserved.effect_key(),
        deadline,
        peer: call.peer,
        declared: call.declared,
        meta: call.meta,
        headers: call.headers,
        caller: resolved
            .tool()
            .delegate
            .as_ref()
            .and_then(|_| CallerToken::of(call.credentials.authorization)),
        delegate: resolved.tool().delegate.as_deref(),
        responses: validated.responses(),
        state: validated.state(),
        questions_max: keeping.limits.questions,
        keeping,
        noted: Mutex::new(Noted::default()),
        cancellation: OnceLock::new(),
    };
    // A handler that panics before its first await panics inside this async block, where it is caught.
    let run = AssertUnwindSafe(async { resolved.tool().execute.execute(&invocation).await }).catch_unwind();
    let ended = {
        let mut run = pin!(run);
        // Many tools answer at once. Only one that has to wait needs a timer; it is polled once more with it.
        match poll_fn(|context| Poll::Ready(run.as_mut().poll(context))).await {
            Poll::Ready(ended) => Ok(ended),
            Poll::Pending => timeout_at(deadline, run).await,
        }
    };
    let execution = match ended {
        Ok(Ok(execution)) => execution,
        Ok(Err(panic)) => Execution::Failed(
            Refusal::new(Code::ToolPanicked, "the tool stopped unexpectedly")
                .with_detail(panic_text(&*panic)),
        ),
        Err(_elapsed) => Execution::Failed(Refusal::new(Code::Timeout, "the tool did not finish in time")),
    };
    let noted = invocation.noted.into_inner().unwrap_or_else(PoisonError::into_inner);
    Executed { execution: Some(execution), noted, reserved }
}

/// Uses the state of the call up where something is changed: one state must not lead to two effects. After the
/// reservation, so that a call which is only repeated gets its stored result and not a refusal.
async fn use_up(keeping: Keeping<'_>, validated: &Validated<'_>) -> Result<(), Refusal> {
    let resolved = validated.resolved();
    let Some((state, until)) = validated.state_use() else { return Ok(()) };
    if !resolved.contract().effect.changes_something() {
        return Ok(());
    }
    match spend(keeping, resolved.principal(), state, until).await? {
        true => Ok(()),
        false => Err(invalid_state()),
    }
}

/// The message of a panic, for the operator only.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
