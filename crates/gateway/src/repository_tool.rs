//! Tools that are one operation of a repository: arguments in, matches or lines out.
//!
//! Which project may be used is decided by the policy before a tool runs. A project that this tool does
//! not have is answered like one that the policy does not permit. Neither a root nor what the system says
//! gets into what a caller reads. The pipeline calls it.

use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::repository::{Repository, RepositoryError, date_time};
use callgate_core::invocation::Invocation;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{Value, push_string};

use crate::cursor::Seals;

mod read;
pub(crate) mod schemas;
mod search;

pub(crate) use read::ReadTool;
pub(crate) use search::SearchTool;

/// What a tool does, as settled at load.
pub(crate) struct Plan {
    pub(crate) repository: Arc<Repository>,
    /// The projects that the tool may be used on.
    pub(crate) projects: Vec<String>,
    /// Matches or lines of a result.
    pub(crate) max_rows: usize,
    pub(crate) max_bytes: usize,
    pub(crate) cursor_lifetime: Duration,
    pub(crate) seals: Arc<Seals>,
}

impl Plan {
    /// The project of a call.
    fn project(&self, invocation: &Invocation<'_>) -> Result<&str, Refusal> {
        let asked = text(invocation, "project").unwrap_or_default();
        self.projects.iter().find(|name| **name == asked).map(String::as_str).ok_or_else(not_permitted)
    }

    /// The time now, as a result shows it.
    fn now(&self) -> String {
        date_time(self.seals.clock.now().0).unwrap_or_default()
    }
}

/// A string of the arguments.
fn text(invocation: &Invocation<'_>, name: &str) -> Option<String> {
    invocation.arguments().get(name).and_then(Value::as_str).map(Into::into)
}

/// A whole number of the arguments, which their schema bounds.
fn number(invocation: &Invocation<'_>, name: &str) -> Option<u64> {
    let value = invocation.arguments().get(name)?;
    // `5.0` is a whole number as well.
    value.raw().parse().ok().or_else(|| value.raw().parse::<f64>().ok().map(|number| number as u64))
}

/// Appends `,"name":"text"`.
fn push_text(json: &mut String, name: &str, text: &str) {
    push_raw(json, name, "");
    push_string(json, text);
}

/// Appends `,"name":value`.
fn push_raw(json: &mut String, name: &str, value: &str) {
    json.push(',');
    push_string(json, name);
    json.push(':');
    json.push_str(value);
}

/// What the pipeline says of a call that the policy denies.
fn not_permitted() -> Refusal {
    Refusal::new(Code::Forbidden, "the policy of this server does not permit the call")
        .with_detail("there is no such project")
}

/// What a caller may know of a failure; the rest goes to the log.
fn refusal(error: RepositoryError) -> Refusal {
    let detail = error.to_string();
    let refusal = match error {
        RepositoryError::UnknownProject => return not_permitted(),
        RepositoryError::NoSuchFile => Refusal::new(
            Code::InvalidArguments,
            "`path` names no file that can be read here; take it from the result of a search",
        ),
        RepositoryError::Binary => {
            Refusal::new(Code::ToolFailed, "the file is binary, and only text can be read")
        }
        RepositoryError::FileTooLarge { limit } => {
            Refusal::new(Code::ToolFailed, format!("the file has more than {limit} bytes and cannot be read"))
        }
        RepositoryError::NoSuchLine { lines } => Refusal::new(
            Code::InvalidArguments,
            format!("`start_line` is too large: the file has {lines} lines"),
        ),
        RepositoryError::Pattern { .. } => Refusal::new(
            Code::InvalidArguments,
            "`query` cannot be searched for: give at most 1,024 bytes without a line break; a regular expression has no \
             look-around and no back-references and must not be too large",
        ),
        RepositoryError::PathFilter { .. } => Refusal::new(
            Code::InvalidArguments,
            "`path` is no path and no pattern of paths; write it as `src/api` or `src/**/*.rs`",
        ),
        RepositoryError::ItemTooLarge => {
            Refusal::new(Code::OutputTooLarge, "one match or line is larger than this tool may return")
        }
        RepositoryError::Busy => Refusal::new(Code::Busy, "all places for work on these projects are in use"),
        RepositoryError::TimedOut => Refusal::new(Code::Timeout, "the work did not finish in time"),
        RepositoryError::Unavailable { .. } => {
            Refusal::new(Code::SourceUnavailable, "the files of the project are not available")
        }
        _ => Refusal::new(Code::Internal, "the work on the project failed"),
    };
    refusal.with_detail(detail)
}
