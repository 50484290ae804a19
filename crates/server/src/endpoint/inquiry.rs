//! The run of a handler that is no tool: authenticated, bounded in time, its panics caught, its
//! questions and its sealed state handled as the gate does it for tools.
//!
//! It must never give a handler state that another principal, method or input was given. Prompts,
//! resources and completions are answered through it in every revision.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use callgate_core::contract::digest::{Digest, DigestBuilder};
use callgate_core::invocation::{CapabilitySet, InputRequest};
use callgate_core::keeping::Keeping;
use callgate_core::port::{Credentials, Peer, ResultKind};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_core::seal::Binding;
use callgate_core::stage::admit::Places;
use callgate_core::usage::Usage;
use callgate_protocol::json::Value;
use futures_util::FutureExt as _;
use tokio::time::{Instant, timeout_at};

use super::{Endpoint, Fault, Published};
use crate::exchange::{Exchange, Noted};
use crate::handler::{Kind, ToolError};

/// A request for a prompt, a resource or a completion, whatever the revision.
#[derive(Clone, Copy)]
pub(crate) struct Inquiry<'r> {
    /// The name of the prompt or the URI of the resource.
    pub(crate) name: &'r str,
    /// The arguments; an object.
    pub(crate) arguments: Value<'r>,
    /// The answers to the questions of the round before.
    pub(crate) input_responses: Option<Value<'r>>,
    /// The sealed state of the round before.
    pub(crate) request_state: Option<&'r str>,
    /// What proves who asks.
    pub(crate) credentials: Credentials<'r>,
    /// What the client can be asked for.
    pub(crate) declared: CapabilitySet,
    /// The client.
    pub(crate) peer: &'r dyn Peer,
}

/// How such a request ended.
#[derive(Debug)]
pub(crate) enum Reply<T> {
    /// With what was asked for.
    Complete(T),
    /// With questions to the client, and the sealed state to send back with the answers.
    InputRequired { requests: Vec<(String, InputRequest)>, state: Option<String> },
}

/// An inquiry whose sender is known and whose state was opened.
pub(super) struct Opened<'r> {
    inquiry: Inquiry<'r>,
    principal: Arc<Principal>,
    _places: Places,
    state: Option<Vec<u8>>,
    method: &'static str,
    input: Digest,
    deadline: Instant,
    questions_max: usize,
}

