//! Directories of source code: searching their files and reading them, project by project.
//!
//! Nothing outside the root of a project is ever opened: every file is reached name by name from an open
//! directory, no link is followed, and what is ignored, hidden or binary is neither searched nor read.
//! Work runs on a bounded number of threads and ends when its caller leaves. The gateway is the caller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tokio::time::Instant;

mod budget;
mod content;
mod fault;
mod filter;
mod folder;
mod jobs;
mod json;
mod limits;
mod lines;
mod matches;
mod read;
mod revision;
mod rules;
mod search;
mod walk;

pub use fault::{OptionsFault, RepositoryError, RootFault};
pub use json::date_time;
pub use limits::Limits;
pub use read::{Excerpt, Read};
pub use search::{Bound, Case, Found, Position, Search, Syntax};

use jobs::Jobs;
use rules::Rules;

/// How a repository is used.
///
/// # Defaults
/// | option | default | why |
/// | --- | --- | --- |
/// | `exclude` | empty | ignored and hidden files are left out anyway |
/// | `concurrency` | 4 | a search keeps a core and a disk busy |
/// | `wait` | 2 s | slow calls must not use up the time of the others; they come again |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The root directory of each project, by its name.
    pub projects: Vec<(String, PathBuf)>,
    /// Files that are never shown, in the syntax of `.gitignore`, from the root of each project.
    pub exclude: Vec<String>,
    /// How many calls work at the same time.
    pub concurrency: usize,
    /// How long a call waits for its turn, at most until its deadline.
    pub wait: Duration,
    /// How much one call may do.
    pub limits: Limits,
}

impl Options {
    /// The defaults for these projects.
    #[must_use]
    pub fn new(projects: Vec<(String, PathBuf)>) -> Self {
        Self {
            projects,
            exclude: Vec::new(),
            concurrency: 4,
            wait: Duration::from_secs(2),
            limits: Limits::default(),
        }
    }
}

/// Projects in which can be searched and read.
#[derive(Debug)]
pub struct Repository {
    projects: BTreeMap<String, PathBuf>,
    shared: Arc<Shared>,
    jobs: Jobs,
}

/// What every call needs.
#[derive(Debug)]
struct Shared {
    exclude: Gitignore,
    limits: Limits,
}

impl Repository {
    /// A repository of these projects. Nothing is opened yet.
    ///
    /// # Errors
    /// The first pattern of `exclude` that is none.
    pub fn new(options: Options) -> Result<Self, OptionsFault> {
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        for (index, pattern) in options.exclude.iter().enumerate() {
            builder.add_line(None, pattern).map_err(|_| OptionsFault::Exclude { index })?;
        }
        let exclude = builder.build().map_err(|_| OptionsFault::Exclude { index: 0 })?;
        Ok(Self {
            projects: options.projects.into_iter().collect(),
            shared: Arc::new(Shared { exclude, limits: options.limits }),
            jobs: Jobs::new(options.concurrency, options.wait),
        })
    }

    /// Whether a file of that path from the root of a project is one that is never shown by configuration.
    #[must_use]
    pub fn excludes(&self, path: &str) -> bool {
        self.shared.exclude.matched_path_or_any_parents(path, false).is_ignore()
    }

    /// Opens the root of a project once and gives back where it really is.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn probe(&self, project: &str) -> Result<PathBuf, RootFault> {
        let root = self.projects.get(project).ok_or(RootFault::Missing)?;
        let real = std::fs::canonicalize(root).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => RootFault::Missing,
            kind => RootFault::Unreadable(kind.to_string()),
        })?;
        if !real.is_dir() {
            return Err(RootFault::NotADirectory);
        }
        let directory = open_root(root).map_err(|error| RootFault::Unreadable(error.kind().to_string()))?;
        directory.entries().map_err(|error| RootFault::Unreadable(error.kind().to_string()))?;
        let mut rules = Rules::new(&self.shared.exclude, &self.shared.limits);
        rules.enter_root(&directory).map_err(|_| RootFault::Rules)?;
        Ok(real)
    }

    /// Searches the files of a project.
    ///
    /// Cancel safe: dropping the future stops the work.
    ///
    /// # Errors
    /// Why nothing was found out.
    pub async fn search(&self, project: &str, search: Search) -> Result<Found, RepositoryError> {
        let root = self.root(project)?;
        let shared = Arc::clone(&self.shared);
        let deadline = search.deadline;
        let work = move |budget: &budget::Budget| {
            let prepared = search::Prepared::new(search, &shared.limits)?;
            search::run(&open_root(&root).map_err(unavailable)?, &shared, &prepared, budget)
        };
        self.jobs.run(deadline, work).await
    }

    /// Reads lines of a file of a project.
    ///
    /// Cancel safe: dropping the future stops the work.
    ///
    /// # Errors
    /// Why nothing was read. That there is no such file, that it is ignored, hidden or outside, is one
    /// error.
    pub async fn read(&self, project: &str, read: Read) -> Result<Excerpt, RepositoryError> {
        let root = self.root(project)?;
        let shared = Arc::clone(&self.shared);
        let deadline = read.deadline;
        let work = move |budget: &budget::Budget| {
            read::run(&open_root(&root).map_err(unavailable)?, &shared, &read, budget)
        };
        self.jobs.run(deadline, work).await
    }

    fn root(&self, project: &str) -> Result<PathBuf, RepositoryError> {
        self.projects.get(project).cloned().ok_or(RepositoryError::UnknownProject)
    }
}

/// Opens a root. It is the only place where a path is not relative to an open directory; it is opened for
/// each call, so that a checkout that was replaced is the one that is searched.
fn open_root(root: &Path) -> std::io::Result<Dir> {
    Dir::open_ambient_dir(root, ambient_authority())
}

fn unavailable(error: std::io::Error) -> RepositoryError {
    RepositoryError::Unavailable { detail: error.to_string() }
}

/// When work for a call must be given up so that what was found by then still reaches the caller.
fn work_until(now: Instant, deadline: Instant) -> Instant {
    now + deadline.saturating_duration_since(now) / 5 * 4
}

#[cfg(test)]
mod tests;
