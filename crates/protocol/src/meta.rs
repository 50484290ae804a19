//! The metadata that every 2026-07-28 request carries in `params._meta`, and the choice of era by it.
//!
//! It must never infer anything from an earlier request or from the method, and never treat
//! `clientInfo` as an identity. The server calls [`classify`] once for each request.

mod capability;
mod key;
#[cfg(test)]
mod tests;
mod trace;

use std::borrow::Cow;

use thiserror::Error;

pub use capability::{Capability, CapabilitySet, ClientCapabilities, push_required_capabilities};
pub use key::{is_extension_id, is_key, is_reserved};
pub use trace::{is_baggage, is_trace_parent, is_trace_state};

use crate::error::ErrorCode;
use crate::json::{Decimal, Kind, Value, push_string};
use crate::logging::LogLevel;
use crate::revision::Revision;

/// The `_meta` key of the revision that a request follows.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key of what the client can do for this request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The `_meta` key of the client's name and version.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The `_meta` key of the server's name and version, in results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The `_meta` key of the least severe log message that the client wants for this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The `_meta` key of the subscription that a notification or closing result belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The `_meta` key under which a client asks for progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The `_meta` key of the W3C trace parent.
pub const TRACE_PARENT: &str = "traceparent";
/// The `_meta` key of the W3C trace state.
pub const TRACE_STATE: &str = "tracestate";
/// The `_meta` key of the W3C baggage.
pub const BAGGAGE: &str = "baggage";

/// The era that a request belongs to.
#[derive(Clone, Debug)]
pub enum Era<'d> {
    /// It carries its own metadata: 2026-07-28.
    Modern(RequestMeta<'d>),
    /// It carries none and belongs to a session that `initialize` opened.
    Legacy,
}

/// What the transport knows about the era of a request before its body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Nothing: stdio, or HTTP without a version header or with a legacy one.
    Any,
    /// The `MCP-Protocol-Version` header names a revision with per-request metadata, or one that is
    /// unknown and no session is open, so that missing metadata is a fault.
    Modern,
}

/// Chooses the era by the presence of modern metadata, never by the method: an `initialize` that
/// carries modern metadata is a modern request (and then an unknown method).
///
/// # Errors
/// A modern request whose metadata is missing or malformed.
pub fn classify(params: Option<Value<'_>>, expectation: Expectation) -> Result<Era<'_>, MetaError> {
    if expectation == Expectation::Any && !is_modern(params) {
        return Ok(Era::Legacy);
    }
    RequestMeta::read(params).map(Era::Modern)
}

/// True when `params._meta` has a key that only 2026-07-28 defines for requests.
#[must_use]
pub fn is_modern(params: Option<Value<'_>>) -> bool {
    let Some(meta) = params.and_then(|params| params.get("_meta")) else { return false };
    let keys = Keys::of(meta);
    [keys.protocol_version, keys.client_capabilities, keys.client_info, keys.log_level]
        .iter()
        .any(Option::is_some)
}

/// The metadata of one modern request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestMeta<'d> {
    /// The revision as named by the client, served here or not.
    pub protocol_version: Cow<'d, str>,
    /// What the client can do for this request.
    pub client_capabilities: ClientCapabilities<'d>,
    /// The client's own account of itself; for logs only.
    pub client_info: Option<Value<'d>>,
    /// The token under which progress is wanted.
    pub progress_token: Option<ProgressToken<'d>>,
    /// The least severe log message wanted; without it none may be sent.
    pub log_level: Option<LogLevel>,
    /// The W3C trace parent, if it is well-formed.
    pub trace_parent: Option<Cow<'d, str>>,
    /// The W3C trace state, if it is well-formed and there is a trace parent.
    pub trace_state: Option<Cow<'d, str>>,
    /// The W3C baggage, if it is well-formed.
    pub baggage: Option<Cow<'d, str>>,
    /// The whole `_meta` object.
    pub raw: Value<'d>,
    revision: Option<Revision>,
}

impl<'d> RequestMeta<'d> {
    /// Reads the metadata.
    ///
    /// A request that names a revision which is not modern or not known is read no further than that
    /// name: what else it must carry is for that revision to say. Compare the header first, then call
    /// [`RequestMeta::revision`].
    ///
    /// # Errors
    /// The first required key that is missing, or the first key with a malformed value.
    pub fn read(params: Option<Value<'d>>) -> Result<Self, MetaError> {
        let raw = params.and_then(|params| params.get("_meta")).ok_or(MetaError::NoMeta)?;
        if raw.kind() != Kind::Object {
            return Err(MetaError::Malformed { key: "_meta", expected: "an object" });
        }
        let mut keys = Keys::of(raw);
        let protocol_version = keys
            .protocol_version
            .ok_or(MetaError::Missing(PROTOCOL_VERSION))?
            .as_str()
            .ok_or(MetaError::Malformed { key: PROTOCOL_VERSION, expected: "a string" })?;
        let revision = Revision::of_name(&protocol_version).filter(|revision| revision.is_modern());
        let known = revision.is_some();
        if !known {
            keys = Keys { protocol_version: keys.protocol_version, ..Keys::default() };
        }
        let client_capabilities = match keys.client_capabilities {
            Some(value) => ClientCapabilities::read(value)
                .ok_or(MetaError::Malformed { key: CLIENT_CAPABILITIES, expected: "an object of objects" })?,
            None if known => return Err(MetaError::Missing(CLIENT_CAPABILITIES)),
            None => ClientCapabilities::default(),
        };
        if keys.client_info.is_some_and(|info| info.kind() != Kind::Object) {
            return Err(MetaError::Malformed { key: CLIENT_INFO, expected: "an object" });
        }
        let trace_parent = keys.text(keys.trace_parent, is_trace_parent);
        let trace_state =
            if trace_parent.is_some() { keys.text(keys.trace_state, is_trace_state) } else { None };
        Ok(Self {
            protocol_version,
            client_capabilities,
            client_info: keys.client_info,
            progress_token: keys.progress_token.map(ProgressToken::read).transpose()?,
            log_level: keys.log_level.map(read_level).transpose()?,
            trace_parent,
            trace_state,
            baggage: keys.text(keys.baggage, is_baggage),
            raw,
            revision,
        })
    }

