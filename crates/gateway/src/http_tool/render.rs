//! Values in their places: in a segment of the path, in the query, in a header, in the body.
//!
//! A value must never end where it stands and begin something else: another segment, another parameter, another
//! header. What cannot be made safe is refused by the name of the argument, and its value is never shown. The HTTP
//! tool calls it.

use std::borrow::Cow;
use std::fmt::Write as _;

use callgate_core::invocation::Invocation;
use callgate_core::port::EffectKey;
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{Document, Kind, Value, push_string};
use http::header::HeaderValue;

/// The longest value of a header.
const HEADER_BYTES: usize = 4096;

/// Texts and values, one after another.
pub(crate) type Text = Vec<Piece>;

/// A piece of a text.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// A text that stands for itself, encoded for its place.
    Literal(String),
    /// The value of an input.
    Argument(String),
    /// The tenant of the caller.
    Tenant,
    /// Who calls.
    Principal,
    /// The key by which the service knows the effect.
    Key,
}

/// A segment of a path.
pub(crate) type Segment = Text;

/// A parameter of a query.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Its name, encoded.
    pub(crate) name: String,
    pub(crate) text: Text,
}

/// The value of a header.
#[derive(Clone, Debug)]
pub(crate) enum Header {
    /// The same for each call.
    Constant(HeaderValue),
    /// With values in it.
    Text(Text),
}

/// A JSON body with places for values.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A value as it is sent.
    Literal(String),
    /// One value as it was sent.
    Value(Piece),
    /// A string with values in it.
    Text(Text),
    /// An array.
    Items(Vec<Self>),
    /// An object.
    Members(Vec<(String, Self)>),
}

/// The values of one call.
pub(crate) struct Values<'c> {
    arguments: Value<'c>,
    principal: &'c Principal,
    key: Option<EffectKey>,
}

impl<'c> Values<'c> {
    /// Those of a question about an effect: there is no call, so there are no arguments.
    pub(crate) fn of_effect(principal: &'c Principal, key: EffectKey) -> Self {
        Self { arguments: Document::empty_object().root(), principal, key: Some(key) }
    }

    pub(crate) fn of(invocation: &Invocation<'c>) -> Self {
        Self {
            arguments: invocation.arguments(),
            principal: invocation.principal(),
            key: invocation.effect_key(),
        }
    }

    /// An argument that was given and is not null.
    fn argument(&self, name: &str) -> Option<Value<'c>> {
        self.arguments.get(name).filter(|value| !value.is_null())
    }

    fn tenant(&self) -> Result<&'c str, Refusal> {
        let none = || Refusal::new(Code::Forbidden, "the tool needs a caller with a tenant");
        self.principal.tenant.as_deref().ok_or_else(none)
    }

    /// The text of a piece, and what it is called; nothing for an argument that was not given.
    fn text<'p>(&self, piece: &'p Piece) -> Result<Option<(Cow<'c, str>, &'p str)>, Refusal>
    where
        'p: 'c,
    {
        Ok(match piece {
            Piece::Literal(text) => Some((Cow::Borrowed(text.as_str()), "")),
            Piece::Tenant => Some((Cow::Borrowed(self.tenant()?), "tenant")),
            Piece::Principal => Some((Cow::Borrowed(&*self.principal.subject), "principal")),
            Piece::Key => self.key.map(|key| (Cow::Owned(key.to_string()), "key")),
            Piece::Argument(name) => self.argument(name).and_then(text).map(|text| (text, name.as_str())),
        })
    }
}

/// A scalar as text: a string as it is, a whole number in one form, whatever form it was sent in.
pub(crate) fn text(value: Value<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        Kind::String => value.as_str(),
        Kind::Boolean => Some(Cow::Borrowed(value.raw())),
        Kind::Number => Some(match value.as_number().and_then(|number| number.to_i128()) {
            Some(whole) => Cow::Owned(whole.to_string()),
            None => Cow::Borrowed(value.raw()),
        }),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}

/// The path of a request.
pub(crate) fn path(segments: &[Segment], values: &Values<'_>) -> Result<String, Refusal> {
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        let mut plain = String::new();
        for piece in segment {
            let Some((text, name)) = values.text(piece)? else {
                return Err(unfit(name_of(piece), "it is missing"));
            };
            plain.push_str(&text);
            match piece {
                Piece::Literal(_) => path.push_str(&text),
                _ => {
                    // Many services decode a path before they look for its segments, some of them twice.
                    if text.is_empty() || text.contains(['/', '\\', '%']) || text.contains(char::is_control) {
                        let why = "it must not be empty or have a slash, a backslash, a percent sign or a control \
                                   character";
                        return Err(unfit(name, why));
                    }
                    push_percent(&mut path, &text);
                }
            }
        }
        if matches!(plain.as_str(), "." | "..") {
            let name = segment.iter().map(name_of).find(|name| !name.is_empty()).unwrap_or_default();
            return Err(unfit(name, "it must be more than dots"));
        }
    }
    Ok(path)
}

