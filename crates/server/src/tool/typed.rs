//! The executor of a typed tool: raw arguments in, one serialization out.
//!
//! It must never see arguments that the gate has not checked, and never log one. The execute step of the
//! gate calls it.

use std::marker::PhantomData;

use callgate_core::invocation::Invocation;
use callgate_core::port::{Answer, Execute, Execution};
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json;
use serde::de::DeserializeOwned;

use super::Output;
use crate::context::Context;
use crate::handler::{Run, ToolError};

/// A handler with its types.
pub(super) struct Typed<R, I, O> {
    run: R,
    types: PhantomData<fn(I) -> O>,
}

impl<R, I, O> Typed<R, I, O> {
    pub(super) fn new(run: R) -> Self {
        Self { run, types: PhantomData }
    }
}

impl<R, I, O> Execute for Typed<R, I, O>
where
    R: Run<I, O>,
    I: DeserializeOwned + Send + 'static,
    O: Output,
{
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        // The schema was derived from the type, so this fails only where the type asks for more than its
        // schema can say.
        match json::from_value::<I>(invocation.arguments()) {
            Ok(input) => self.run.run(Context::of_call(invocation), input, finish),
            Err(error) => {
                let public = format!("the arguments do not fit the input of the tool: {error}");
                Answer::now(Execution::NotDone(Refusal::new(Code::InvalidArguments, public)))
            }
        }
    }
}

fn finish<O: Output>(result: Result<O, ToolError>) -> Execution {
    match result.and_then(Output::into_output) {
        Ok(output) => Execution::Complete(output),
        Err(error) => {
            let end = if error.is_unchanged() { Execution::NotDone } else { Execution::Failed };
            error.into_refusal().map_or(Execution::Asks, end)
        }
    }
}
