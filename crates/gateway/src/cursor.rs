//! Cursors of the tools of a file: where the next page goes on, sealed.
//!
//! A cursor opens only for the caller, the tool, the definition and the arguments that it was made for,
//! and for a time. Nothing in it can be read or changed outside. The tools of the file are the callers.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::contract::digest::{Digest, DigestBuilder};
use callgate_core::invocation::Invocation;
use callgate_core::port::{Clock, Entropy, KeyValue};
use callgate_core::refusal::{Code, Refusal};
use callgate_core::seal::{Binding, KeyRing};
use callgate_protocol::json::Value;

pub(crate) mod key;

/// What seals cursors: the keys of the file, or those of the process, which outlive a reload, so that a cursor
/// stays valid as long as its tool does not change.
#[derive(Clone)]
pub(crate) struct Seals {
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Seals {
    /// The place after which the page of this call begins; nothing for the first page.
    pub(crate) fn open(&self, invocation: &Invocation<'_>) -> Result<Option<Vec<KeyValue>>, Refusal> {
        let cursor = invocation.arguments().get("cursor");
        // A client that sends null for what it does not have has no cursor; the schema decides about that.
        let Some(sealed) = cursor.and_then(Value::as_str) else { return Ok(None) };
        let input = arguments_digest(invocation.arguments());
        let payload =
            self.keys.open(&binding(invocation, input), &sealed, &*self.clock).map_err(|_| invalid())?;
        key::decode(&payload).map(Some).ok_or_else(invalid)
    }

    /// A cursor to what comes after this place.
    pub(crate) fn seal(
        &self,
        invocation: &Invocation<'_>,
        place: &[KeyValue],
        lifetime: Duration,
    ) -> Result<String, Refusal> {
        let input = arguments_digest(invocation.arguments());
        self.keys
            .seal(&binding(invocation, input), &key::encode(place), lifetime, &*self.clock, &*self.entropy)
            .map_err(|error| Refusal::new(Code::Internal, "the cursor could not be made").with_detail(error))
    }
}

/// The one refusal of every cursor that is not good here.
pub(crate) fn invalid() -> Refusal {
    Refusal::new(Code::InvalidCursor, "the cursor is not valid here")
}

/// The arguments without the cursor: a cursor goes on with the question that it was given for.
fn arguments_digest(arguments: Value<'_>) -> Digest {
    let mut members: Vec<_> = arguments
        .members()
        .map(|(name, value)| (name.as_str().unwrap_or_default(), value))
        // An argument that is null means the same as one that is absent.
        .filter(|(name, value)| name != "cursor" && !value.is_null())
        .collect();
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut builder = DigestBuilder::new("callgate/cursor/1");
    for (name, value) in members {
        builder.json(&name, value);
    }
    builder.finish()
}

fn binding<'b>(invocation: &'b Invocation<'_>, input: Digest) -> Binding<'b> {
    Binding {
        purpose: "cursor",
        principal: invocation.principal(),
        subject: invocation.contract().name().as_str(),
        contract: Some(invocation.contract().digest()),
        input: Some(input),
    }
}
