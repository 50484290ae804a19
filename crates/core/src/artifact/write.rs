//! Writing an artifact, piece by piece, within bounds.
//!
//! Nobody can read an artifact before it is finished, and one that is not finished goes away by itself.

use std::fmt;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::address::Address;
use super::{ArtifactLink, Artifacts};
use crate::contract::digest::Digest;
use crate::handle::{after, full};
use crate::keeping::owner;
use crate::port::{ArtifactBounds, NewArtifact, PIECE_BYTES, Put};
use crate::refusal::{Code, Refusal};

/// What a writer has more than its call, so that the end of one that ended in time is not lost.
const SLACK: Duration = Duration::from_secs(60);
/// The longest name.
const NAME_MAX: usize = 255;

/// An artifact that is being written.
#[must_use = "an artifact that is not finished cannot be read"]
pub struct ArtifactWriter<'c> {
    artifacts: Artifacts<'c>,
    address: Address,
    name: String,
    media_type: String,
    piece: Vec<u8>,
    number: u64,
    /// Bytes that were handed to the store.
    stored: u64,
    bytes: u64,
    sha: Sha256,
}

impl<'c> Artifacts<'c> {
    /// Begins an artifact of a name, such as `report.csv`, and a media type. A name that cannot be one of a
    /// file loses the characters that hinder it.
    ///
    /// # Errors
    /// A bound on artifacts is reached, or the store does not answer.
    pub async fn begin(&self, name: &str, media_type: &str) -> Result<ArtifactWriter<'c>, Refusal> {
        let keeping = self.keeping;
        let address = Address::generate(keeping.entropy)
            .map_err(|error| Refusal::new(Code::Internal, "no artifact could be made").with_detail(error))?;
        let now = keeping.clock.now();
        let name = file_name(name);
        let new = NewArtifact {
            key: address.key(),
            owner: owner(self.principal),
            name: name.clone(),
            media_type: media_type.to_owned(),
            abandoned: after(now, self.patience + SLACK),
        };
        match keeping.wait(keeping.stores.artifacts.begin(new, self.bounds(), now)).await? {
            Put::Kept => {}
            Put::Full | Put::Taken => return Err(full("as many artifacts are kept as the limit allows")),
        }
        Ok(ArtifactWriter {
            artifacts: *self,
            address,
            name,
            media_type: media_type.to_owned(),
            piece: Vec::new(),
            number: 0,
            stored: 0,
            bytes: 0,
            sha: Sha256::new(),
        })
    }

    fn bounds(&self) -> ArtifactBounds {
        let limits = self.keeping.limits;
        ArtifactBounds {
            of_owner: limits.artifacts_of_principal,
            of_owner_bytes: limits.artifact_bytes_of_principal,
            total_bytes: limits.artifact_bytes_total,
        }
    }
}

impl ArtifactWriter<'_> {
    /// Adds bytes.
    ///
    /// Not cancel safe: after one was dropped, the artifact can only be given up.
    ///
    /// # Errors
    /// The artifact or what is kept in all would be larger than a bound, or the store does not answer. The
    /// artifact is given up then.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), Refusal> {
        let most = self.artifacts.keeping.limits.artifact_bytes;
        if self.bytes + bytes.len() as u64 > most {
            self.give_up().await;
            return Err(Refusal::new(Code::OutputTooLarge, "the result is larger than an artifact may be")
                .with_detail(format_args!("more than {most} bytes")));
        }
        self.bytes += bytes.len() as u64;
        self.sha.update(bytes);
        while self.piece.len() + bytes.len() >= PIECE_BYTES {
            let (now, later) = bytes.split_at(PIECE_BYTES - self.piece.len());
            self.piece.extend_from_slice(now);
            bytes = later;
            self.append().await?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    /// Makes the artifact readable for `lifetime`, or as long as the limit says.
    ///
    /// # Errors
    /// As [`ArtifactWriter::write`].
    pub async fn finish(mut self, lifetime: Option<Duration>) -> Result<ArtifactLink, Refusal> {
        if !self.piece.is_empty() {
            self.append().await?;
        }
        let keeping = self.artifacts.keeping;
        let now = keeping.clock.now();
        let most = keeping.limits.artifact_lifetime;
        let expires = after(now, lifetime.map_or(most, |lifetime| lifetime.min(most)));
        let digest = Digest::from_bytes(std::mem::take(&mut self.sha).finalize().into());
        let store = &keeping.stores.artifacts;
        if !keeping.wait(store.finish(self.address.key(), digest, expires, now)).await? {
            return Err(abandoned());
        }
        Ok(ArtifactLink {
            uri: self.address.uri(),
            name: self.name,
            media_type: self.media_type,
            bytes: self.bytes,
            digest,
            expires,
            rows: None,
        })
    }

    /// Removes what was written. A store that does not answer removes it when its time is over.
    pub async fn discard(self) {
        self.give_up().await;
    }

    async fn append(&mut self) -> Result<(), Refusal> {
        let keeping = self.artifacts.keeping;
        let piece = std::mem::take(&mut self.piece);
        let (at, length) = ((self.number, self.stored), piece.len() as u64);
        let (key, now) = (self.address.key(), keeping.clock.now());
        let answer = keeping.stores.artifacts.append(key, at, piece, self.artifacts.bounds(), now);
        match keeping.wait(answer).await {
            Ok(Put::Kept) => {
                self.number += 1;
                self.stored += length;
                Ok(())
            }
            Ok(Put::Full) => {
                self.give_up().await;
                Err(full("as many bytes of artifacts are kept as the limit allows"))
            }
            Ok(Put::Taken) => Err(abandoned()),
            Err(refusal) => {
                self.give_up().await;
                Err(refusal)
            }
        }
    }

    async fn give_up(&self) {
        let keeping = self.artifacts.keeping;
        // It would go away by itself, only later.
        let _ = keeping.wait(keeping.stores.artifacts.discard(self.address.key())).await;
    }
}

fn abandoned() -> Refusal {
    Refusal::new(Code::GateUnavailable, "the artifact could not be written")
        .with_detail("the store gave the artifact up while it was written")
}

/// A name without separators of paths, control characters and marks of direction, and not too long.
fn file_name(name: &str) -> String {
    let is_good = |character: &char| {
        !character.is_control()
            && !matches!(character, '/' | '\\' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut good = String::new();
    for character in name.trim().chars().filter(is_good) {
        if good.len() + character.len_utf8() > NAME_MAX {
            break;
        }
        good.push(character);
    }
    if good.trim_matches('.').is_empty() { "artifact".to_owned() } else { good }
}

impl fmt::Debug for ArtifactWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArtifactWriter({}, {} bytes)", self.name, self.bytes)
    }
}
