//! What is wrong with a policy, where, and what to do about it.
//!
//! A fault never holds a value of a call. The loader makes faults; the gateway shows them with the line.

use std::fmt;
use std::ops::Range;

/// Whether a fault keeps the policies from being in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicySeverity {
    /// They are refused.
    Error,
    /// They are in force; somebody should look at it.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyFault {
    /// Whether it is fatal.
    pub severity: PolicySeverity,
    /// A stable name of the rule.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// Which of the texts, by its index; nothing where it is about all of them.
    pub text: Option<usize>,
    /// The bytes of that text.
    pub span: Range<usize>,
}

impl PolicyFault {
    pub(super) fn error(
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
        text: usize,
        span: Range<usize>,
    ) -> Self {
        Self {
            severity: PolicySeverity::Error,
            code,
            message: message.into(),
            remedy: remedy.into(),
            text: Some(text),
            span,
        }
    }

    pub(super) fn warning(self) -> Self {
        Self { severity: PolicySeverity::Warning, ..self }
    }
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.remedy)
    }
}