/// Appends the query of a request.
pub(crate) fn query(parameters: &[Query], values: &Values<'_>, target: &mut String) -> Result<(), Refusal> {
    let mut mark = '?';
    let mut push = |name: &str, text: &str| {
        target.push(mark);
        mark = '&';
        target.push_str(name);
        target.push('=');
        target.push_str(text);
    };
    for Query { name, text: pieces } in parameters {
        if let [Piece::Argument(argument)] = &pieces[..]
            && let Some(items) = values.argument(argument).filter(|value| value.kind() == Kind::Array)
        {
            for item in items.items() {
                let text = text(item)
                    .ok_or_else(|| unfit(argument, "its items must be texts, numbers or booleans"))?;
                push(name, &percent(&text));
            }
            continue;
        }
        let mut encoded = String::new();
        let mut is_whole = true;
        for piece in pieces {
            match (piece, values.text(piece)?) {
                (Piece::Literal(_), Some((text, _))) => encoded.push_str(&text),
                (_, Some((text, _))) => push_percent(&mut encoded, &text),
                (_, None) => is_whole = false,
            }
        }
        if is_whole {
            push(name, &encoded);
        }
    }
    Ok(())
}

/// The value of a header; nothing when a value in it was not given.
pub(crate) fn header(header: &Header, values: &Values<'_>) -> Result<Option<HeaderValue>, Refusal> {
    let pieces = match header {
        Header::Constant(value) => return Ok(Some(value.clone())),
        Header::Text(pieces) => pieces,
    };
    let mut whole = String::new();
    let mut named = "";
    for piece in pieces {
        let Some((text, name)) = values.text(piece)? else { return Ok(None) };
        if !name.is_empty() {
            named = name_of(piece);
        }
        whole.push_str(&text);
    }
    value(&whole, named).map(Some)
}

/// A text as the value of a header.
pub(crate) fn value(text: &str, name: &str) -> Result<HeaderValue, Refusal> {
    let visible = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    if !visible || text.trim() != text || text.len() > HEADER_BYTES {
        let why = "it must be of visible ASCII characters, without spaces at its ends, and not too long";
        return Err(unfit(name, why));
    }
    HeaderValue::from_str(text).map_err(|_| unfit(name, "it cannot stand in a header"))
}

/// The body of a request.
pub(crate) fn body(body: &Body, values: &Values<'_>) -> Result<String, Refusal> {
    let mut json = String::new();
    if !push_body(&mut json, body, values)? {
        json.push_str("null");
    }
    Ok(json)
}

/// Appends a part of a body. False, and nothing appended, for one whose value was not given.
fn push_body(json: &mut String, body: &Body, values: &Values<'_>) -> Result<bool, Refusal> {
    match body {
        Body::Literal(text) => json.push_str(text),
        Body::Value(Piece::Argument(name)) => match values.arguments.get(name) {
            // As it was sent: no digit changes.
            Some(value) => json.push_str(value.raw()),
            None => return Ok(false),
        },
        Body::Value(piece) => match values.text(piece)? {
            Some((text, _)) => push_string(json, &text),
            None => return Ok(false),
        },
        Body::Text(pieces) => {
            let mut whole = String::new();
            for piece in pieces {
                let Some((text, _)) = values.text(piece)? else { return Ok(false) };
                whole.push_str(&text);
            }
            push_string(json, &whole);
        }
        Body::Items(items) => {
            json.push('[');
            let start = json.len();
            for item in items {
                let before = json.len();
                if before > start {
                    json.push(',');
                }
                if !push_body(json, item, values)? {
                    json.truncate(before);
                }
            }
            json.push(']');
        }
        Body::Members(members) => {
            json.push('{');
            let start = json.len();
            for (name, member) in members {
                let before = json.len();
                if before > start {
                    json.push(',');
                }
                push_string(json, name);
                json.push(':');
                if !push_body(json, member, values)? {
                    json.truncate(before);
                }
            }
            json.push('}');
        }
    }
    Ok(true)
}

/// Encodes everything but unreserved characters (RFC 3986, section 2.3).
pub(crate) fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    push_percent(&mut encoded, text);
    encoded
}

fn push_percent(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

fn name_of(piece: &Piece) -> &str {
    match piece {
        Piece::Literal(_) => "",
        Piece::Argument(name) => name,
        Piece::Tenant => "tenant",
        Piece::Principal => "principal",
        Piece::Key => "key",
    }
}

/// A value that cannot stand where it is wanted. That of the caller's identity is not the model's to correct.
fn unfit(name: &str, why: &str) -> Refusal {
    match name {
        "tenant" | "principal" => {
            Refusal::new(Code::Forbidden, "the identity of the caller cannot be named to the service")
                .with_detail(format!("{name}: {why}"))
        }
        name => Refusal::new(Code::InvalidArguments, format!("`{name}` cannot be sent: {why}")),
    }
}

#[cfg(test)]
mod tests;
