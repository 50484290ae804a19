//! The severity of log messages, and the message itself.
//!
//! A message must never be sent to a client that did not ask for its level. Servers that still log over
//! MCP call it; the feature is deprecated in 2026-07-28.

use std::fmt;

/// The severity of a log message, as in RFC 5424. Ordered from the least severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LogLevel {
    /// Detail for debugging.
    Debug,
    /// Something of interest.
    Info,
    /// Normal but significant.
    Notice,
    /// Something that may become a fault.
    Warning,
    /// A fault.
    Error,
    /// A fault of a critical part.
    Critical,
    /// Something must be done at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// Every level, from the least severe.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// What an error says that it expected.
    pub(crate) const EXPECTED: &'static str =
        "one of debug, info, notice, warning, error, critical, alert, emergency";

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
