//! The agreement of the standard mirrored headers with the body.
//!
//! Proxies route and decide by the headers, the server acts on the body; a difference between the two
//! would let a caller pass one thing at the proxy and do another here. So it must never compare an
//! encoded value, and never let a difference pass. The exchange calls it once for each modern request.

use callgate_protocol::header::{HeaderError, decode_value};
use callgate_protocol::meta::RequestMeta;
use callgate_protocol::{Method, Request};

use super::head::{Field, Mirrors};

/// A standard header that does not say what the body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    #[error("Header mismatch: `{0}` is required")]
    Missing(&'static str),
    #[error("Header mismatch: `{0}` must be sent once")]
    Repeated(&'static str),
    #[error("Header mismatch: `{0}` does not say what the body says")]
    Differs(&'static str),
    #[error("Header mismatch: `{0}`: {1}")]
    Malformed(&'static str, HeaderError),
}

const VERSION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

/// Checks the version header. It comes first: what else a request must carry is for its revision to say.
pub(super) fn check_version(mirrors: &Mirrors<'_>, meta: &RequestMeta<'_>) -> Result<(), Mismatch> {
    compare(VERSION, mirrors.version, &meta.protocol_version, Form::Literal)
}

/// Checks the method and, for methods that have one, the name.
pub(super) fn check_method_and_name(mirrors: &Mirrors<'_>, request: &Request) -> Result<(), Mismatch> {
    match request.known_method() {
        Some(method) => compare(METHOD, mirrors.method, method.as_str(), Form::Literal)?,
        None => compare(METHOD, mirrors.method, &request.method(), Form::Literal)?,
    }
    let Some(member) = request.known_method().and_then(Method::name_member) else { return Ok(()) };
    // A request without its name is refused by the method itself, as malformed.
    let Some(name) = request.params().and_then(|params| params.get(member)?.as_str()) else { return Ok(()) };
    compare(NAME, mirrors.name, &name, Form::Encoded)
}

/// How a value may be written in a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is.
    Literal,
    /// As it is, or as Base64 between markers.
    Encoded,
}

fn compare(header: &'static str, field: Field<'_>, body: &str, form: Form) -> Result<(), Mismatch> {
    let value = match field {
        Field::Absent => return Err(Mismatch::Missing(header)),
        Field::Several => return Err(Mismatch::Repeated(header)),
        Field::One(value) => value.as_bytes(),
    };
    let same = match form {
        Form::Literal => value.trim_ascii() == body.as_bytes(),
        Form::Encoded if is_plain(value) && value == body.as_bytes() => true,
        Form::Encoded => *decode_value(value).map_err(|error| Mismatch::Malformed(header, error))? == *body,
    };
    if same { Ok(()) } else { Err(Mismatch::Differs(header)) }
}

/// True for a value that stands for itself beyond doubt; nearly all do.
fn is_plain(value: &[u8]) -> bool {
    value.first().is_some_and(|first| first.is_ascii_alphanumeric())
        && value.last().is_some_and(u8::is_ascii_graphic)
        && value.is_ascii()
}
