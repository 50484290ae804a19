//! Artifacts in memory.
//!
//! Bytes are counted when they are added and given back when their artifact goes, under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::contract::digest::Digest;
use crate::port::{Answer, ArtifactBounds, ArtifactRow, ArtifactStore, NewArtifact, Put, Timestamp};
use crate::refusal::Refusal;

/// A store of artifacts in the memory of this process.
#[derive(Default)]
pub struct MemoryArtifacts(Mutex<Table>);

#[derive(Default)]
struct Table {
    artifacts: BTreeMap<Digest, Kept>,
    expiry: BTreeSet<(Timestamp, Digest)>,
    /// Artifacts and bytes by owner; an owner without artifacts has no entry.
    owners: BTreeMap<Digest, (usize, u64)>,
    bytes: u64,
}

struct Kept {
    owner: Digest,
    name: String,
    media_type: String,
    pieces: Vec<Vec<u8>>,
    bytes: u64,
    /// Of the finished artifact.
    digest: Option<Digest>,
    /// When it goes, finished or not.
    expires: Timestamp,
}

impl MemoryArtifacts {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table without what has expired.
    fn live(&self, now: Timestamp) -> MutexGuard<'_, Table> {
        let mut table = self.table();
        while let Some((expires, key)) = table.expiry.first().copied()
            && expires <= now
        {
            table.take(key);
        }
        table
    }
}

impl Table {
    fn take(&mut self, key: Digest) {
        let Some(kept) = self.artifacts.remove(&key) else { return };
        self.expiry.remove(&(kept.expires, key));
        self.bytes -= kept.bytes;
        if let Some((count, bytes)) = self.owners.get_mut(&kept.owner) {
            *count -= 1;
            *bytes -= kept.bytes;
            if *count == 0 {
                self.owners.remove(&kept.owner);
            }
        }
    }

    fn begin(&mut self, new: NewArtifact, bounds: ArtifactBounds) -> Put {
        if self.artifacts.contains_key(&new.key) {
            return Put::Taken;
        }
        let (count, bytes) = self.owners.get(&new.owner).copied().unwrap_or_default();
        let is_full =
            count >= bounds.of_owner || bytes >= bounds.of_owner_bytes || self.bytes >= bounds.total_bytes;
        if is_full {
            return Put::Full;
        }
        self.owners.entry(new.owner).or_default().0 += 1;
        self.expiry.insert((new.abandoned, new.key));
        let kept = Kept {
            owner: new.owner,
            name: new.name,
            media_type: new.media_type,
            pieces: Vec::new(),
            bytes: 0,
            digest: None,
            expires: new.abandoned,
        };
        self.artifacts.insert(new.key, kept);
        Put::Kept
    }

    fn append(
        &mut self,
        key: Digest,
        (number, offset): (u64, u64),
        piece: Vec<u8>,
        bounds: ArtifactBounds,
    ) -> Put {
        let Some(kept) = self.artifacts.get_mut(&key) else { return Put::Taken };
        if kept.digest.is_some() || kept.bytes != offset || u64::try_from(kept.pieces.len()) != Ok(number) {
            return Put::Taken;
        }
        let more = piece.len() as u64;
        let (_, own) = self.owners.entry(kept.owner).or_default();
        if *own + more > bounds.of_owner_bytes || self.bytes + more > bounds.total_bytes {
            return Put::Full;
        }
        *own += more;
        self.bytes += more;
        kept.bytes += more;
        kept.pieces.push(piece);
        Put::Kept
    }

    fn finish(&mut self, key: Digest, digest: Digest, expires: Timestamp) -> bool {
        let Some(kept) = self.artifacts.get_mut(&key).filter(|kept| kept.digest.is_none()) else {
            return false;
        };
        self.expiry.remove(&(kept.expires, key));
        self.expiry.insert((expires, key));
        kept.expires = expires;
        kept.digest = Some(digest);
        true
    }
}

impl ArtifactStore for MemoryArtifacts {
    fn begin(
        &self,
        artifact: NewArtifact,
        bounds: ArtifactBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Put, Refusal>> {
        Answer::now(Ok(self.live(now).begin(artifact, bounds)))
    }

    fn append(
        &self,
        key: Digest,
        at: (u64, u64),
        piece: Vec<u8>,
        bounds: ArtifactBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Put, Refusal>> {
        Answer::now(Ok(self.live(now).append(key, at, piece, bounds)))
    }

    fn finish(
        &self,
        key: Digest,
        digest: Digest,
        expires: Timestamp,
        now: Timestamp,
    ) -> Answer<'_, Result<bool, Refusal>> {
        Answer::now(Ok(self.live(now).finish(key, digest, expires)))
    }

    fn discard(&self, key: Digest) -> Answer<'_, Result<(), Refusal>> {
        self.table().take(key);
        Answer::now(Ok(()))
    }

    fn find(
        &self,
        key: Digest,
        owner: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<Option<ArtifactRow>, Refusal>> {
        let table = self.live(now);
        let row = table.artifacts.get(&key).filter(|kept| kept.owner == owner).and_then(|kept| {
            Some(ArtifactRow {
                name: kept.name.clone(),
                media_type: kept.media_type.clone(),
                bytes: kept.bytes,
                digest: kept.digest?,
                expires: kept.expires,
            })
        });
        Answer::now(Ok(row))
    }

    fn pieces(&self, key: Digest, numbers: Range<u64>) -> Answer<'_, Result<Vec<Vec<u8>>, Refusal>> {
        let table = self.table();
        let at = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let pieces = table.artifacts.get(&key).map(|kept| &kept.pieces[..]).unwrap_or_default();
        let end = at(numbers.end).min(pieces.len());
        Answer::now(Ok(pieces.get(at(numbers.start)..end).unwrap_or_default().to_vec()))
    }
}

impl fmt::Debug for MemoryArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryArtifacts")
    }
}
