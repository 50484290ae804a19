//! The header fields that matter, found in one pass over the head of a request.
//!
//! It must never fold two fields of one name into one. The service reads the front part before it
//! looks at the body, the exchange the protocol part after.

use callgate_core::call::{Header, MirroredHeaders};
use callgate_core::port::Authorization;
use http::{HeaderMap, HeaderValue};

/// A field as it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Field<'h> {
    /// Not at all.
    #[default]
    Absent,
    /// Once.
    One(&'h HeaderValue),
    /// More than once.
    Several,
}

impl<'h> Field<'h> {
    fn add(&mut self, value: &'h HeaderValue) {
        *self = match self {
            Self::Absent => Self::One(value),
            Self::One(_) | Self::Several => Self::Several,
        };
    }

    /// True when it was sent at all.
    pub(super) fn is_present(self) -> bool {
        !matches!(self, Self::Absent)
    }
}

/// What the transport itself decides on.
#[derive(Debug, Default)]
pub(super) struct Front<'h> {
    pub(super) host: Field<'h>,
    pub(super) origin: Field<'h>,
    pub(super) content_type: Field<'h>,
    pub(super) content_encoding: Field<'h>,
    pub(super) accepts: Accepts,
    pub(super) session: Field<'h>,
    /// True when a proxy says that it sent the request on for somebody.
    pub(super) is_forwarded: bool,
}

impl<'h> Front<'h> {
    pub(super) fn of(headers: &'h HeaderMap) -> Self {
        let mut front = Self::default();
        let mut accept_was_sent = false;
        let mut weighed = Weighed::default();
        for (name, value) in headers {
            match name.as_str() {
                "host" => front.host.add(value),
                "origin" => front.origin.add(value),
                "content-type" => front.content_type.add(value),
                "content-encoding" => front.content_encoding.add(value),
                "accept" => {
                    accept_was_sent = true;
                    weighed.add(value.as_bytes());
                }
                "mcp-session-id" => front.session.add(value),
                "forwarded" | "via" | "x-forwarded-for" | "x-forwarded-host" | "x-forwarded-proto"
                | "x-real-ip" => front.is_forwarded = true,
                _ => {}
            }
        }
        front.accepts = match accept_was_sent {
            true => weighed.accepts(),
            // A client that names nothing takes anything (RFC 9110, section 12.5.1).
            false => Accepts { json: true, events: true },
        };
        front
    }

    /// True for `application/json`, whatever its parameters, unless they name another charset.
    pub(super) fn is_json(&self) -> bool {
        let Field::One(value) = self.content_type else { return false };
        let Ok(text) = value.to_str() else { return false };
        if text == "application/json" {
            return true;
        }
        let (kind, parameters) = text.split_once(';').unwrap_or((text, ""));
        kind.trim().eq_ignore_ascii_case("application/json")
            && parameters.split(';').filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
                !name.trim().eq_ignore_ascii_case("charset")
                    || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            })
    }

    /// True when the body is sent as it is.
    pub(super) fn is_plain(&self) -> bool {
        match self.content_encoding {
            Field::Absent => true,
            Field::One(value) => value.as_bytes().eq_ignore_ascii_case(b"identity"),
            Field::Several => false,
        }
    }
}

/// The kinds of answer that a client takes.
///
/// The specification tells clients to name both. A client that names one is served with that one: if
/// it takes no events, it hears no notifications before the result; if it takes events only, each
/// answer is an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

/// What is known of each kind so far. The most exact range that covers a kind decides on it (RFC 9110, section
/// 12.5.1): twice the exactness, and one more where the kind is wanted.
#[derive(Clone, Copy, Default)]
struct Weighed {
    json: u8,
    events: u8,
}

const EVERYTHING: u8 = 2;
const FAMILY: u8 = 4;
const KIND: u8 = 6;

