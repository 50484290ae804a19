//! The codec of mirrored HTTP headers, and the comparison of a header with the body.
//!
//! It must never compare an encoded value, and never accept Base64 that is not exactly what an encoder
//! would have written. The server's header checks and the client's request writer call it.

mod mirror;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

pub use mirror::{HeaderDefinitionFault, HeaderRule, MirroredKind, MirroredParameter, mirrored_parameters};

use crate::json::{Decimal, Kind, Value};

/// The header that names the revision.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The header that repeats `method`.
pub const METHOD: &str = "mcp-method";
/// The header that repeats the tool's or prompt's name or the resource's URI.
pub const NAME: &str = "mcp-name";
/// The start of the headers that repeat a parameter of a tool.
pub const PARAMETER_PREFIX: &str = "mcp-param-";

/// What stands before Base64 in a header value. Compared with regard to case.
const PREFIX: &str = "=?base64?";
/// What stands after it.
const SUFFIX: &str = "?=";

/// The largest integer that every JSON implementation keeps exactly; larger ones may not be mirrored.
const MAX_SAFE_INTEGER: i128 = (1 << 53) - 1;

/// Why a header value is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A byte that is neither visible ASCII nor a space nor a tab.
    #[error("the value has a character that must be sent as Base64")]
    Character,
    /// The text between the markers is not strict Base64.
    #[error("the value between `=?base64?` and `?=` is not Base64 with padding")]
    Base64,
    /// The decoded bytes are not UTF-8.
    #[error("the decoded value is not valid UTF-8")]
    Encoding,
}

/// Decodes a header value: optional whitespace around it is dropped, the Base64 form is resolved, and
/// anything that lacks its prefix or its suffix is literal.
///
/// # Errors
/// A character that is not allowed, or a Base64 form that is not strict.
pub fn decode_value(bytes: &[u8]) -> Result<Cow<'_, str>, HeaderError> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = bytes.iter().position(|byte| !is_space(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    let trimmed = bytes.get(start..end).unwrap_or_default();
    if !trimmed.iter().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e)) {
        return Err(HeaderError::Character);
    }
    let text = std::str::from_utf8(trimmed).map_err(|_| HeaderError::Character)?;
    let Some(encoded) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Ok(Cow::Borrowed(text));
    };
    let decoded = STANDARD.decode(encoded).map_err(|_| HeaderError::Base64)?;
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| HeaderError::Encoding)
}

/// Encodes a header value: as it is when that is safe, else in the Base64 form.
#[must_use]
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let looks_encoded = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    let padded = text.starts_with(' ') || text.ends_with(' ');
    if !looks_encoded && !padded && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::from(PREFIX);
    STANDARD.encode_string(text, &mut encoded);
    encoded.push_str(SUFFIX);
    Cow::Owned(encoded)
}

/// True when a decoded header value and the value in the body are the same: strings exactly, integers
/// as numbers (`42.0` is `42`) within ±(2^53−1), booleans as `true` and `false`. Everything else is
/// never mirrored and so never equal.
#[must_use]
pub fn matches(decoded: &str, body: Value<'_>) -> bool {
    match body.kind() {
        Kind::String => body.is_str(decoded),
        Kind::Boolean => body.raw() == decoded,
        Kind::Number => {
            let (Some(ours), Some(theirs)) = (body.as_number(), Decimal::parse(decoded)) else {
                return false;
            };
            is_safe_integer(ours) && ours == theirs
        }
        Kind::Null | Kind::Array | Kind::Object => false,
    }
}

/// True for a whole number within ±(2^53−1).
fn is_safe_integer(number: Decimal<'_>) -> bool {
    number.to_i128().is_some_and(|number| number.abs() <= MAX_SAFE_INTEGER)
}

/// True for a character of a token as RFC 9110, section 5.6.2 defines it.
#[must_use]
pub const fn is_token_byte(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')
}
