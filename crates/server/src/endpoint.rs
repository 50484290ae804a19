//! The methods of 2026-07-28, free of any transport: a decoded request in, one rendered message out.
//!
//! It must never read a socket, never keep anything about a client between two requests, and never
//! decide on a call itself: tool calls go through the pipeline of the gate. Both transports and the
//! compatibility profile call [`Endpoint::answer`] and [`Endpoint::listen`].

mod artifact;
mod compare;
mod complete;
pub(crate) mod cursor;
mod fault;
mod hub;
mod inquiry;
mod judge;
mod list;
mod listen;
mod params;
mod published;
mod read;
mod seen;

pub(crate) use hub::Opening;
pub(crate) use inquiry::Reply;
pub(crate) use list::{Entry, ListKind};
pub(crate) use listen::Subscription;
pub(crate) use published::{Identity, Parts, Published, RemoteCallers};

use std::fmt;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use bytes::Bytes;
use callgate_core::call::{Call, MirroredHeaders};
use callgate_core::invocation::{Capability, CapabilitySet};
use callgate_core::outcome::Settled;
use callgate_core::pipeline::Pipeline;
use callgate_core::port::{Credentials, Ledger, LogLevel, Peer, PeerError, SilentPeer};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::error::{push_error, push_result_start};
use callgate_protocol::json::Document;
use callgate_protocol::meta::{self, MetaError, RequestMeta};
use callgate_protocol::{ErrorCode, Id, Method, Request, Revision};

use crate::protection::Challenge;
use crate::respond;
use fault::Fault;
use hub::Hub;
use inquiry::Inquiry;

/// The revisions that are served to requests which carry their own metadata.
pub(crate) const MODERN: [Revision; 1] = [Revision::V2026_07_28];

/// One server, shared by all its transports.
pub(crate) struct Endpoint {
    pipeline: Pipeline,
    published: Arc<ArcSwap<Published>>,
    hub: Arc<Hub>,
    /// Held while a new snapshot is made from the one in force, so that no change is lost.
    updating: Mutex<()>,
}

/// Where a request came from.
#[derive(Clone, Copy)]
pub(crate) struct From<'r> {
    /// What proves who sent it.
    pub(crate) credentials: Credentials<'r>,
    /// The headers that mirror parameters, on a transport that has headers.
    pub(crate) headers: Option<&'r dyn MirroredHeaders>,
}

/// One whole JSON-RPC response: `text` followed by `rest`, one line without a newline.
#[derive(Debug)]
#[must_use]
pub(crate) struct Answered {
    /// The message, or its start.
    pub(crate) text: String,
    /// The end of the message where it is shared with other answers, such as a page of a list; empty
    /// otherwise.
    pub(crate) rest: Bytes,
    /// The HTTP status that fits.
    pub(crate) status: u16,
    /// What a caller has to do whose credential is refused; for the head of an HTTP response.
    pub(crate) challenge: Option<Box<Challenge>>,
}

impl Answered {
    /// A result whose text is complete.
    pub(crate) fn result(text: String) -> Self {
        Self { text, rest: Bytes::new(), status: 200, challenge: None }
    }

    /// An error with the status that the transport shows.
    pub(crate) fn error(
        id: Option<&Id>,
        code: ErrorCode,
        message: &str,
        data: Option<&str>,
        status: u16,
    ) -> Self {
        let mut text = String::with_capacity(128 + message.len() + data.map_or(0, str::len));
        push_error(&mut text, id, code, message, data);
        Self { text, rest: Bytes::new(), status, challenge: None }
    }

    /// The whole message as one text.
    pub(crate) fn into_text(mut self) -> String {
        if !self.rest.is_empty() {
            self.text.push_str(&String::from_utf8_lossy(&self.rest));
        }
        self.text
    }
}

impl Endpoint {
    pub(crate) fn new(pipeline: Pipeline, published: Published) -> Self {
        let hub = Arc::new(Hub::new(published.limits.subscriptions));
        let published = Arc::new(ArcSwap::from_pointee(published));
        Self { pipeline, published, hub, updating: Mutex::new(()) }
    }