    /// The revision, if it is served without `initialize`.
    ///
    /// # Errors
    /// [`MetaError::UnsupportedVersion`] for any other name.
    pub fn revision(&self) -> Result<Revision, MetaError> {
        self.revision.ok_or_else(|| MetaError::UnsupportedVersion {
            requested: self.protocol_version.clone().into_owned(),
        })
    }
}

/// The keys of `_meta` that are understood here, found in one pass.
#[derive(Clone, Copy, Default)]
struct Keys<'d> {
    protocol_version: Option<Value<'d>>,
    client_capabilities: Option<Value<'d>>,
    client_info: Option<Value<'d>>,
    progress_token: Option<Value<'d>>,
    log_level: Option<Value<'d>>,
    trace_parent: Option<Value<'d>>,
    trace_state: Option<Value<'d>>,
    baggage: Option<Value<'d>>,
}

impl<'d> Keys<'d> {
    fn of(meta: Value<'d>) -> Self {
        let mut keys = Self::default();
        meta.each_member(|name, value| {
            let slot = if name == PROTOCOL_VERSION.as_bytes() {
                &mut keys.protocol_version
            } else if name == CLIENT_CAPABILITIES.as_bytes() {
                &mut keys.client_capabilities
            } else if name == CLIENT_INFO.as_bytes() {
                &mut keys.client_info
            } else if name == PROGRESS_TOKEN.as_bytes() {
                &mut keys.progress_token
            } else if name == LOG_LEVEL.as_bytes() {
                &mut keys.log_level
            } else if name == TRACE_PARENT.as_bytes() {
                &mut keys.trace_parent
            } else if name == TRACE_STATE.as_bytes() {
                &mut keys.trace_state
            } else if name == BAGGAGE.as_bytes() {
                &mut keys.baggage
            } else {
                return;
            };
            *slot = Some(value);
        });
        keys
    }

    /// The text of a W3C header, or nothing: a receiver must ignore a malformed one, not refuse it.
    fn text(&self, value: Option<Value<'d>>, is_valid: fn(&str) -> bool) -> Option<Cow<'d, str>> {
        value?.as_str().filter(|text| is_valid(text))
    }
}

fn read_level(value: Value<'_>) -> Result<LogLevel, MetaError> {
    value
        .as_str()
        .and_then(|name| LogLevel::of_name(&name))
        .ok_or(MetaError::Malformed { key: LOG_LEVEL, expected: LogLevel::EXPECTED })
}

/// A progress token: a string or a whole number, repeated exactly as received.
#[derive(Clone, Copy, Debug)]
pub struct ProgressToken<'d>(Value<'d>);

impl<'d> ProgressToken<'d> {
    /// Takes the token from its value.
    ///
    /// # Errors
    /// A token that is neither a string nor an integer.
    pub fn read(value: Value<'d>) -> Result<Self, MetaError> {
        let valid = match value.kind() {
            Kind::String => true,
            Kind::Number => value.as_number().is_some_and(Decimal::is_integer),
            _ => false,
        };
        if valid {
            Ok(Self(value))
        } else {
            Err(MetaError::Malformed { key: PROGRESS_TOKEN, expected: "a string or an integer" })
        }
    }

    /// Takes the token from the parameters of a request of any revision.
    ///
    /// # Errors
    /// As [`ProgressToken::read`].
    pub fn of_params(params: Option<Value<'d>>) -> Result<Option<Self>, MetaError> {
        params.and_then(|params| params.path(["_meta", PROGRESS_TOKEN])).map(Self::read).transpose()
    }

    /// The JSON text, exactly as received.
    #[must_use]
    pub fn as_json(self) -> &'d str {
        self.0.raw()
    }
}

/// Why the metadata of a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MetaError {
    /// There is no metadata at all.
    #[error(
        "Invalid params: `params._meta` is required, with `{PROTOCOL_VERSION}` and `{CLIENT_CAPABILITIES}`"
    )]
    NoMeta,
    /// A required key is missing.
    #[error("Invalid params: `{0}` is required in `params._meta`")]
    Missing(&'static str),
    /// A key has a value of the wrong form.
    #[error("Invalid params: `{key}` must be {expected}")]
    Malformed {
        /// The key.
        key: &'static str,
        /// What its value must be.
        expected: &'static str,
    },
    /// The revision is not served to requests of this era.
    #[error("Unsupported protocol version")]
    UnsupportedVersion {
        /// The name that was asked for.
        requested: String,
    },
}

impl MetaError {
    /// The code to answer with.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoMeta | Self::Missing(_) | Self::Malformed { .. } => ErrorCode::InvalidParams,
            Self::UnsupportedVersion { .. } => ErrorCode::UnsupportedProtocolVersion,
        }
    }

    /// The `data` member as JSON text: the supported and the requested revision.
    #[must_use]
    pub fn data(&self, supported: &[Revision]) -> Option<String> {
        let Self::UnsupportedVersion { requested } = self else { return None };
        let mut data = String::from("{\"supported\":[");
        for (at, revision) in supported.iter().enumerate() {
            if at > 0 {
                data.push(',');
            }
            push_string(&mut data, revision.as_str());
        }
        data.push_str("],\"requested\":");
        push_string(&mut data, requested);
        data.push('}');
        Some(data)
    }
}
