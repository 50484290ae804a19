//! Exit codes. They are part of the public interface and documented in `docs/cli.md`.
//!
//! This file holds the only mapping from errors of the command line to codes.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The configuration has errors, or warnings where those count; they have been shown.
    Configuration,
    /// The server could not start or stopped with an error.
    Serve(String),
    /// An argument has a value that cannot be used.
    Usage(String),
    /// A file or directory could not be written.
    File { path: PathBuf, problem: String, remedy: &'static str },
    /// Some expected decisions are not what is decided; they have been shown.
    Decisions { failed: usize },
    /// The audit trail is not what was written; the breaks have been shown.
    Broken,
    /// The audit trail cannot be read, or has no such record.
    Trail(String),
    /// The outcome of an effect is still unknown, or was not changed.
    Unsettled(String),
    /// The call of the demonstration was not answered as it should be.
    Demo(String),
}

impl Failure {
    /// The code with which the process ends. The argument parser gives code 2 too.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Self::Configuration => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::File { .. } => ExitCode::from(3),
            Self::Serve(_) => ExitCode::from(4),
            Self::Demo(_) => ExitCode::from(5),
            Self::Decisions { .. } => ExitCode::from(6),
            Self::Broken => ExitCode::from(7),
            Self::Trail(_) => ExitCode::from(8),
            Self::Unsettled(_) => ExitCode::from(9),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration => f.write_str("the configuration is not served; see the findings above"),
            Self::Serve(problem) | Self::Trail(problem) | Self::Usage(problem) | Self::Unsettled(problem) => {
                f.write_str(problem)
            }
            Self::Broken => f.write_str("the audit trail is not what was written; see above"),
            Self::File { path, problem, remedy } => write!(f, "{}: {problem}; {remedy}", path.display()),
            Self::Decisions { failed: 1 } => f.write_str("a decision is not the expected one; see above"),
            Self::Decisions { failed } => {
                write!(f, "{failed} decisions are not the expected ones; see above")
            }
            Self::Demo(problem) => write!(f, "the demonstration failed: {problem}"),
        }
    }
}
