//! A tool that is one request to a service: arguments in, what the response shows out.
//!
//! What may be sent was settled at load; here values are put in their places, each encoded so that it stays there.
//! The tenant and the principal come from the caller's identity, never from arguments, and nothing that the caller
//! sent to prove who it is reaches the service. Neither an address nor a word of the service gets into what a caller
//! reads of a failure, unless the file asks for the latter. The pipeline calls it.

use std::sync::Arc;

use bytes::Bytes;
use callgate_adapters::http::{End, Proof, Request, Response, Service, Statuses, proof};
use callgate_core::invocation::Invocation;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{Answer, Execute, Execution, Unresolved, Verdict};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use callgate_protocol::header::encode_value;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

mod failure;
mod render;
mod result;

pub(crate) use render::{Body, Header, Piece, Query, Segment, percent};
pub(crate) use result::{Field, Projection, Rows, Selection, Source, is_nullable};

use render::Values;

/// The longest trace state that is passed on: what the W3C asks of everybody.
const TRACE_STATE_BYTES: usize = 512;

/// What a tool does, as settled at load.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) path: Vec<Segment>,
    pub(crate) query: Vec<Query>,
    pub(crate) headers: Vec<(HeaderName, Header)>,
    pub(crate) body: Option<Body>,
    /// Whether inputs with `x-mcp-header` are sent on in their headers.
    pub(crate) forward_mirrored: bool,
    /// Whether the trace of a call is sent on.
    pub(crate) trace: bool,
    /// The header of the key by which the service does one thing once.
    pub(crate) idempotency: Option<HeaderName>,
    /// Whether the service is spoken to in the name of the caller.
    pub(crate) delegated: bool,
    pub(crate) success: Vec<u16>,
    pub(crate) nothing: Vec<u16>,
    pub(crate) statuses: Statuses,
    pub(crate) selection: Selection,
    /// Where in the body of a failure its message is.
    pub(crate) error: Option<Vec<String>>,
    /// How the service is asked about an effect.
    pub(crate) reconcile: Option<Reconcile>,
}

/// How a service is asked about an effect whose outcome is unknown.
#[derive(Debug)]
pub(crate) struct Reconcile {
    pub(crate) path: Vec<Segment>,
    pub(crate) query: Vec<Query>,
    /// The statuses with which it happened.
    pub(crate) happened: Vec<u16>,
    /// The statuses with which it did not happen and never will.
    pub(crate) absent: Vec<u16>,
}

/// A tool that is one request.
pub(crate) struct HttpTool {
    plan: Plan,
    service: Arc<Service>,
}

/// How a call ended without a result.
struct Ended {
    proof: Proof,
    refusal: Refusal,
    /// What the service says, for a tool whose file asks for it.
    message: Option<String>,
}

impl Ended {
    fn before(refusal: Refusal) -> Self {
        Self { proof: Proof::NotSent, refusal, message: None }
    }
}

impl HttpTool {
    pub(crate) fn new(plan: Plan, service: Arc<Service>) -> Self {
        Self { plan, service }
    }

    async fn run(&self, invocation: &Invocation<'_>) -> Result<String, Ended> {
        let request = self.request(invocation).map_err(Ended::before)?;
        let caller = match self.plan.delegated {
            true => Some(invocation.delegated().await.map_err(Ended::before)?),
            false => None,
        };
        match self.service.send(request, caller.as_ref()).await {
            Ok(response) => self.read(&response),
            Err(failure) => Err(Ended {
                proof: proof(End::Failed(&failure), &self.plan.statuses),
                refusal: failure::without_response(&failure),
                message: None,
            }),
        }
    }

    fn request(&self, invocation: &Invocation<'_>) -> Result<Request, Refusal> {
        let plan = &self.plan;
        let values = Values::of(invocation);
        let mut target = render::path(&plan.path, &values)?;
        render::query(&plan.query, &values, &mut target)?;
        let mut request = Request::new(plan.method.clone(), target, invocation.deadline());
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        for (name, header) in &plan.headers {
            if let Some(value) = render::header(header, &values)? {
                request.headers.insert(name.clone(), value);
            }
        }
        if plan.forward_mirrored {
            forward(invocation, &mut request.headers);
        }
        if plan.trace {
            trace(invocation, &mut request.headers);
        }
        if let (Some(name), Some(key)) = (&plan.idempotency, invocation.effect_key()) {
            request.headers.insert(name.clone(), render::value(&key.to_string(), "the idempotency key")?);
        }
        if let Some(body) = &plan.body {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = Some(Bytes::from(render::body(body, &values)?));
        }
        Ok(request)
    }

