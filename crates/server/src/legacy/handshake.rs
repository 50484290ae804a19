//! `initialize`: which revision is spoken, what the client can be asked for, what the server offers.
//!
//! It must never agree on a revision that is not served on the transport, and never note a capability that
//! the client did not declare or that its revision does not have.

use callgate_protocol::error::{push_result_end, push_result_start};
use callgate_protocol::json::{Document, Kind, Value, push_string};
use callgate_protocol::meta::{Capability, ClientCapabilities};
use callgate_protocol::{ErrorCode, Request, Revision};

use super::render::{IMPLEMENTATION, SERVER_CAPABILITIES, push_object};
use super::{LegacyLimits, Session, exchange};
use crate::endpoint::{Answered, Endpoint, From};
use crate::respond;

/// The largest `clientInfo` that is kept; a longer one is not needed for anything.
const CLIENT_INFO_BYTES: usize = 512;

impl Session {
    /// Greets a client. `floor` is the oldest revision that the transport serves.
    ///
    /// # Errors
    /// The answer that refuses the request.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        request: &Request,
        from: From<'_>,
        floor: Revision,
        limits: LegacyLimits,
    ) -> Result<(Self, String), Answered> {
        let id = request.id();
        let published = endpoint.published();
        let admitted = match Endpoint::authenticate(&published, from.credentials).await {
            Ok(principal) => endpoint.pipeline().admit(&published.gate, &principal),
            Err(refusal) => Err(refusal),
        };
        let _places = admitted.map_err(|refusal| respond::to_error(Some(id), &refusal))?;
        let hello = Hello::read(request).map_err(|expected| {
            let message = format!("Invalid params: {expected}");
            Answered::error(Some(id), ErrorCode::InvalidParams, &message, None, 400)
        })?;
        let revision = negotiate(&hello.version, floor);
        let mut text = String::with_capacity(512);
        push_result_start(&mut text, id);
        text.push_str("{\"protocolVersion\":");
        push_string(&mut text, revision.as_str());
        text.push_str(",\"capabilities\":");
        push_table(&mut text, &published.capabilities, revision, SERVER_CAPABILITIES);
        text.push_str(",\"serverInfo\":");
        push_table(&mut text, &published.identity.rendered, revision, IMPLEMENTATION);
        if let Some(instructions) = &published.instructions {
            text.push_str(",\"instructions\":");
            push_string(&mut text, instructions);
        }
        text.push('}');
        push_result_end(&mut text);
        let capabilities = declared(hello.capabilities, revision);
        let info = hello.info.raw();
        let client_info = (info.len() <= CLIENT_INFO_BYTES).then(|| info.to_owned());
        Ok((Self::new(revision, capabilities, client_info, limits), text))
    }
}

/// What a client says in `initialize`.
struct Hello<'r> {
    version: std::borrow::Cow<'r, str>,
    capabilities: ClientCapabilities<'r>,
    info: Value<'r>,
}

impl<'r> Hello<'r> {
    fn read(request: &'r Request) -> Result<Self, &'static str> {
        let params = request.params().ok_or("`params` is required")?;
        let version = params
            .get("protocolVersion")
            .and_then(Value::as_str)
            .ok_or("`protocolVersion` must be a string")?;
        let capabilities = params
            .get("capabilities")
            .and_then(ClientCapabilities::read)
            .ok_or("`capabilities` must be an object of objects")?;
        let info = params
            .get("clientInfo")
            .filter(|info| info.kind() == Kind::Object)
            .ok_or("`clientInfo` must be an object")?;
        let has = |member| info.get(member).is_some_and(|value| value.kind() == Kind::String);
        if !has("name") || !has("version") {
            return Err("`clientInfo` must have a `name` and a `version`");
        }
        Ok(Self { version, capabilities, info })
    }
}

/// "If the server supports the requested protocol version, it MUST respond with the same version. Otherwise,
/// the server MUST respond with another protocol version it supports. This SHOULD be the latest version
/// supported by the server":
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation>
fn negotiate(requested: &str, floor: Revision) -> Revision {
    Revision::of_name(requested)
        .filter(|revision| !revision.is_modern() && *revision >= floor)
        .unwrap_or(Revision::LATEST_LEGACY)
}

/// The declared capabilities, as far as the revision has them and a server can use them.
fn declared(capabilities: ClientCapabilities<'_>, revision: Revision) -> String {
    let has = |capability, since| revision >= since && capabilities.contains(capability);
    let mut members = Vec::new();
    let form = has(Capability::ElicitationForm, Revision::V2025_06_18);
    let url = has(Capability::ElicitationUrl, Revision::V2025_11_25);
    // What 2025-06-18 declared is a form, whatever else stands in the object.
    let form = form || (revision == Revision::V2025_06_18 && has(Capability::ElicitationUrl, revision));
    match (form, url) {
        (true, true) => members.push(r#""elicitation":{"form":{},"url":{}}"#),
        (true, false) => members.push(r#""elicitation":{"form":{}}"#),
        (false, true) => members.push(r#""elicitation":{"url":{}}"#),
        (false, false) => {}
    }
    if has(Capability::SamplingTools, Revision::V2025_11_25) {
        members.push(r#""sampling":{"tools":{}}"#);
    } else if has(Capability::Sampling, Revision::V2024_11_05) {
        members.push(r#""sampling":{}"#);
    }
    if has(Capability::Roots, Revision::V2024_11_05) {
        members.push(r#""roots":{}"#);
    }
    format!("{{{}}}", members.join(","))
}

/// Appends an object of ours as the revision has it.
fn push_table(out: &mut String, json: &str, revision: Revision, table: super::render::Table) {
    match Document::parse(json, &exchange::OURS) {
        Ok(document) => push_object(out, document.root(), revision, table),
        // The server rendered it itself; an empty object is valid everywhere.
        Err(_) => out.push_str("{}"),
    }
}
