//! Artifacts: results that are too large for a message, or are files, kept for their owner under an address
//! that nobody can guess.
//!
//! Only the principal and tenant in whose name an artifact was made read it, part by part, until it expires.
//! Foreign, expired and unknown are one answer. What is kept was judged before, as a result is. Executors and
//! the deliver step write artifacts, servers read them.

mod address;
mod link;
mod write;

pub use address::{is_artifact, is_text};
pub use link::{ARTIFACT_KEY, ArtifactLink, LINK_SCHEMA, link_result_schema, shown};
pub use write::ArtifactWriter;

use std::fmt;
use std::time::Duration;

use crate::contract::digest::Digest;
use crate::keeping::{Keeping, owner};
use crate::port::{ArtifactRow, PIECE_BYTES};
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};
use address::Address;

/// The artifacts of one principal.
#[derive(Clone, Copy)]
pub struct Artifacts<'c> {
    keeping: Keeping<'c>,
    principal: &'c Principal,
    /// How long one may be written.
    patience: Duration,
}

/// A part of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// What the whole is.
    pub artifact: ArtifactRow,
    /// The bytes before this part.
    pub offset: u64,
    /// The bytes.
    pub body: Body,
    /// Where the next part is; nothing after the last one.
    pub next: Option<String>,
}

/// The bytes of a part, as text where they are text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A text of whole characters.
    Text(String),
    /// Other bytes.
    Bytes(Vec<u8>),
}

impl Body {
    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// True for a part without bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'c> Artifacts<'c> {
    pub(crate) fn new(keeping: Keeping<'c>, principal: &'c Principal) -> Self {
        Self { keeping, principal, patience: keeping.limits.call_timeout_max }
    }

    /// The same, for a writer who has so much time: what it has not finished then goes away.
    pub(crate) fn within(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Reads the part that a URI names: all of an artifact, or what its `offset` and `length` say, as much of
    /// it as [`Limits::artifact_part_bytes`](crate::limits::Limits::artifact_part_bytes) allows. Nothing where
    /// this principal has no such artifact now.
    ///
    /// A part of a text ends at the end of a line where it has one, otherwise at that of a character. The parts
    /// follow each other without a gap, so all of them together are the artifact.
    ///
    /// # Errors
    /// The part begins behind the end, or the store does not answer.
    pub async fn read(&self, uri: &str) -> Result<Option<Part>, Refusal> {
        let Some(address) = Address::parse(uri) else { return Ok(None) };
        let (keeping, store) = (&self.keeping, &self.keeping.stores.artifacts);
        let (key, now) = (address.key(), keeping.clock.now());
        let found = keeping.wait(store.find(key, owner(self.principal), now)).await?;
        let Some(artifact) = found.filter(|artifact| artifact.expires > now) else { return Ok(None) };
        let offset = address.offset;
        if offset > artifact.bytes {
            let public = "the offset is behind the end of the artifact";
            return Err(Refusal::new(Code::MalformedCall, public));
        }
        let most = keeping.limits.artifact_part_bytes as u64;
        let length = address.length.unwrap_or(most).min(most).min(artifact.bytes - offset);
        let bytes = self.bytes(key, offset, length).await?;
        let is_last = offset + length == artifact.bytes;
        let body = body(bytes, is_text(&artifact.media_type), is_last);
        let end = offset + body.len() as u64;
        let next = (end < artifact.bytes).then(|| address.at(end));
        Ok(Some(Part { artifact, offset, body, next }))
    }

    async fn bytes(&self, key: Digest, offset: u64, length: u64) -> Result<Vec<u8>, Refusal> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let piece = PIECE_BYTES as u64;
        let numbers = offset / piece..(offset + length).div_ceil(piece);
        let pieces = self.keeping.wait(self.keeping.stores.artifacts.pieces(key, numbers)).await?;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut bytes = pieces.concat();
        let start = size(offset % piece);
        if bytes.len() < start + size(length) {
            // It expired between two questions, or the store lost a part.
            return Err(Refusal::new(Code::GateUnavailable, "the artifact cannot be read now")
                .with_detail("a piece of the artifact is missing"));
        }
        bytes.truncate(start + size(length));
        bytes.drain(..start);
        Ok(bytes)
    }
}

/// The bytes as a part: text is cut where a line or a character ends.
fn body(mut bytes: Vec<u8>, is_text: bool, is_last: bool) -> Body {
    if !is_text {
        return Body::Bytes(bytes);
    }
    let mut end = bytes.len();
    if !is_last {
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text.len(),
            // Only a character that goes on behind the end may be missing a part.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => 0,
        };
        let line = bytes.iter().take(whole).rposition(|byte| *byte == b'\n').map(|at| at + 1);
        end = line.unwrap_or(whole);
    }
    // Nothing would never come to an end; such a part is bytes.
    if end > 0 || bytes.is_empty() {
        bytes.truncate(end);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Body::Text(text),
        Err(error) => Body::Bytes(error.into_bytes()),
    }
}

impl fmt::Debug for Artifacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Artifacts")
    }
}

#[cfg(test)]
mod tests;
