//! `resources/read` and `prompts/get`.
//!
//! Both may ask the client for input. What does not exist is an error of the parameters, and never an
//! empty result.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_core::artifact::is_artifact;
use callgate_core::offer::OfferKind;
use callgate_core::port::Peer;
use callgate_core::usage::Usage;
use callgate_protocol::Request;
use callgate_protocol::json::{Document, Kind, Value, push_string};
use callgate_protocol::meta::RequestMeta;

use super::list::{CacheScope, push_cache};
use super::params::CallParams;
use super::{Answered, Endpoint, Fault, From, Inquiry, Published, Reply, declared};
use crate::context::Context;
use crate::prompt::{Messages, Prompt};
use crate::resource::to_uri;
use crate::respond;

const READ: &str = "resources/read";
const GET: &str = "prompts/get";
/// What the record of the read of an artifact names; which one it was is in the digest.
const ARTIFACT: &str = "artifact";
/// What is said of a prompt that does not exist, or that the caller may not know.
pub(super) const UNKNOWN_PROMPT: &str = "unknown prompt";

/// The contents of a resource.
#[derive(Debug)]
pub(crate) struct Read {
    /// One JSON array.
    pub(crate) contents: String,
    pub(crate) ttl_ms: u64,
}

impl Endpoint {
    /// Reads a resource.
    pub(crate) async fn read_resource(
        &self,
        published: &Published,
        inquiry: Inquiry<'_>,
    ) -> Result<Reply<Read>, Fault> {
        let transport = inquiry.credentials.transport;
        let mut usage = self.pipeline().usage(&published.gate, READ, inquiry.name, transport)?;
        let reply = self.read_recorded(published, inquiry, &mut usage).await;
        Self::settle(usage, reply).await
    }

    async fn read_recorded(
        &self,
        published: &Published,
        inquiry: Inquiry<'_>,
        usage: &mut Usage<'_>,
    ) -> Result<Reply<Read>, Fault> {
        let opened = self.open_inquiry(published, READ, inquiry, Some(usage)).await?;
        let uri = &*to_uri(inquiry.name);
        if is_artifact(uri) {
            // Policies are asked when it is made; it is given to its owner alone.
            published.gate.check_required_scopes(opened.principal(), &[])?;
            usage.begins(ARTIFACT);
            return Ok(Reply::Complete(self.read_artifact(published, opened.principal(), uri).await?));
        }
        let unknown = || Fault::UnknownResource(uri.to_owned());
        let Some(found) = published.resources.find(uri) else {
            let none = BTreeMap::new();
            let refused = usage.permit(opened.principal(), OfferKind::Resource, None, &none).await;
            return Err(refused.err().map_or_else(unknown, |why| Fault::of(why, unknown)));
        };
        let (kind, name) = found.offered;
        let permitted = usage.permit(opened.principal(), kind, Some(name), found.variables()).await;
        permitted.map_err(|why| Fault::of(why, unknown))?;
        let mime_type = found.mime_type;
        let exchange = opened.exchange(self.pipeline().keeping(&published.gate));
        let result = opened.run(async { found.act(Context::of_exchange(&exchange)).await }).await;
        let result = result.map(|contents| Read {
            contents: contents.to_json(uri, mime_type),
            ttl_ms: u64::try_from(contents.ttl.as_millis()).unwrap_or(u64::MAX),
        });
        self.close_inquiry(published, &opened, exchange.into_noted(), result)
    }

    /// Renders a prompt.
    pub(crate) async fn get_prompt(
        &self,
        published: &Published,
        inquiry: Inquiry<'_>,
    ) -> Result<Reply<Messages>, Fault> {
        let transport = inquiry.credentials.transport;
        let mut usage = self.pipeline().usage(&published.gate, GET, inquiry.name, transport)?;
        let reply = self.prompt_recorded(published, inquiry, &mut usage).await;
        Self::settle(usage, reply).await
    }

