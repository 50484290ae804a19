//! The store of artifacts: results that are read by their address, part by part.
//!
//! Like the store of handles it holds the digest of an address and not the address, and decides nothing:
//! [`crate::artifact`] is its only caller. All instances that serve the same callers share one.

use crate::contract::digest::Digest;
use crate::port::{Answer, Put, Timestamp};
use crate::refusal::Refusal;

/// Bytes of each piece of an artifact but its last. Stores keep a row for each.
pub const PIECE_BYTES: usize = 256 << 10;

/// An artifact that is about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArtifact {
    /// The digest of its address.
    pub key: Digest,
    /// The digest of the principal and tenant who may read it.
    pub owner: Digest,
    /// The name that people see.
    pub name: String,
    /// The type of its contents.
    pub media_type: String,
    /// When it is given up if it is not finished: its writer is gone.
    pub abandoned: Timestamp,
}

/// An artifact that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactRow {
    /// The name that people see.
    pub name: String,
    /// The type of its contents.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The SHA-256 digest of the bytes.
    pub digest: Digest,
    /// From when on it is as if it were not there.
    pub expires: Timestamp,
}

/// How much a store of artifacts takes. What is being written counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactBounds {
    /// Artifacts of one owner.
    pub of_owner: usize,
    /// Bytes of one owner.
    pub of_owner_bytes: u64,
    /// Bytes of all.
    pub total_bytes: u64,
}

/// A store of artifacts.
///
/// Rows whose time has come count for nothing and may be removed at any moment. Each method is one atomic
/// step. A refusal says that the store cannot be asked.
pub trait ArtifactStore: Send + Sync {
    /// Begins an artifact, within bounds.
    fn begin(
        &self,
        artifact: NewArtifact,
        bounds: ArtifactBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Put, Refusal>>;

    /// Adds a piece to an artifact that was begun and is not finished, within bounds. `at` is its number and how
    /// many bytes are before it. An artifact that was given up meanwhile, or is not so long, is [`Put::Taken`].
    fn append(
        &self,
        key: Digest,
        at: (u64, u64),
        piece: Vec<u8>,
        bounds: ArtifactBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Put, Refusal>>;

    /// Makes an artifact readable. False if it was given up meanwhile.
    fn finish(
        &self,
        key: Digest,
        digest: Digest,
        expires: Timestamp,
        now: Timestamp,
    ) -> Answer<'_, Result<bool, Refusal>>;

    /// Removes an artifact, finished or not.
    fn discard(&self, key: Digest) -> Answer<'_, Result<(), Refusal>>;

    /// The live, finished artifact of this key and owner.
    fn find(
        &self,
        key: Digest,
        owner: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<Option<ArtifactRow>, Refusal>>;

    /// The pieces of these numbers, in their order. One that is not there ends them.
    fn pieces(&self, key: Digest, numbers: std::ops::Range<u64>)
    -> Answer<'_, Result<Vec<Vec<u8>>, Refusal>>;
}