impl Weighed {
    fn accepts(self) -> Accepts {
        Accepts { json: self.json % 2 == 1, events: self.events % 2 == 1 }
    }

    fn add(&mut self, value: &[u8]) {
        if value == b"application/json, text/event-stream" {
            *self = Self { json: KIND + 1, events: KIND + 1 };
            return;
        }
        let Ok(text) = std::str::from_utf8(value) else { return };
        for range in text.split(',') {
            let mut parts = range.split(';');
            let kind = parts.next().unwrap_or_default().trim();
            let refused = parts.any(|parameter| {
                let (name, weight) = parameter.split_once('=').unwrap_or_default();
                let weight = weight.trim();
                name.trim().eq_ignore_ascii_case("q")
                    && weight.starts_with('0')
                    && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
            });
            let is = |name: &str| kind.eq_ignore_ascii_case(name);
            let weigh = |of_kind: bool, of_family: bool| match (of_kind, of_family, is("*/*")) {
                (true, ..) => KIND + u8::from(!refused),
                (_, true, _) => FAMILY + u8::from(!refused),
                (.., true) => EVERYTHING + u8::from(!refused),
                _ => 0,
            };
            self.json = self.json.max(weigh(is("application/json"), is("application/*")));
            self.events = self.events.max(weigh(is("text/event-stream"), is("text/*")));
        }
    }
}

/// What the protocol decides on.
#[derive(Debug, Default)]
pub(super) struct Mirrors<'h> {
    pub(super) version: Field<'h>,
    pub(super) method: Field<'h>,
    pub(super) name: Field<'h>,
    pub(super) session: Field<'h>,
    pub(super) authorization: Field<'h>,
}

impl<'h> Mirrors<'h> {
    pub(super) fn of(headers: &'h HeaderMap) -> Self {
        let mut mirrors = Self::default();
        for (name, value) in headers {
            match name.as_str() {
                "mcp-protocol-version" => mirrors.version.add(value),
                "mcp-method" => mirrors.method.add(value),
                "mcp-name" => mirrors.name.add(value),
                "mcp-session-id" => mirrors.session.add(value),
                "authorization" => mirrors.authorization.add(value),
                _ => {}
            }
        }
        mirrors
    }

    /// The `Authorization` header.
    pub(super) fn authorization(&self) -> Authorization<'h> {
        match self.authorization {
            Field::Absent => Authorization::Absent,
            Field::One(value) => value.to_str().map_or(Authorization::Malformed, Authorization::One),
            Field::Several => Authorization::Malformed,
        }
    }
}

/// The mirrored parameters of a request, for the gate.
#[derive(Debug)]
pub(super) struct Parameters<'h>(pub(super) &'h HeaderMap);

impl MirroredHeaders for Parameters<'_> {
    fn header(&self, name: &str) -> Header<'_> {
        let mut values = self.0.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Header::Absent,
            (Some(value), None) => Header::One(value.as_bytes()),
            (Some(_), Some(_)) => Header::Several,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_range_decides_on_a_kind() {
        for (values, json, events) in [
            (&["application/json, text/event-stream"][..], true, true),
            (&["*/*"], true, true),
            (&["*/*, text/event-stream;q=0"], true, false),
            (&["text/event-stream; q=0.0, */*;q=0.1"], true, false),
            (&["*/*", "text/event-stream;q=0"], true, false),
            (&["text/*;q=0, text/event-stream"], false, true),
            (&["*/*;q=0, application/*"], true, false),
            (&["application/*;q=0, application/json;q=0.001"], true, false),
            (&["text/html"], false, false),
            (&["text/html;q=0, */*;q=1"], true, true),
            (&["*/*;q="], true, true),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("accept", HeaderValue::from_static(value));
            }
            assert_eq!(Front::of(&headers).accepts, Accepts { json, events }, "{values:?}");
        }
        assert_eq!(Front::of(&HeaderMap::new()).accepts, Accepts { json: true, events: true });
    }
}