    async fn prompt_recorded(
        &self,
        published: &Published,
        inquiry: Inquiry<'_>,
        usage: &mut Usage<'_>,
    ) -> Result<Reply<Messages>, Fault> {
        let opened = self.open_inquiry(published, GET, inquiry, Some(usage)).await?;
        let unknown = || Fault::NotFound(UNKNOWN_PROMPT);
        let prompt = published.prompt(inquiry.name);
        let name = prompt.map(|prompt| prompt.name());
        let chosen = texts(inquiry.arguments);
        let permitted = usage.permit(opened.principal(), OfferKind::Prompt, name, &chosen).await;
        permitted.map_err(|why| Fault::of(why, unknown))?;
        let prompt = prompt.ok_or_else(unknown)?;
        let arguments = prompt_arguments(prompt, inquiry.arguments)?;
        let exchange = opened.exchange(self.pipeline().keeping(&published.gate));
        let result = opened.run(async { prompt.act(Context::of_exchange(&exchange), arguments).await }).await;
        self.close_inquiry(published, &opened, exchange.into_noted(), result)
    }

    pub(super) async fn answer_read(
        &self,
        published: &Published,
        request: &Request,
        meta: &RequestMeta<'_>,
        from: From<'_>,
        peer: &dyn Peer,
    ) -> Result<Answered, Fault> {
        let mut params = CallParams::read_by("uri", request.params())?;
        params.arguments = Document::empty_object().root();
        let reply = self.read_resource(published, inquiry(&params, meta, from, peer)).await?;
        Ok(respond::to_inquiry(request.id(), published, reply, |out, read| {
            out.push_str(",\"contents\":");
            out.push_str(&read.contents);
            push_cache(out, read.ttl_ms, CacheScope::Private);
        }))
    }

    pub(super) async fn answer_prompt(
        &self,
        published: &Published,
        request: &Request,
        meta: &RequestMeta<'_>,
        from: From<'_>,
        peer: &dyn Peer,
    ) -> Result<Answered, Fault> {
        let params = CallParams::read(request.params())?;
        let reply = self.get_prompt(published, inquiry(&params, meta, from, peer)).await?;
        Ok(respond::to_inquiry(request.id(), published, reply, |out, messages| {
            if let Some(description) = &messages.description {
                out.push_str(",\"description\":");
                push_string(out, description);
            }
            out.push_str(",\"messages\":");
            out.push_str(&messages.to_json());
        }))
    }
}

fn inquiry<'r>(
    params: &'r CallParams<'r>,
    meta: &RequestMeta<'_>,
    from: From<'r>,
    peer: &'r dyn Peer,
) -> Inquiry<'r> {
    Inquiry {
        name: &params.name,
        arguments: params.arguments,
        input_responses: params.input_responses,
        request_state: params.request_state.as_deref(),
        credentials: from.credentials,
        declared: declared(meta),
        peer,
    }
}

/// The arguments that are texts, for the policy; others are refused afterwards.
fn texts(arguments: Value<'_>) -> BTreeMap<String, String> {
    let pair = |(name, value): (Value<'_>, Value<'_>)| {
        Some((name.as_str()?.into_owned(), value.as_str()?.into_owned()))
    };
    arguments.members().filter_map(pair).collect()
}

/// The arguments as a document of their own: all that are required, and only strings.
fn prompt_arguments(prompt: &Prompt, arguments: Value<'_>) -> Result<Arc<Document>, Fault> {
    let is_text = |argument: Value<'_>| argument.kind() == Kind::String;
    if !arguments.members().all(|(_, argument)| is_text(argument)) {
        return Err(Fault::params("the arguments of a prompt must be strings"));
    }
    let missing: Vec<_> = prompt
        .arguments()
        .iter()
        .filter(|argument| argument.is_required && arguments.get(&argument.name).is_none())
        .map(|argument| argument.name.as_str())
        .collect();
    if !missing.is_empty() {
        return Err(Fault::params(format!("missing required argument: {}", missing.join(", "))));
    }
    // What was part of a message within the bounds is within them on its own.
    let own = Document::parse(arguments.raw(), &callgate_protocol::json::Limits::DEFAULT);
    own.map(Arc::new).map_err(|_| Fault::params("the arguments of the prompt are too large"))
}
