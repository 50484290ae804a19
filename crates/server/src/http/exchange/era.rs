//! Which era a message over HTTP is of, and what is answered to one of no era that is served.
//!
//! The metadata of the message decides; headers only say what to expect of it. It must never take a header for what
//! the body does not say. The exchange asks it.

use callgate_protocol::error::push_error;
use callgate_protocol::meta::{Expectation, MetaError, is_modern};
use callgate_protocol::{ErrorCode, Id, Message, Method, Notification, Revision};
use http::StatusCode;

use super::super::head::{Field, Mirrors};
use super::Reply;
use crate::endpoint::MODERN;

/// Whose business a message is.
pub(super) enum PostedEra {
    /// A notification of the modern era: taken, and of no consequence over HTTP.
    Modern,
    /// The compatibility profile's.
    Legacy,
    /// Nobody's.
    Refused(Reply),
}

/// What the headers say about the era.
pub(super) fn expectation(mirrors: &Mirrors<'_>) -> Expectation {
    match revision(mirrors.version) {
        Named::Known(revision) if revision.is_modern() => Expectation::Modern,
        Named::Unknown if !mirrors.session.is_present() => Expectation::Modern,
        Named::Known(_) | Named::Unknown | Named::Nothing => Expectation::Any,
    }
}

/// The revision that the version header names.
enum Named {
    Nothing,
    Known(Revision),
    Unknown,
}

fn revision(version: Field<'_>) -> Named {
    match version {
        Field::Absent => Named::Nothing,
        Field::One(value) => {
            value.to_str().ok().and_then(Revision::of_name).map_or(Named::Unknown, Named::Known)
        }
        Field::Several => Named::Unknown,
    }
}

/// Without metadata the header alone says which version is spoken; one that is not served is the first thing
/// for the client to know, whatever else its request lacks.
pub(super) fn of_header(error: MetaError, mirrors: &Mirrors<'_>) -> MetaError {
    match (error, mirrors.version) {
        (MetaError::NoMeta, Field::One(value)) if matches!(revision(mirrors.version), Named::Unknown) => {
            let requested = String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
            MetaError::UnsupportedVersion { requested }
        }
        (error, _) => error,
    }
}

pub(super) fn notification_era(notification: &Notification, mirrors: &Mirrors<'_>) -> PostedEra {
    let params = notification.params();
    if !is_modern(params) && expectation(mirrors) == Expectation::Any {
        return PostedEra::Legacy;
    }
    let in_body = params
        .and_then(|params| params.path(["_meta", callgate_protocol::meta::PROTOCOL_VERSION]))
        .and_then(|version| version.as_str());
    let header = match mirrors.version {
        Field::One(value) => value.to_str().unwrap_or_default().trim_ascii(),
        Field::Absent | Field::Several => {
            let message = "Header mismatch: `MCP-Protocol-Version` must be sent once";
            return PostedEra::Refused(Reply::bad_request(ErrorCode::HeaderMismatch, message, None));
        }
    };
    if in_body.is_some_and(|version| version != header) {
        let message = "Header mismatch: `MCP-Protocol-Version` does not say what the body says";
        return PostedEra::Refused(Reply::bad_request(ErrorCode::HeaderMismatch, message, None));
    }
    if !Revision::of_name(header).is_some_and(Revision::is_modern) {
        let error = MetaError::UnsupportedVersion { requested: header.to_owned() };
        return PostedEra::Refused(refuse_meta(&error, None));
    }
    let method = notification.method();
    let differs = match mirrors.method {
        // Clients are told to send it with requests only.
        Field::Absent => false,
        Field::One(value) => value.as_bytes().trim_ascii() != method.as_bytes(),
        Field::Several => true,
    };
    if differs {
        let message = "Header mismatch: `Mcp-Method` does not say what the body says";
        return PostedEra::Refused(Reply::bad_request(ErrorCode::HeaderMismatch, message, None));
    }
    PostedEra::Modern
}

pub(super) fn refuse_meta(error: &MetaError, id: Option<&Id>) -> Reply {
    let mut text = String::new();
    let data = error.data(&MODERN);
    push_error(&mut text, id, error.code(), &error.to_string(), data.as_deref());
    Reply::Refused { status: StatusCode::BAD_REQUEST, text }
}

/// Refuses a message of an earlier era where none is served, and names what is.
pub(super) fn refuse_legacy(message: &Message) -> Reply {
    let Message::Request(request) = message else {
        let message = "Header mismatch: `MCP-Protocol-Version` must be sent once";
        return Reply::bad_request(ErrorCode::HeaderMismatch, message, None);
    };
    if request.method() == Method::Initialize.as_str() {
        let requested = request
            .params()
            .and_then(|params| params.get("protocolVersion")?.as_str())
            .map_or_else(String::new, std::borrow::Cow::into_owned);
        return refuse_meta(&MetaError::UnsupportedVersion { requested }, Some(request.id()));
    }
    let message = "Header mismatch: `MCP-Protocol-Version` is required";
    Reply::bad_request(ErrorCode::HeaderMismatch, message, Some(request.id()))
}
