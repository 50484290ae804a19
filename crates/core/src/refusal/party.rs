//! Who has to change something after a refusal, and whether to try again.
//!
//! Both follow from the code; nothing here may depend on what a caller sent. The server and the records show them.

use std::time::Duration;

/// Who is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// Whoever made the call.
    Caller,
    /// The operator's policy.
    Policy,
    /// The tool.
    Tool,
    /// A source or server behind the tool.
    Upstream,
    /// Callgate itself.
    Us,
}

impl Party {
    /// The name in records and in the manual.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Policy => "policy",
            Self::Tool => "tool",
            Self::Upstream => "upstream",
            Self::Us => "us",
        }
    }
}

/// Whether a retry makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It does not.
    No,
    /// The same request may be sent again.
    Same,
    /// The same request may be sent again after that time.
    After(Duration),
    /// A corrected request may be sent.
    Changed,
}

impl Retry {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Same => "same",
            Self::After(_) => "after",
            Self::Changed => "changed",
        }
    }
}
