//! What a caller can quote about a call, and by which the operator finds it again.
//!
//! It must never hold anything that the caller may not know.

use std::fmt;

use crate::contract::digest::{ContractDigest, Digest, InputDigest};

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
        // Digests and ids hold no character that JSON would have to escape. The parts are appended one
        // by one because each answer has a receipt, and the formatting machinery costs ten times as much.
        let mut id = uuid::Uuid::encode_buffer();
        for part in [
            r#"{"call":""#,
            self.call.0.as_hyphenated().encode_lower(&mut id),
            r#"","effect":""#,
            self.effect.as_str(),
            if self.replayed {
                r#"","replayed":true,"contract":""#
            } else {
                r#"","replayed":false,"contract":""#
            },
            self.contract.0.text().as_str(),
            r#"","input":""#,
            self.input.0.text().as_str(),
            r#"","policy":""#,
            self.policy.text().as_str(),
            r#""}"#,
        ] {
            out.push_str(part);
        }
    }
}
