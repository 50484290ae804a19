//! What a call does to the world, and the annotations that follow from it.
//!
//! Annotations are derived here and nowhere else; no check ever reads one. Source:
//! <https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations>

use std::fmt;
use std::str::FromStr;

/// The effect of a tool, declared by whoever answers for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Reads the operator's own data.
    Read,
    /// Reads, and somebody outside can see that it was read.
    ExternalRead,
    /// Computes what a commit would do, without doing it.
    Preview,
    /// Adds something new with each call.
    Append,
    /// Sets something; doing it twice is doing it once.
    Update,
    /// Removes or overwrites something that cannot be brought back.
    Destructive,
}

impl Effect {
    /// All effects, from the harmless to the destructive.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::ExternalRead, Self::Preview, Self::Append, Self::Update, Self::Destructive];

    /// The name used in configuration, policies and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ExternalRead => "external_read",
            Self::Preview => "preview",
            Self::Append => "append",
            Self::Update => "update",
            Self::Destructive => "destructive",
        }
    }

    /// True when a call changes something, so that it must go through the ledger.
    #[must_use]
    pub const fn changes_something(self) -> bool {
        matches!(self, Self::Append | Self::Update | Self::Destructive)
    }

    /// The annotations of the tool as a JSON object.
    #[must_use]
    pub const fn annotations(self) -> &'static str {
        match self {
            Self::Read | Self::Preview => r#"{"readOnlyHint":true,"openWorldHint":false}"#,
            Self::ExternalRead => r#"{"readOnlyHint":true,"openWorldHint":true}"#,
            Self::Append => {
                r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}"#
            }
            Self::Update => {
                r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#
            }
            Self::Destructive => {
                r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}"#
            }
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Effect {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|effect| effect.as_str() == text)
            .ok_or("an effect is one of read, external_read, preview, append, update, destructive")
    }
}
