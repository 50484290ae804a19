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

/// A digest with its text, for one that is shown far more often than it is made.
#[derive(Clone, Debug)]
pub struct ShownDigest {
    digest: Digest,
    text: Box<str>,
}

impl ShownDigest {
    /// The digest, with its text made now.
    #[must_use]
    pub fn new(digest: Digest) -> Self {
        Self { digest, text: digest.to_string().into() }
    }

    /// The digest.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The text, `sha256:<hex>`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

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

    /// How the digest is shown, without the formatting machinery: each answer shows three of them.
    #[must_use]
    pub fn text(&self) -> DigestText {
        let mut text = [0; DigestText::LENGTH];
        let (prefix, digits) = text.split_at_mut(Self::PREFIX.len());
        prefix.copy_from_slice(Self::PREFIX.as_bytes());
        digits.copy_from_slice(&self.digits().0);
        DigestText(text)
    }

    /// Appends how the digest is shown.
    pub fn push(&self, out: &mut String) {
        out.push_str(Self::PREFIX);
        out.push_str(self.digits().as_str());
    }

    #[inline]
    fn digits(&self) -> Digits {
        let mut digits = Digits([0; Digits::LENGTH]);
        for (pair, byte) in digits.0.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&HEX[usize::from(byte)]);
        }
        digits
    }
}

/// Two digits a byte. Aligned, because a text of whole words is checked word by word.
#[repr(align(16))]
struct Digits([u8; Self::LENGTH]);

impl Digits {
    const LENGTH: usize = 64;

    fn as_str(&self) -> &str {
        // Only ASCII is ever written to it.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The two digits of each byte.
const HEX: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    pairs
};

/// The text of one digest, `sha256:<hex>`.
#[derive(Clone, Copy)]
pub struct DigestText([u8; Self::LENGTH]);

impl DigestText {
    /// The prefix and two digits a byte.
    pub(crate) const LENGTH: usize = Digest::PREFIX.len() + Digits::LENGTH;

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Only ASCII is ever written to it.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for DigestText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
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
/// The framing is injective: each part starts with a byte that tells its kind, names and texts carry
/// their length, JSON ends with a byte that UTF-8 does not have, so no sequence of parts can be
/// mistaken for another one.
#[derive(Clone)]
pub struct DigestBuilder {
    sha: Sha256,
    /// The block that is not full yet. A digest has many short parts, and the hash function would take
    /// them one by one.
    block: [u8; BLOCK],
    filled: usize,
}

/// SHA-256 works on blocks of this size.
const BLOCK: usize = 64;

impl DigestBuilder {
    /// Starts a digest for one purpose, for example `callgate/contract/1`. Digests of different
    /// purposes differ even where their parts are the same.
    #[must_use]
    pub fn new(purpose: &str) -> Self {
        let mut builder = Self { sha: Sha256::new(), block: [0; BLOCK], filled: 0 };
        builder.framed(purpose);
        builder
    }

    /// Adds a part that is text.
    pub fn field(&mut self, name: &str, text: &str) -> &mut Self {
        self.update(&[1]);
        self.framed(name);
        self.framed(text);
        self
    }

    /// Adds a part that is JSON, by its meaning and not by its spelling.
    pub fn json(&mut self, name: &str, value: Value<'_>) -> &mut Self {
        self.update(&[2]);
        self.framed(name);
        canonical::write(value, self);
        self.update(&[0xFF]);
        self
    }

    /// Fills up to the end of a block. Clones of what is here then share all the work that was done.
    pub fn fill_block(&mut self) -> &mut Self {
        // No part starts with a zero, so the filling is not mistaken for one.
        const ZEROS: [u8; BLOCK] = [0; BLOCK];
        let missing = (BLOCK - self.filled) % BLOCK;
        self.update(ZEROS.get(..missing).unwrap_or_default());
        self
    }

    /// The digest of all parts so far.
    #[must_use]
    pub fn finish(mut self) -> Digest {
        self.sha.update(self.block.get(..self.filled).unwrap_or_default());
        Digest(self.sha.finalize().into())
    }

    fn framed(&mut self, text: &str) {
        // Seven bits a byte, the lowest first; the last byte has its high bit clear. Every length has
        // one spelling, and short ones cost little: hashing is the larger part of what a call costs.
        let mut left = text.len();
        while left > 0x7F {
            self.update(&[(left & 0x7F) as u8 | 0x80]);
            left >>= 7;
        }
        self.update(&[left as u8]);
        self.update(text.as_bytes());
    }

    #[inline]
    fn update(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        match self.block.get_mut(self.filled..end) {
            Some(place) if end < BLOCK => {
                place.copy_from_slice(bytes);
                self.filled = end;
            }
            _ => self.update_blocks(bytes),
        }
    }

    /// Hashes each block that is full now and keeps what is left.
    #[inline(never)]
    fn update_blocks(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at((BLOCK - self.filled).min(bytes.len()));
        self.sha.update(self.block.get(..self.filled).unwrap_or_default());
        self.sha.update(first);
        let whole = rest.len() - rest.len() % BLOCK;
        let (blocks, left) = rest.split_at(whole);
        self.sha.update(blocks);
        self.filled = left.len();
        if let Some(place) = self.block.get_mut(..left.len()) {
            place.copy_from_slice(left);
        }
    }
}

impl canonical::Sink for DigestBuilder {
    fn push(&mut self, text: &str) {
        self.update(text.as_bytes());
    }
}

impl fmt::Debug for DigestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestBuilder")
    }
}

#[cfg(test)]
mod tests;
