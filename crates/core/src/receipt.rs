//! What a caller can quote about a call, and by which the operator finds it again.
//!
//! It must never hold anything that the caller may not know.

use std::fmt;

use crate::contract::digest::{ContractDigest, Digest, DigestText, InputDigest, ShownDigest};

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

    /// The id of these bytes, as a store gives them back.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(uuid::Uuid::from_bytes(bytes))
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl std::str::FromStr for CallId {
    type Err = InvalidCallId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        uuid::Uuid::try_parse(text).map(Self).map_err(|_| InvalidCallId)
    }
}

/// A text that is no call id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call id is a UUID, as in `_meta[\"dev.callgate/receipt\"].call`")]
pub struct InvalidCallId;

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
    /// The effect happened.
    Committed,
    /// The effect was tried, and it is proven that nothing changed.
    Failed,
    /// The effect happened and was taken back.
    Compensated,
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
            Self::Committed => "committed",
            Self::Failed => "failed",
            Self::Compensated => "compensated",
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
    /// The earlier call whose effect and result this is, where the call was a repeated one.
    pub replayed: Option<CallId>,
    /// The definition that was in force.
    pub contract: ContractDigest,
    /// The arguments, by digest.
    pub input: InputDigest,
    /// The policy that was in force.
    pub policy: Digest,
}

const REPLAYED: &str = "\",\"replayed\":true,\"firstCall\":\"";

impl Receipt {
    /// Appends the receipt as one JSON object. The digests of the contract and of the policy come with their
    /// texts, because many receipts show the same ones.
    pub fn write(&self, out: &mut String, contract: &ShownDigest, policy: &ShownDigest) {
        debug_assert!(contract.digest() == self.contract.0 && policy.digest() == self.policy);
        // Digests and ids hold no character that JSON would have to escape.
        let mut id = uuid::Uuid::encode_buffer();
        out.push_str("{\"call\":\"");
        out.push_str(self.call.0.as_hyphenated().encode_lower(&mut id));
        out.push_str("\",\"effect\":\"");
        out.push_str(self.effect.as_str());
        match self.replayed {
            None => out.push_str("\",\"replayed\":false"),
            Some(first) => {
                out.push_str(REPLAYED);
                out.push_str(first.0.as_hyphenated().encode_lower(&mut id));
                out.push('"');
            }
        }
        out.push_str(",\"contract\":\"");
        out.push_str(contract.as_str());
        out.push_str("\",\"input\":\"");
        self.input.0.push(out);
        out.push_str("\",\"policy\":\"");
        out.push_str(policy.as_str());
        out.push_str("\"}");
    }

    /// The length of the text that [`Receipt::write`] appends, so that a buffer can be made in its final
    /// size.
    #[must_use]
    pub fn written_len(&self) -> usize {
        const FIXED: usize =
            "{\"call\":\"\",\"effect\":\",\"contract\":\"\",\"input\":\"\",\"policy\":\"\"}".len();
        const ID: usize = uuid::fmt::Hyphenated::LENGTH;
        let replayed = match self.replayed {
            None => "\",\"replayed\":false".len(),
            Some(_) => REPLAYED.len() + ID + 1,
        };
        FIXED + ID + self.effect.as_str().len() + replayed + 3 * DigestText::LENGTH
    }
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::{CallId, EffectStatus, Receipt};
    use crate::contract::digest::{ContractDigest, Digest, InputDigest, ShownDigest};

    #[test]
    fn a_receipt_is_one_object_that_names_everything_it_stands_for() {
        let digest = Digest::of_bytes(b"x");
        for effect in [EffectStatus::None, EffectStatus::Committed, EffectStatus::Unknown] {
            for replayed in [None, Some(CallId::new(1_600_000_000_000, &[3; 10]))] {
                let receipt = Receipt {
                    call: CallId::new(1_700_000_000_000, &[7; 10]),
                    effect,
                    replayed,
                    contract: ContractDigest(digest),
                    input: InputDigest(Digest::of_bytes(b"y")),
                    policy: Digest::of_bytes(b"z"),
                };
                let mut text = String::new();
                receipt.write(
                    &mut text,
                    &ShownDigest::new(receipt.contract.0),
                    &ShownDigest::new(receipt.policy),
                );
                assert_eq!(text.len(), receipt.written_len());
                let document = Document::parse(text, &Limits::DEFAULT).unwrap();
                let member = |name: &str| document.root().get(name).unwrap().as_str().unwrap().into_owned();
                assert_eq!(member("call"), receipt.call.to_string());
                assert_eq!(member("effect"), effect.as_str());
                assert_eq!(document.root().get("replayed").unwrap().as_bool(), Some(replayed.is_some()));
                if let Some(first) = replayed {
                    assert_eq!(member("firstCall"), first.to_string());
                }
                assert_eq!(member("contract"), digest.to_string());
                assert_eq!(member("input"), receipt.input.to_string());
                assert_eq!(member("policy"), receipt.policy.to_string());
                assert_eq!(document.root().len(), if replayed.is_some() { 7 } else { 6 });
            }
        }
    }
}
