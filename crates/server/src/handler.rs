//! How a plain async function becomes something the server can run.
//!
//! An author never implements these traits: every `async fn(Context<'_>, Input) -> Result<Output, ToolError>`
//! has them, and every `async fn(&State, Context<'_>, Input) -> Result<Output, ToolError>`. Tools, resources,
//! prompts and completions take such functions.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use callgate_core::port::Answer;
use callgate_core::refusal::{Code, Refusal};

use crate::context::Context;

/// An async function that runs for one request.
pub trait Handler<'c, I, O>: Send + Sync + 'static {
    /// What the function returns.
    type Future: Future<Output = Result<O, ToolError>> + Send + 'c;

    /// Calls the function.
    fn call(&self, context: Context<'c>, input: I) -> Self::Future;
}

impl<'c, F, R, I, O> Handler<'c, I, O> for F
where
    F: Fn(Context<'c>, I) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'c,
{
    type Future = R;

    fn call(&self, context: Context<'c>, input: I) -> R {
        self(context, input)
    }
}

/// An async function that runs for one request and borrows state which all requests share.
pub trait StatefulHandler<'c, S: 'static, I, O>: Send + Sync + 'static {
    /// What the function returns.
    type Future: Future<Output = Result<O, ToolError>> + Send + 'c;

    /// Calls the function.
    fn call(&self, state: &'c S, context: Context<'c>, input: I) -> Self::Future;
}

impl<'c, F, R, S, I, O> StatefulHandler<'c, S, I, O> for F
where
    F: Fn(&'c S, Context<'c>, I) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'c,
    S: 'static,
{
    type Future = R;

    fn call(&self, state: &'c S, context: Context<'c>, input: I) -> R {
        self(state, context, input)
    }
}

/// Runs a handler and maps its end in the same allocation.
pub(crate) trait Run<I: 'static, O: 'static>: Send + Sync + 'static {
    fn run<'a, T: Unpin>(
        &'a self,
        context: Context<'a>,
        input: I,
        finish: impl FnOnce(Result<O, ToolError>) -> T + Send + 'a,
    ) -> Answer<'a, T>;
}

/// A handler without state.
pub(crate) struct Stateless<H>(pub(crate) H);

impl<H, I: 'static, O: 'static> Run<I, O> for Stateless<H>
where
    H: for<'c> Handler<'c, I, O>,
{
    fn run<'a, T: Unpin>(
        &'a self,
        context: Context<'a>,
        input: I,
        finish: impl FnOnce(Result<O, ToolError>) -> T + Send + 'a,
    ) -> Answer<'a, T> {
        let future = self.0.call(context, input);
        Answer::later(async move { finish(future.await) })
    }
}

/// A handler with the state that its calls share.
pub(crate) struct Stateful<S, H>(pub(crate) S, pub(crate) H);

impl<S, H, I: 'static, O: 'static> Run<I, O> for Stateful<S, H>
where
    S: Send + Sync + 'static,
    H: for<'c> StatefulHandler<'c, S, I, O>,
{
    fn run<'a, T: Unpin>(
        &'a self,
        context: Context<'a>,
        input: I,
        finish: impl FnOnce(Result<O, ToolError>) -> T + Send + 'a,
    ) -> Answer<'a, T> {
        let future = self.1.call(&self.0, context, input);
        Answer::later(async move { finish(future.await) })
    }
}

/// A handler of a fixed input and output, whatever its type: prompts, resources and completions.
pub(crate) trait Act<I: 'static, O: 'static>: Send + Sync {
    fn act<'a>(&'a self, context: Context<'a>, input: I) -> Answer<'a, Result<O, ToolError>>;
}

/// A handler behind [`Act`].
pub(crate) struct Action<R, I, O>(R, PhantomData<fn(I) -> O>);

impl<R, I, O> Action<R, I, O> {
    pub(crate) fn new(run: R) -> Self {
        Self(run, PhantomData)
    }
}

impl<R: Run<I, O>, I: Send + 'static, O: Unpin + 'static> Act<I, O> for Action<R, I, O> {
    fn act<'a>(&'a self, context: Context<'a>, input: I) -> Answer<'a, Result<O, ToolError>> {
        self.0.run(context, input, |result| result)
    }
}

/// Why a handler did not do what was asked.
///
/// Every error converts into one whose text stays inside: the caller learns only that the tool failed,
/// the operator reads the rest in the log and the audit record. Use [`ToolError::new`] for what the
/// model should read, and [`ToolError::nothing_changed`] where that is certain.
#[must_use]
pub struct ToolError(pub(crate) Kind, bool);

pub(crate) enum Kind {
    Refused(Refusal),
    /// The handler waits for answers that come with another request.
    Waiting,
    NotFound,
}

impl ToolError {
    /// An error whose message the model may read: what went wrong and what to do about it.
    pub fn new(public: impl Into<Cow<'static, str>>) -> Self {
        Self::refused(Refusal::new(Code::ToolFailed, public))
    }

    /// An error whose text only the operator may read.
    pub fn internal(detail: impl fmt::Display) -> Self {
        Self::refused(Refusal::new(Code::ToolFailed, "the tool failed").with_detail(detail))
    }

    /// A source that cannot be reached now; the caller is told to try again later.
    pub fn unavailable(detail: impl fmt::Display) -> Self {
        let refusal = Refusal::new(Code::SourceUnavailable, "a source of the tool cannot be reached");
        Self::refused(refusal.with_detail(detail))
    }

    /// What was asked for does not exist, or may not be known by the caller. For handlers of resources.
    pub fn not_found() -> Self {
        Self(Kind::NotFound, false)
    }

    /// A refusal of the gate.
    pub fn refused(refusal: Refusal) -> Self {
        Self(Kind::Refused(refusal), false)
    }

    /// The same error, and the handler states that nothing was changed: the ledger lets the same key be tried
    /// again. Without it the outcome of a tool that changes something is unknown, because a failure in the middle
    /// of a change proves nothing. A tool that only reads needs it not.
    pub fn nothing_changed(mut self) -> Self {
        self.1 = true;
        self
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        self.1
    }

    pub(crate) fn waiting() -> Self {
        Self(Kind::Waiting, false)
    }

    /// The refusal; a handler that waits has none.
    pub(crate) fn into_refusal(self) -> Option<Refusal> {
        match self.0 {
            Kind::Refused(refusal) => Some(refusal),
            Kind::NotFound => Some(Refusal::new(Code::ToolFailed, "what was asked for does not exist")),
            Kind::Waiting => None,
        }
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::internal(error)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Refused(refusal) => write!(f, "ToolError({})", refusal.code()),
            Kind::Waiting => f.write_str("ToolError(waiting for answers)"),
            Kind::NotFound => f.write_str("ToolError(not found)"),
        }
    }
}
