//! The revisions of the protocol, oldest first.
//!
//! It must never treat an unknown revision as a known one. Classification, `initialize` and every
//! place where the wire form differs between revisions call it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A revision of the Model Context Protocol that Callgate serves. Ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05, the first; served over stdio only.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, audio, tool annotations, JSON-RPC batches.
    V2025_03_26,
    /// 2025-06-18: structured results, elicitation, resource links; batches removed.
    V2025_06_18,
    /// 2025-11-25: icons, URL elicitation, sampling with tools.
    V2025_11_25,
    /// 2026-07-28: stateless requests, MRTR, subscriptions.
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision that begins with `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// True when every request carries its own metadata and there is no `initialize`.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Looks a name up without building an error.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        // The newest first: it is looked up for every request.
        match name {
            "2026-07-28" => Some(Self::V2026_07_28),
            "2025-11-25" => Some(Self::V2025_11_25),
            "2025-06-18" => Some(Self::V2025_06_18),
            "2025-03-26" => Some(Self::V2025_03_26),
            "2024-11-05" => Some(Self::V2024_11_05),
            _ => None,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no revision served here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "unknown protocol revision, expected one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"
)]
pub struct UnknownRevision;

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(name: &str) -> Result<Self, UnknownRevision> {
        Self::of_name(name).ok_or(UnknownRevision)
    }
}