    /// What is in force now. Taken once for each request.
    pub(crate) fn published(&self) -> Arc<Published> {
        self.published.load_full()
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// What is in force at any time, for what outlives a request.
    pub(super) fn shared(&self) -> &Arc<ArcSwap<Published>> {
        &self.published
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The lock for those who derive a new snapshot from the one in force.
    pub(crate) fn updating(&self) -> &Mutex<()> {
        &self.updating
    }

    /// Puts a new snapshot in force and tells those who listen which lists have changed for them. New listeners
    /// do not wait for that.
    pub(crate) fn publish(&self, published: Published) {
        let new = Arc::new(published);
        let old = self.published.swap(Arc::clone(&new));
        self.hub.changed(&old, &new);
    }

    /// Answers one request of 2026-07-28. `peer` receives notifications while it runs.
    ///
    /// Cancel safe as the pipeline is: dropped while a tool runs, the tool is stopped and the call is
    /// recorded. Never called for `subscriptions/listen`, which the transport opens with
    /// [`Endpoint::listen`].
    pub(crate) async fn answer(
        &self,
        request: &Request,
        meta: &RequestMeta<'_>,
        from: From<'_>,
        peer: &dyn Peer,
    ) -> Answered {
        let published = self.published();
        let id = request.id();
        if let Err(error) = meta.revision() {
            return Self::refuse_meta(id, &error);
        }
        let muted = Muted(peer);
        let peer = if published.offered.logging { peer } else { &muted };
        let result = match request.known_method() {
            Some(Method::ToolsCall) => return self.answer_call(&published, request, meta, from, peer).await,
            Some(Method::ToolsList) => self.answer_list(&published, ListKind::Tools, request, from).await,
            Some(Method::Discover) => self.answer_discover(&published, request, from).await,
            Some(Method::ResourcesList) if published.offered.resources => {
                self.answer_list(&published, ListKind::Resources, request, from).await
            }
            Some(Method::ResourcesTemplatesList) if published.offered.resources => {
                self.answer_list(&published, ListKind::Templates, request, from).await
            }
            Some(Method::PromptsList) if published.offered.prompts => {
                self.answer_list(&published, ListKind::Prompts, request, from).await
            }
            Some(Method::ResourcesRead) if published.offered.resources => {
                self.answer_read(&published, request, meta, from, peer).await
            }
            Some(Method::PromptsGet) if published.offered.prompts => {
                self.answer_prompt(&published, request, meta, from, peer).await
            }
            Some(Method::Complete) if published.offered.completions => {
                self.answer_complete(&published, request, meta, from, peer).await
            }
            _ => Err(Fault::UnknownMethod),
        };
        match result {
            Ok(answered) => answered,
            Err(fault @ Fault::Refused(_)) => fault.into_answer(id),
            // Whoever may not call here is not told what there is to call, nor how.
            Err(fault) => match Self::authenticate(&published, from.credentials).await {
                Ok(_) => fault.into_answer(id),
                Err(refusal) => respond::to_error(Some(id), &refusal),
            },
        }
    }

    /// The answer to a request whose metadata is missing, malformed or names another revision.
    pub(crate) fn refuse_meta(id: &Id, error: &MetaError) -> Answered {
        let data = error.data(&MODERN);
        Answered::error(Some(id), error.code(), &error.to_string(), data.as_deref(), 400)
    }

    /// Who sent a request that is no call of a tool, and has the scopes that all must have. The gate itself
    /// finds out who calls a tool.
    pub(crate) async fn authenticate(
        published: &Published,
        credentials: Credentials<'_>,
    ) -> Result<Arc<Principal>, Refusal> {
        let principal = Self::identify(published, credentials).await?;
        published.gate.check_required_scopes(&principal, &[])?;
        Ok(principal)
    }

    /// Who sent a request, whatever scopes that gives: for what decides about scopes afterwards.
    pub(crate) async fn identify(
        published: &Published,
        credentials: Credentials<'_>,
    ) -> Result<Arc<Principal>, Refusal> {
        let answer = published.gate.authenticate.authenticate(credentials);
        answer.within(published.gate.limits.port_timeout).await.unwrap_or_else(|_elapsed| {
            Err(Refusal::new(Code::IdentityUnavailable, "who calls could not be found out in time"))
        })
    }

    /// Takes one call of a tool through the gate.
    /// The ledger, which outlives each snapshot.
    pub(crate) fn ledger(&self) -> &Arc<dyn Ledger> {
        self.pipeline.ledger()
    }

    async fn call_tool(&self, published: &Published, call: &Call<'_>) -> Result<Settled, Refusal> {
        self.pipeline.call(&published.gate, call).await
    }

    /// Refuses a call that could not be read, through the gate, so that it is counted and recorded like any other.
    pub(crate) async fn refuse_call(
        &self,
        request: &Request,
        credentials: Credentials<'_>,
        code: Code,
        message: &str,
    ) -> Answered {
        let published = self.published();
        let name = request.params().and_then(|params| params.get("name")?.as_str()).unwrap_or_default();
        let mut call = Call::new(&name, Document::empty_object().root(), credentials, &SilentPeer);
        call.refused = Some((code, message));
        match self.call_tool(&published, &call).await {
            // As for every other method; the names of headers are no business of a model.
            Err(refusal) if refusal.code() == Code::HeaderMismatch => {
                Answered::error(Some(request.id()), ErrorCode::HeaderMismatch, message, None, 400)
            }
            settled => respond::to_call(request.id(), &published, settled),
        }
    }

    /// Ends all subscriptions with their closing result and takes no new ones.
    pub(crate) fn close(&self) {
        self.hub.close();
    }

    async fn answer_discover(
        &self,
        published: &Published,
        request: &Request,
        from: From<'_>,
    ) -> Result<Answered, Fault> {
        let principal = Self::authenticate(published, from.credentials).await?;
        let _places = self.pipeline().admit(&published.gate, &principal)?;
        Ok(shared(request.id(), published.discover(from.credentials.transport)))
    }

    async fn answer_call(
        &self,
        published: &Published,
        request: &Request,
        meta: &RequestMeta<'_>,
        from: From<'_>,
        peer: &dyn Peer,
    ) -> Answered {
        let params = match params::CallParams::read(request.params()) {
            Ok(params) => params,
            Err(fault) => {
                let expected = fault.of_call();
                return self.refuse_call(request, from.credentials, Code::MalformedCall, &expected).await;
            }
        };
        let mut call = Call::new(&params.name, params.arguments, from.credentials, peer);
        call.input_responses = params.input_responses;
        call.request_state = params.request_state.as_deref();
        call.headers = from.headers;
        call.meta = params.meta;
        call.declared = declared(meta);
        let settled = self.call_tool(published, &call).await;
        respond::to_call(request.id(), published, settled)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

/// An answer whose result object, with the end of the envelope, was rendered before.
fn shared(id: &Id, rest: Bytes) -> Answered {
    let mut text = String::with_capacity(64);
    push_result_start(&mut text, id);
    Answered { text, rest, status: 200, challenge: None }
}

/// What the client declared with this request, in the terms of the gate.
fn declared(meta: &RequestMeta<'_>) -> CapabilitySet {
    let set = meta.client_capabilities.set();
    let pairs = [
        (meta::Capability::ElicitationForm, Capability::ElicitationForm),
        (meta::Capability::ElicitationUrl, Capability::ElicitationUrl),
        (meta::Capability::Sampling, Capability::Sampling),
        (meta::Capability::SamplingTools, Capability::SamplingTools),
        (meta::Capability::Roots, Capability::Roots),
    ];
    pairs
        .into_iter()
        .filter(|(theirs, _)| set.contains(*theirs))
        .fold(CapabilitySet::NONE, |set, (_, ours)| set.with(ours))
}

/// A client to which no log message goes, because this server did not declare logging.
struct Muted<'p>(&'p dyn Peer);

impl Peer for Muted<'_> {
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.0.progress(progress, total, message);
    }

    fn log(&self, _level: LogLevel, _logger: Option<&str>, _data: &str) {}

    fn ask<'a>(
        &'a self,
        request: &'a callgate_core::invocation::InputRequest,
    ) -> Option<callgate_core::port::Answer<'a, Result<String, PeerError>>> {
        self.0.ask(request)
    }

    fn close_stream(&self) {
        self.0.close_stream();
    }
}
