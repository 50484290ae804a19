//! Why a repository cannot be used, and why a call on one gave nothing.

/// Something is wrong with the options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsFault {
    /// A pattern of `exclude` is none.
    #[error("the pattern number {index} of `exclude` is not valid")]
    Exclude {
        /// Which one, from 0.
        index: usize,
    },
}

/// Why the root of a project cannot be used. It is shown to the operator, never to a caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootFault {
    /// There is nothing of that name.
    #[error("there is no such directory")]
    Missing,
    /// It is not a directory.
    #[error("it is not a directory")]
    NotADirectory,
    /// The system does not let it be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// Its rules of what to ignore cannot be read.
    #[error("its `.gitignore` or `.ignore` is too large, a link, or cannot be read")]
    Rules,
}

/// Why a call gave nothing. `detail` texts are for the log only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// There is no project of that name.
    #[error("there is no such project")]
    UnknownProject,
    /// There is no file of that path to be shown.
    #[error("there is no such file to be shown")]
    NoSuchFile,
    /// The file is binary.
    #[error("the file is binary")]
    Binary,
    /// The file is larger than the bound.
    #[error("the file is larger than {limit} bytes")]
    FileTooLarge {
        /// The bound.
        limit: usize,
    },
    /// The file ends before the first line that was asked for.
    #[error("the file has {lines} lines")]
    NoSuchLine {
        /// How many lines the file has.
        lines: u64,
    },
    /// The pattern cannot be searched for.
    #[error("the pattern cannot be searched for: {detail}")]
    Pattern {
        /// What is wrong with it.
        detail: String,
    },
    /// The filter of paths is none.
    #[error("the filter of paths is not valid: {detail}")]
    PathFilter {
        /// What is wrong with it.
        detail: String,
    },
    /// One match or line alone is beyond the bound on bytes.
    #[error("one item is larger than the bound on bytes")]
    ItemTooLarge,
    /// All threads for this work are in use, and none came free in the time that a call waits.
    #[error("all places for work on the repository are in use")]
    Busy,
    /// The work took longer than the deadline.
    #[error("the work did not finish in time")]
    TimedOut,
    /// The root cannot be opened.
    #[error("the root of the project is not available: {detail}")]
    Unavailable {
        /// What the system said.
        detail: String,
    },
    /// The work failed.
    #[error("the work failed: {detail}")]
    Failed {
        /// How.
        detail: String,
    },
}
