//! The store of handles, and of what may be used only once.
//!
//! It holds digests and never a text that opens something: whoever reads the store can use nothing that is in
//! it. It decides nothing: who may use a handle is decided in [`crate::handle`], which is its only caller. All
//! instances that serve the same callers share one.

use crate::contract::digest::Digest;
use crate::port::{Answer, Timestamp};
use crate::refusal::Refusal;

/// What a row stands for. The two are counted apart, so that neither takes the place of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandleKind {
    /// A handle that a tool gave out.
    Handle,
    /// Something that was used and must not be used again.
    Spent,
}

impl HandleKind {
    /// The name in a store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Handle => "handle",
            Self::Spent => "spent",
        }
    }
}

/// A row of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandleRow {
    /// What it stands for.
    pub kind: HandleKind,
    /// The digest of the text that the caller has.
    pub key: Digest,
    /// The digest of the principal and tenant in whose name it was made; rows are counted by it.
    pub owner: Digest,
    /// The digest of everything that it is good for.
    pub scope: Digest,
    /// From when on it is as if it were not there.
    pub expires: Timestamp,
    /// What it stands for, which only the tool reads.
    pub payload: Vec<u8>,
}

/// How many rows of a kind a store takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBounds {
    /// Of one owner.
    pub of_owner: usize,
    /// Of all.
    pub total: usize,
}

/// What became of something that was to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is kept.
    Kept,
    /// A bound would be exceeded. Nothing is pushed out for it.
    Full,
    /// There is a live row of that key.
    Taken,
}

/// A store of handles.
///
/// Rows whose time has come count for nothing and may be removed at any moment. Each method is one atomic
/// step: of two at once with one key, one comes first. A refusal says that the store cannot be asked.
pub trait HandleStore: Send + Sync {
    /// Keeps a row whose key is not there, within bounds.
    fn put(&self, row: HandleRow, bounds: RowBounds, now: Timestamp) -> Answer<'_, Result<Put, Refusal>>;

    /// The live row of a key.
    fn get(
        &self,
        kind: HandleKind,
        key: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<Option<HandleRow>, Refusal>>;

    /// Takes out the live row of this key and scope. True if it was there.
    fn remove(
        &self,
        kind: HandleKind,
        key: Digest,
        scope: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<bool, Refusal>>;
}
