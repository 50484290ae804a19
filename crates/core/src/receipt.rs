//! What a caller can quote about a call, and by which the operator finds it again.
//!
//! It must never hold anything that the caller may not know.

use std::fmt;

use crate::contract::digest::{ContractDigest, Digest, DigestText, InputDigest};

/// The `_meta` key under which a receipt travels.
pub const RECEIPT_KEY: &str = "dev.callgate/receipt";

/// The id of one call: a UUID version 7, so ids sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) uuid::Uuid);

impl CallId {
    /// An id from the time and ten random bytes.
    #[must_use]
    pub fn new(milliseconds: u64, random: &[u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(milliseconds, random).into_uuid())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// What happened in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EffectStatus {
    /// The tool has no effect.
    None,
    /// The effect was not started.
    NotStarted,
    /// Nobody knows whether the effect happened.
    Unknown,
}

impl EffectStatus {
    /// The name on the wire and in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NotStarted => "not_started",
            Self::Unknown => "unknown",
        }
    }
}

/// The receipt of one call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Receipt {
    /// The id of the call.
    pub call: CallId,
    /// What happened in the world.
    pub effect: EffectStatus,
    /// True when the result is the stored one of an earlier call.
    pub replayed: bool,
    /// The definition that was in force.
    pub contract: ContractDigest,
    /// The arguments, by digest.
    pub input: InputDigest,
    /// The policy that was in force.
    pub policy: Digest,
}

impl Receipt {
    /// Appends the receipt as one JSON object.
    pub fn write(&self, out: &mut String) {
        // Digests and ids hold no character that JSON would have to escape. The text is put together as
        // bytes and checked once, because each answer has a receipt and would otherwise pay for each part.
        let mut id = uuid::Uuid::encode_buffer();
        let mut text = Text { bytes: [0; Text::LONGEST], length: 0 };
        text.push(b"{\"call\":\"");
        text.push(self.call.0.as_hyphenated().encode_lower(&mut id).as_bytes());
        text.push(b"\",\"effect\":\"");
        text.push(self.effect.as_str().as_bytes());
        text.push(if self.replayed { b"\",\"replayed\":true" } else { b"\",\"replayed\":false" });
        text.push(b",\"contract\":\"");
        text.push_digest(&self.contract.0);
        text.push(b"\",\"input\":\"");
        text.push_digest(&self.input.0);
        text.push(b"\",\"policy\":\"");
        text.push_digest(&self.policy);
        text.push(b"\"}");
        out.push_str(text.as_str());
    }
}

/// A text of bounded length on the stack.
struct Text {
    bytes: [u8; Self::LONGEST],
    length: usize,
}

impl Text {
    /// The fixed parts of a receipt, an id, three digests and the longest effect take 340 bytes.
    const LONGEST: usize = 384;

    fn push(&mut self, part: &[u8]) {
        let end = self.length + part.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(part);
            self.length = end;
        }
    }

    fn push_digest(&mut self, digest: &Digest) {
        let end = self.length + DigestText::LENGTH;
        if let Some(place) = self.bytes.get_mut(self.length..end).and_then(|place| place.try_into().ok()) {
            digest.write(place);
            self.length = end;
        }
    }

    fn as_str(&self) -> &str {
        // Every part is ASCII.
        self.bytes.get(..self.length).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::{CallId, EffectStatus, Receipt};
    use crate::contract::digest::{ContractDigest, Digest, InputDigest};

    #[test]
    fn a_receipt_is_one_object_that_names_everything_it_stands_for() {
        let digest = Digest::of_bytes(b"x");
        for effect in [EffectStatus::None, EffectStatus::NotStarted, EffectStatus::Unknown] {
            for replayed in [false, true] {
                let receipt = Receipt {
                    call: CallId::new(1_700_000_000_000, &[7; 10]),
                    effect,
                    replayed,
                    contract: ContractDigest(digest),
                    input: InputDigest(Digest::of_bytes(b"y")),
                    policy: Digest::of_bytes(b"z"),
                };
                let mut text = String::new();
                receipt.write(&mut text);
                let document = Document::parse(text, &Limits::DEFAULT).unwrap();
                let member = |name: &str| document.root().get(name).unwrap().as_str().unwrap().into_owned();
                assert_eq!(member("call"), receipt.call.to_string());
                assert_eq!(member("effect"), effect.as_str());
                assert_eq!(document.root().get("replayed").unwrap().as_bool(), Some(replayed));
                assert_eq!(member("contract"), digest.to_string());
                assert_eq!(member("input"), receipt.input.to_string());
                assert_eq!(member("policy"), receipt.policy.to_string());
                assert_eq!(document.root().len(), 6);
            }
        }
    }
}
