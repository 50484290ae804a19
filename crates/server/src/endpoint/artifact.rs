//! `resources/read` of an artifact: a part of a result that was too large for a message.
//!
//! Who asks was authenticated before. Foreign, expired and unknown are the answer that every resource without
//! a reader gets. The reader of resources calls it.

use callgate_core::artifact::{ARTIFACT_KEY, Body, Part};
use callgate_core::port::Timestamp;
use callgate_core::principal::Principal;
use callgate_protocol::json::{push_integer, push_string};

use super::read::Read;
use super::{Endpoint, Fault, Published};
use crate::content::{resource_bytes, resource_text};

impl Endpoint {
    /// Reads a part of an artifact of this principal.
    pub(super) async fn read_artifact(
        &self,
        published: &Published,
        principal: &Principal,
        uri: &str,
    ) -> Result<Read, Fault> {
        let part = self.pipeline().keeping(&published.gate).artifacts(principal).read(uri).await?;
        let part = part.ok_or_else(|| Fault::UnknownResource(uri.to_owned()))?;
        let left = part.artifact.expires.0 - self.pipeline().clock().now().0;
        // What is kept never changes, so it is fresh until it expires.
        Ok(Read { contents: contents(uri, &part), ttl_ms: u64::try_from(left / 1000).unwrap_or(0) })
    }
}

/// One JSON array of one content, whose metadata says which part it is and where the next one is.
fn contents(uri: &str, part: &Part) -> String {
    let mime_type = Some(part.artifact.media_type.as_str());
    let mut out = String::from("[");
    out.push_str(&match &part.body {
        Body::Text(text) => resource_text(uri, mime_type, text),
        Body::Bytes(bytes) => resource_bytes(uri, mime_type, bytes),
    });
    // The content ends with a brace.
    out.pop();
    out.push_str(",\"_meta\":{\"");
    out.push_str(ARTIFACT_KEY);
    out.push_str("\":{\"offset\":");
    push_integer(&mut out, part.offset);
    out.push_str(",\"length\":");
    push_integer(&mut out, part.body.len() as u64);
    out.push_str(",\"size\":");
    push_integer(&mut out, part.artifact.bytes);
    out.push_str(",\"digest\":\"");
    part.artifact.digest.push(&mut out);
    out.push_str("\",\"expires\":");
    push_string(&mut out, &callgate_core::artifact::shown(Timestamp(part.artifact.expires.0)));
    if let Some(next) = &part.next {
        out.push_str(",\"next\":");
        push_string(&mut out, next);
    }
    out.push_str("}}}]");
    out
}
