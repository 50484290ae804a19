//! Keys of a ring as people write them: an id that may be shown, and a text that may not.
//!
//! It must never put a key into an error or a debug form. The configuration parses them, and the command
//! line makes fresh ones.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use crate::port::{Entropy, EntropyError};

/// Fewer different bytes than this are no random key: thirty-two random ones have more, always.
const DISTINCT_MIN: usize = 12;

/// The id of a key: eight hexadecimal digits. It travels in every seal, so it says nothing about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub u32);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl FromStr for KeyId {
    type Err = ParseKeyIdError;

    fn from_str(text: &str) -> Result<Self, ParseKeyIdError> {
        let is_id = text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_id {
            return Err(ParseKeyIdError);
        }
        u32::from_str_radix(text, 16).map(Self).map_err(|_| ParseKeyIdError)
    }
}

/// A text that is no id of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a key is eight lower-case hexadecimal digits")]
pub struct ParseKeyIdError;

/// Thirty-two bytes that seal. They are wiped from memory when they are dropped.
#[derive(Clone)]
pub struct SealKey(Zeroizing<[u8; 32]>);

impl SealKey {
    /// A key of the random source.
    ///
    /// # Errors
    /// When the random source has failed.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut key = Zeroizing::new([0; 32]);
        entropy.fill(&mut *key)?;
        Ok(Self(key))
    }

    /// The bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text that [`FromStr`] reads: Base64 as RFC 4648 has it, with padding.
    #[must_use]
    pub fn expose_text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(*self.0))
    }
}

impl PartialEq for SealKey {
    /// Whether somebody gave one key two ids; nobody outside can ask this.
    fn eq(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(not shown)")
    }
}

impl FromStr for SealKey {
    type Err = ParseSealKeyError;

    /// Reads 64 hexadecimal digits, 44 characters of Base64 with padding, or 43 of its URL-safe form
    /// without; there is no other way to write the same key.
    fn from_str(text: &str) -> Result<Self, ParseSealKeyError> {
        let bytes = Zeroizing::new(match text.len() {
            64 => of_hex(text).ok_or(ParseSealKeyError::Text)?,
            44 => STANDARD.decode(text).map_err(|_| ParseSealKeyError::Text)?,
            43 => URL_SAFE_NO_PAD.decode(text).map_err(|_| ParseSealKeyError::Text)?,
            _ => return Err(ParseSealKeyError::Text),
        });
        let key: [u8; 32] = bytes.as_slice().try_into().map_err(|_| ParseSealKeyError::Text)?;
        let mut distinct = Zeroizing::new(key);
        distinct.sort_unstable();
        let changes = distinct.windows(2).filter(|pair| pair.first() != pair.last()).count();
        if changes + 1 < DISTINCT_MIN {
            return Err(ParseSealKeyError::NotRandom);
        }
        Ok(Self(Zeroizing::new(key)))
    }
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(32);
    let mut digits = text.bytes();
    while let (Some(high), Some(low)) = (digits.next(), digits.next()) {
        bytes.push((digit(high)? << 4) | digit(low)?);
    }
    Some(bytes)
}

/// A text that is no key. It says nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSealKeyError {
    /// Not 32 bytes in one of the forms.
    #[error("a key is 32 bytes: 64 hexadecimal digits or 44 characters of Base64")]
    Text,
    /// Bytes that nobody drew at random.
    #[error("the bytes of the key are not random")]
    NotRandom,
}

#[cfg(test)]
mod tests {
    use super::{KeyId, ParseSealKeyError, SealKey};
    use crate::port::SystemEntropy;

    const BYTES: [u8; 32] = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
        28, 29, 30, 255,
    ];

    #[test]
    fn one_key_has_one_text_in_each_form() {
        for text in [
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff",
            "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1EFF",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8",
        ] {
            assert_eq!(text.parse::<SealKey>().map(|key| *key.expose()), Ok(BYTES), "{text}");
        }
        let fresh = SealKey::generate(&SystemEntropy::default()).unwrap();
        assert_eq!(fresh.expose_text().parse(), Ok(fresh.clone()));
        assert_eq!(format!("{fresh:?}"), "SealKey(not shown)");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in [
            "",
            "secret",
            " AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8==",
            // The last character holds bits of no byte: another text for the same bytes.
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv9=",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
            "00010203040506070809 a0b0c0d0e0f101112131415161718191a1b1c1d1eff",
            "+00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff",
        ] {
            assert_eq!(text.parse::<SealKey>(), Err(ParseSealKeyError::Text), "{text}");
        }
        for weak in ["0".repeat(64), "0123456789abcdef".repeat(4)] {
            assert_eq!(weak.parse::<SealKey>(), Err(ParseSealKeyError::NotRandom), "{weak}");
        }
    }

    #[test]
    fn an_id_is_eight_digits_in_lower_case() {
        assert_eq!("00ff10a2".parse(), Ok(KeyId(0x00ff_10a2)));
        assert_eq!(KeyId(0x00ff_10a2).to_string(), "00ff10a2");
        for text in ["", "ff10a2", "00FF10A2", "+0ff10a2", "00ff10a2b"] {
            assert!(text.parse::<KeyId>().is_err(), "{text}");
        }
    }
}
