//! The tool itself: what runs once every check has passed.
//!
//! An executor must never check what the pipeline has checked, and never answer for another tool.
//! Native handlers, SQL tools and later HTTP and upstream tools implement it.

use super::Answer;
use crate::invocation::Invocation;
use crate::outcome::ToolOutput;
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
}