    /// Asks the service about an effect. What is no plain yes or no is no answer.
    async fn ask(&self, reconcile: &Reconcile, effect: &Unresolved<'_>) -> Verdict {
        let mut principal = Principal::new("");
        if let Some(tenant) = effect.tenant {
            principal = principal.with_tenant(tenant);
        }
        let values = Values::of_effect(&principal, effect.key);
        let target = render::path(&reconcile.path, &values).and_then(|mut target| {
            render::query(&reconcile.query, &values, &mut target)?;
            Ok(target)
        });
        let Ok(target) = target else { return Verdict::CannotTell };
        let mut request = Request::new(Method::GET, target, effect.deadline);
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        match self.service.send(request, None).await.map(|response| response.status.as_u16()) {
            Ok(status) if reconcile.happened.contains(&status) => Verdict::Happened(None),
            Ok(status) if reconcile.absent.contains(&status) => Verdict::DidNotHappen,
            Ok(status) => {
                tracing::warn!(call = %effect.call, status, "the service does not say what became of an effect");
                Verdict::CannotTell
            }
            Err(failure) => {
                tracing::warn!(call = %effect.call, %failure, "the service could not be asked about an effect");
                Verdict::CannotTell
            }
        }
    }

    fn read(&self, response: &Response) -> Result<String, Ended> {
        let plan = &self.plan;
        let status = response.status.as_u16();
        let is_success = match plan.success.is_empty() {
            true => (200..=299).contains(&status),
            false => plan.success.contains(&status),
        };
        if !is_success
            && plan.nothing.contains(&status)
            && let Some(empty) = plan.selection.empty()
        {
            return Ok(empty);
        }
        if !is_success {
            return Err(Ended {
                proof: match proof(End::Status(status), &plan.statuses) {
                    // The service says that it is done with something, but not with what this tool asks of it.
                    Proof::Done => Proof::Unknown,
                    other => other,
                },
                refusal: failure::of_status(response),
                message: plan.error.as_ref().and_then(|pointer| result::message(response, pointer)),
            });
        }
        let body = response.body.as_ref().map_err(|fault| Ended {
            proof: proof(End::Body(status, *fault), &plan.statuses),
            refusal: failure::of_body(*fault),
            message: None,
        })?;
        plan.selection.result(&response.headers, body).map_err(|malformed| Ended {
            proof: proof(End::Malformed(status), &plan.statuses),
            refusal: failure::malformed(&malformed),
            message: None,
        })
    }
}

/// Sends the mirrored parameters on: they are arguments that were checked against the header of the request.
fn forward(invocation: &Invocation<'_>, headers: &mut HeaderMap) {
    for parameter in invocation.contract().mirrored() {
        let path = parameter.path.iter().map(String::as_str);
        let Some(value) = invocation.arguments().path(path).filter(|value| !value.is_null()) else {
            continue;
        };
        let text = render::text(value).unwrap_or_default();
        let name = HeaderName::from_bytes(parameter.header.as_bytes());
        let value = HeaderValue::from_str(&encode_value(&text));
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.insert(name, value);
        }
    }
}

/// Names the trace to the service.
fn trace(invocation: &Invocation<'_>, headers: &mut HeaderMap) {
    let Some(context) = invocation.trace() else { return };
    if let Ok(parent) = HeaderValue::from_str(&context.parent) {
        headers.insert(HeaderName::from_static("traceparent"), parent);
        let state = context.state.filter(|state| state.len() <= TRACE_STATE_BYTES);
        if let Some(state) = state.and_then(|state| HeaderValue::from_str(&state).ok()) {
            headers.insert(HeaderName::from_static("tracestate"), state);
        }
    }
}

impl Execute for HttpTool {
    fn resolve<'a>(&'a self, effect: &'a Unresolved<'a>) -> Answer<'a, Verdict> {
        match &self.plan.reconcile {
            Some(reconcile) => Answer::later(self.ask(reconcile, effect)),
            None => Answer::now(Verdict::CannotTell),
        }
    }

    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        Answer::later(async move {
            let Ended { proof, refusal, message } = match self.run(invocation).await {
                Ok(result) => return Execution::Complete(ToolOutput::structured(result)),
                Err(ended) => ended,
            };
            // Where nobody knows what became of it, that comes before anything that the service says.
            let is_lost = proof == Proof::Unknown && invocation.contract().effect().changes_something();
            if let Some(message) = message.filter(|_| !is_lost) {
                let text = format!("{}. The service says: {message}", refusal.public());
                let output = ToolOutput::text(&text);
                return Execution::Complete(match proof {
                    Proof::NotSent | Proof::Refused => output.as_unchanged(),
                    Proof::Done | Proof::Unknown => output.as_error(),
                });
            }
            match proof {
                Proof::NotSent | Proof::Refused => Execution::NotDone(refusal),
                Proof::Done => Execution::Done(refusal),
                Proof::Unknown => Execution::Failed(refusal),
            }
        })
    }
}
