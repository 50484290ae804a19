//! Digests over canonical JSON: one name for one meaning, however it is spelled.
//!
//! Contracts, inputs and policies are compared, pinned, approved and deduplicated by these digests,
//! so two different values must never share one, and two spellings of one value always must. It
//! must never pass a number through a float (two large amounts would become one) and never hash
//! text that was not parsed with duplicate member names refused. The pipeline, the catalogue and
//! the pins call it.

use std::fmt;
use std::str::FromStr;

use callgate_protocol::json::Value;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

mod canonical;

pub use canonical::canonical;

/// A SHA-256 digest, shown as `sha256:<hex>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The digest of everything that the model or the checks can see of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractDigest(pub Digest);

/// The digest of one call: tool, principal, tenant and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputDigest(pub Digest);

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct ParseDigestError;

impl Digest {
    /// The prefix that names the algorithm.
    const PREFIX: &str = "sha256:";

    /// The digest of bytes as they are, for things that are not JSON.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of one JSON value in canonical form.
    ///
    /// `sha256sum` over the text of [`canonical`] gives the same, so that people can recompute it.
    #[must_use]
    pub fn of_json(value: Value<'_>) -> Self {
        let mut sha = Sha256::new();
        canonical::write(value, &mut sha);
        Self(sha.finalize().into())
    }

    /// The digest from its 32 bytes, as a store gives them back.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix(Self::PREFIX).ok_or(ParseDigestError)?;
        // One spelling only: a digest is compared as text in files and logs.
        if hex.len() != 64 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(ParseDigestError);
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let digits = hex.get(2 * at..2 * at + 2).ok_or(ParseDigestError)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| ParseDigestError)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for ContractDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for InputDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for ContractDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl FromStr for InputDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Builds the digest of several named parts.
///
/// The framing is injective: names and texts carry their length, JSON ends with a byte that UTF-8
/// does not have, so no sequence of parts can be mistaken for another one.
pub struct DigestBuilder {
    sha: Sha256,
}

impl DigestBuilder {
    /// Starts a digest for one purpose, for example `callgate/contract/1`. Digests of different
    /// purposes differ even where their parts are the same.
    #[must_use]
    pub fn new(purpose: &str) -> Self {
        let mut builder = Self { sha: Sha256::new() };
        builder.framed(purpose);
        builder
    }

    /// Adds a part that is text.
    pub fn field(&mut self, name: &str, text: &str) -> &mut Self {
        self.sha.update([1]);
        self.framed(name);
        self.framed(text);
        self
    }

    /// Adds a part that is JSON, by its meaning and not by its spelling.
    pub fn json(&mut self, name: &str, value: Value<'_>) -> &mut Self {
        self.sha.update([2]);
        self.framed(name);
        canonical::write(value, &mut self.sha);
        self.sha.update([0xFF]);
        self
    }

    /// The digest of all parts so far.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.sha.finalize().into())
    }

    fn framed(&mut self, text: &str) {
        self.sha.update((text.len() as u64).to_be_bytes());
        self.sha.update(text.as_bytes());
    }
}

impl fmt::Debug for DigestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestBuilder")
    }
}

#[cfg(test)]
mod tests;
