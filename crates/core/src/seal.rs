//! Sealed text: what leaves the process and must come back unread and unchanged.
//!
//! XChaCha20-Poly1305 over an expiry and a payload, bound by its associated data to a purpose, a
//! principal, a tool and an input. There is one refusal for forged, expired and foreign, so nobody
//! learns which it was. Keys are chosen by id, so they can be rotated while old seals are still open.
//! The pipeline seals tool state with it and sources seal their cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use std::time::Duration;

use crate::contract::digest::{ContractDigest, Digest};
use crate::port::{Clock, Entropy, EntropyError, Timestamp};
use crate::principal::Principal;

mod key;

pub use key::{KeyId, ParseKeyIdError, ParseSealKeyError, SealKey};

/// The version of the envelope.
const VERSION: u8 = 1;
const KEY_ID: std::ops::Range<usize> = 1..5;
const NONCE: std::ops::Range<usize> = 5..29;
const EXPIRY_BYTES: usize = 8;
/// Keys that a ring may hold: the current one and those whose seals may still be open.
pub const KEYS_MAX: usize = 8;
/// The longest sealed text that is looked at, in characters.
const SEALED_MAX: usize = 64 << 10;

/// The keys that seal and open. Replicas that serve the same clients share them by configuration.
pub struct KeyRing {
    keys: Vec<(u32, XChaCha20Poly1305)>,
}

impl KeyRing {
    /// A ring of one random key, for a process that shares its seals with no other.
    ///
    /// # Errors
    /// When the random source has failed.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut key = [0; 32];
        let mut id = [0; 4];
        entropy.fill(&mut key)?;
        entropy.fill(&mut id)?;
        Ok(Self { keys: vec![(u32::from_be_bytes(id), cipher(&key))] })
    }

    /// A ring whose first key seals; all of them open. At most eight keys are kept, the first ones.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = (u32, [u8; 32])>) -> Self {
        Self { keys: keys.into_iter().take(KEYS_MAX).map(|(id, key)| (id, cipher(&key))).collect() }
    }

    /// A ring of keys that somebody gave: the first seals, all open. At most [`KEYS_MAX`] are kept.
    #[must_use]
    pub fn of_keys<'k>(keys: impl IntoIterator<Item = (KeyId, &'k SealKey)>) -> Self {
        Self::new(keys.into_iter().map(|(id, key)| (id.0, *key.expose())))
    }

    /// Seals a payload. The text is URL-safe and says nothing about what is in it.
    ///
    /// # Errors
    /// When there is no key or the random source has failed.
    pub fn seal(
        &self,
        binding: &Binding<'_>,
        payload: &[u8],
        lifetime: Duration,
        clock: &dyn Clock,
        entropy: &dyn Entropy,
    ) -> Result<String, SealError> {
        let (id, cipher) = self.keys.first().ok_or(SealError)?;
        let mut nonce = [0; 24];
        entropy.fill(&mut nonce).map_err(|_| SealError)?;
        let lifetime = i64::try_from(lifetime.as_micros()).unwrap_or(i64::MAX);
        let expiry = clock.now().0.saturating_add(lifetime);
        let mut plain = Vec::with_capacity(EXPIRY_BYTES + payload.len());
        plain.extend_from_slice(&expiry.to_be_bytes());
        plain.extend_from_slice(payload);
        let associated = binding.associated();
        let text = cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &associated })
            .map_err(|_| SealError)?;
        let mut envelope = Vec::with_capacity(NONCE.end + text.len());
        envelope.push(VERSION);
        envelope.extend_from_slice(&id.to_be_bytes());
        envelope.extend_from_slice(&nonce);
        envelope.extend_from_slice(&text);
        Ok(URL_SAFE_NO_PAD.encode(envelope))
    }

    /// Opens a sealed text that was made with the same binding and has not expired.
    ///
    /// # Errors
    /// One error for everything: not ours, changed, expired, or made for something else.
    pub fn open(&self, binding: &Binding<'_>, sealed: &str, clock: &dyn Clock) -> Result<Vec<u8>, OpenError> {
        self.open_until(binding, sealed, clock).map(|(payload, _)| payload)
    }

    /// [`KeyRing::open`], and until when the text opens.
    ///
    /// # Errors
    /// As [`KeyRing::open`].
    pub fn open_until(
        &self,
        binding: &Binding<'_>,
        sealed: &str,
        clock: &dyn Clock,
    ) -> Result<(Vec<u8>, Timestamp), OpenError> {
        if sealed.len() > SEALED_MAX {
            return Err(OpenError);
        }
        let envelope = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| OpenError)?;
        let id: [u8; 4] = envelope.get(KEY_ID).and_then(|id| id.try_into().ok()).ok_or(OpenError)?;
        let nonce: [u8; 24] = envelope.get(NONCE).and_then(|nonce| nonce.try_into().ok()).ok_or(OpenError)?;
        let text = envelope.get(NONCE.end..).ok_or(OpenError)?;
        if envelope.first() != Some(&VERSION) {
            return Err(OpenError);
        }
        let id = u32::from_be_bytes(id);
        let (_, cipher) = self.keys.iter().find(|(known, _)| *known == id).ok_or(OpenError)?;
        let associated = binding.associated();
        let mut plain = cipher
            .decrypt(&XNonce::from(nonce), Payload { msg: text, aad: &associated })
            .map_err(|_| OpenError)?;
        let expiry: [u8; EXPIRY_BYTES] =
            plain.get(..EXPIRY_BYTES).and_then(|expiry| expiry.try_into().ok()).ok_or(OpenError)?;
        let expiry = Timestamp(i64::from_be_bytes(expiry));
        if clock.now() >= expiry {
            return Err(OpenError);
        }
        Ok((plain.split_off(EXPIRY_BYTES), expiry))
    }
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyRing({} keys)", self.keys.len())
    }
}

fn cipher(key: &[u8; 32]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&Key::from(*key))
}

/// What a seal is bound to: it opens only for the same purpose, principal, tool and input.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'b> {
    /// What the seal is for, `state` or `cursor`.
    pub purpose: &'static str,
    /// In whose name it was made.
    pub principal: &'b Principal,
    /// Which tool, or which method for what is no tool.
    pub subject: &'b str,
    /// Which definition of the tool, where there is one.
    pub contract: Option<ContractDigest>,
    /// Which arguments, where they matter.
    pub input: Option<Digest>,
}

impl Binding<'_> {
    /// Every field with its length, so that no two bindings share a text.
    fn associated(&self) -> Vec<u8> {
        let contract = self.contract.map(|digest| digest.to_string()).unwrap_or_default();
        let input = self.input.map(|digest| digest.to_string()).unwrap_or_default();
        let (tenant, has_tenant) = match &self.principal.tenant {
            Some(tenant) => (&**tenant, "t"),
            None => ("", "-"),
        };
        let fields =
            [self.purpose, &self.principal.subject, has_tenant, tenant, self.subject, &contract, &input];
        let mut associated = Vec::with_capacity(fields.iter().map(|field| field.len() + 8).sum());
        for field in fields {
            associated.extend_from_slice(&(field.len() as u64).to_be_bytes());
            associated.extend_from_slice(field.as_bytes());
        }
        associated
    }
}

/// Nothing could be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text could not be sealed")]
pub struct SealError;

/// A sealed text that does not open here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sealed text is not valid here")]
pub struct OpenError;

#[cfg(test)]
mod tests;
