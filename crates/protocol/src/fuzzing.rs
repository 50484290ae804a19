//! What the fuzz targets run, with the properties that must hold for every input.
//!
//! It must never be called by anything but fuzz targets and the tests that replay their corpora.

#![expect(clippy::panic, reason = "a broken property must stop the fuzzer")]

#[cfg(test)]
mod tests;

use crate::header;
use crate::json::{Document, Kind, Limits};
use crate::message::{self, Message};

/// Decodes arbitrary bytes. What is accepted keeps its text, and its id is echoed as it came; what is
/// refused is answered by a text that is itself one valid message.
///
/// # Panics
/// When a property does not hold.
pub fn decode(bytes: &[u8]) {
    let limits = Limits::DEFAULT.with_bytes(1 << 16);
    match message::decode(bytes.to_vec(), &limits) {
        Ok(Message::Request(request)) => {
            assert_eq!(request.document().text().as_bytes(), bytes, "the text is kept");
            let id = request.document().root().get("id").map(|id| id.raw());
            assert_eq!(id, Some(request.id().as_json()), "the id is echoed exactly");
            let _ = crate::meta::classify(request.params(), crate::meta::Expectation::Any);
        }
        Ok(Message::Notification(notification)) => {
            assert!(notification.document().root().get("id").is_none(), "a notification has no id");
        }
        Ok(Message::Response(response)) => {
            assert!(response.document().root().get("method").is_none(), "a response has no method");
        }
        Err(error) => {
            let mut answer = String::new();
            error.push(&mut answer);
            match message::decode(answer.into_bytes(), &Limits::DEFAULT) {
                Ok(Message::Response(response)) => {
                    assert_eq!(response.id(), error.id.as_ref(), "the refusal names the id that was read");
                }
                other => panic!("the refusal is no response: {other:?}"),
            }
        }
    }
}

/// Decodes an arbitrary header value, and looks for mirrored parameters in an arbitrary schema.
///
/// # Panics
/// When a property does not hold.
pub fn header(bytes: &[u8]) {
    if let Ok(value) = header::decode_value(bytes) {
        let sent = header::encode_value(&value).into_owned();
        assert_eq!(header::decode_value(sent.as_bytes()).as_deref(), Ok(&*value), "encoding is reversible");
        if let Ok(document) = Document::parse(&*value, &Limits::DEFAULT) {
            let equal = header::matches(&value, document.root());
            assert!(!equal || document.root().kind() != Kind::Null, "null is never mirrored");
        }
    }
    if let Ok(document) = Document::parse_bytes(bytes.to_vec(), &Limits::DEFAULT)
        && let Ok(parameters) = header::mirrored_parameters(document.root())
    {
        for parameter in parameters {
            assert!(!parameter.path.is_empty(), "the root is no parameter");
            assert!(parameter.header.bytes().all(header::is_token_byte), "a header name is a token");
        }
    }
}