impl Endpoint {
    /// Finds out who asks and opens the state. `method` binds the state to this kind of request.
    pub(super) async fn open_inquiry<'r>(
        &self,
        published: &Published,
        method: &'static str,
        inquiry: Inquiry<'r>,
        mut usage: Option<&mut Usage<'_>>,
    ) -> Result<Opened<'r>, Fault> {
        // The scopes that all must have are asked for with those of what is used.
        let principal = Self::identify(published, inquiry.credentials).await?;
        if let Some(usage) = &mut usage {
            usage.authenticated(&principal);
        }
        let places = self.pipeline().admit(&published.gate, &principal)?;
        let mut input = DigestBuilder::new("callgate/inquiry/1");
        input.field("method", method).field("name", inquiry.name).json("arguments", inquiry.arguments);
        let input = input.finish();
        if let Some(usage) = &mut usage {
            usage.asked(input);
        }
        let state = match inquiry.request_state {
            None => None,
            Some(sealed) => {
                let binding = binding(&principal, method, input);
                let opened = published.gate.keys.open(&binding, sealed, &**self.pipeline().clock());
                Some(opened.map_err(|_| {
                    Refusal::new(Code::InvalidState, "requestState is not valid for this request")
                })?)
            }
        };
        let limits = &published.gate.limits;
        let deadline = Instant::now() + limits.call_timeout;
        Ok(Opened {
            inquiry,
            principal,
            _places: places,
            state,
            method,
            input,
            deadline,
            questions_max: limits.questions,
        })
    }

    /// Turns the end of a handler into a reply.
    pub(super) fn close_inquiry<T>(
        &self,
        published: &Published,
        opened: &Opened<'_>,
        exchange: Noted,
        result: Result<T, ToolError>,
    ) -> Result<Reply<T>, Fault> {
        let error = match result {
            Ok(value) => return Ok(Reply::Complete(value)),
            Err(error) => error,
        };
        match error.0 {
            Kind::Refused(refusal) => {
                if let Some(detail) = refusal.detail() {
                    let code = refusal.code().as_str();
                    tracing::warn!(method = opened.method, code, detail, "a request failed");
                }
                Err(Fault::Refused(refusal))
            }
            Kind::NotFound => Err(Fault::UnknownResource(opened.inquiry.name.to_owned())),
            Kind::Waiting => {
                let state = exchange.state.map(|state| self.seal(published, opened, &state)).transpose()?;
                Ok(Reply::InputRequired { requests: exchange.questions, state })
            }
        }
    }

    /// Records how a read or a rendering ended. A result whose record was not written does not leave.
    pub(super) async fn settle<T>(
        usage: Usage<'_>,
        reply: Result<Reply<T>, Fault>,
    ) -> Result<Reply<T>, Fault> {
        let complete = match &reply {
            Ok(Reply::InputRequired { .. }) => ResultKind::InputRequired,
            _ => ResultKind::Complete,
        };
        let recorded = usage.end(complete, reply.as_ref().err().map(Fault::recorded)).await;
        match (reply, recorded) {
            (Ok(_), Err(unavailable)) => Err(unavailable.into()),
            (reply, _) => reply,
        }
    }

    fn seal(&self, published: &Published, opened: &Opened<'_>, state: &[u8]) -> Result<String, Fault> {
        let limits = &published.gate.limits;
        if state.len() > limits.state_bytes {
            let public = "more state was kept than the limit allows";
            return Err(Refusal::new(Code::ToolFailed, public).into());
        }
        let binding = binding(&opened.principal, opened.method, opened.input);
        let (clock, entropy) = (&**self.pipeline().clock(), &**self.pipeline().entropy());
        published.gate.keys.seal(&binding, state, limits.state_lifetime, clock, entropy).map_err(|error| {
            Refusal::new(Code::Internal, "the state of the request could not be sealed")
                .with_detail(error)
                .into()
        })
    }
}

impl Opened<'_> {
    /// Who asks.
    pub(super) fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(super) fn exchange<'x>(&'x self, keeping: Keeping<'x>) -> Exchange<'x> {
        Exchange {
            keeping,
            method: self.method,
            principal: &self.principal,
            peer: self.inquiry.peer,
            declared: self.inquiry.declared,
            responses: self.inquiry.input_responses,
            state: self.state.as_deref(),
            deadline: self.deadline,
            questions_max: self.questions_max,
            noted: Mutex::new(Noted::default()),
            cancellation: OnceLock::new(),
        }
    }

    /// Runs a handler until it ends or its time is over.
    pub(super) async fn run<T>(
        &self,
        handler: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        match timeout_at(self.deadline, AssertUnwindSafe(handler).catch_unwind()).await {
            Ok(Ok(result)) => result,
            Ok(Err(_panic)) => {
                let refusal = Refusal::new(Code::ToolPanicked, "the handler stopped unexpectedly");
                Err(ToolError::refused(refusal.with_detail("a panic")))
            }
            Err(_elapsed) => {
                Err(ToolError::refused(Refusal::new(Code::Timeout, "the handler did not finish in time")))
            }
        }
    }
}

impl Exchange<'_> {
    pub(super) fn into_noted(self) -> Noted {
        self.noted.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn binding<'b>(principal: &'b Principal, method: &'b str, input: Digest) -> Binding<'b> {
    Binding { purpose: "state", principal, subject: method, contract: None, input: Some(input) }
}
