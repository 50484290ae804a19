//! Reading lines of one file of a project.
//!
//! The path is followed name by name under the same rules as a search, and each name must stand in its
//! folder exactly so: what a search would not show is not read. The repository is the caller.

use callgate_core::contract::digest::Digest;
use callgate_protocol::json::push_string;
use cap_std::fs::Dir;
use tokio::time::Instant;

use super::budget::{Budget, Spent};
use super::content::{Content, Unshown};
use super::folder::{Kind, open_folder};
use super::limits::Limits;
use super::rules::Rules;
use super::search::Bound;
use super::{RepositoryError, Shared, revision};

/// How often a file that changes meanwhile is read again.
const ATTEMPTS: usize = 3;

/// One reading.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Read {
    /// The path from the root, with slashes.
    pub path: String,
    /// The first line to give, from 1.
    pub start_line: u64,
    /// The last line to give; the last of the file if nothing is given.
    pub end_line: Option<u64>,
    /// Lines to give at most.
    pub max_lines: usize,
    /// Bytes of the text as JSON to give at most.
    pub max_bytes: usize,
    /// When nobody waits any more.
    pub deadline: Instant,
}

impl Read {
    /// A reading of a whole file, of one thousand lines and 256 KiB.
    #[must_use]
    pub fn new(path: impl Into<String>, deadline: Instant) -> Self {
        Self {
            path: path.into(),
            start_line: 1,
            end_line: None,
            max_lines: 1000,
            max_bytes: 256 << 10,
            deadline,
        }
    }
}

/// Lines of a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Excerpt {
    /// The lines as they are, each with what ends it.
    pub text: String,
    /// The first line.
    pub start_line: u64,
    /// The last line; one less than the first when there is none.
    pub end_line: u64,
    /// How many lines the file has.
    pub total_lines: u64,
    /// Which bound left out lines that were asked for.
    pub cut: Option<Bound>,
    /// Whether the last line is not whole.
    pub line_cut: bool,
    /// Whether bytes that are no UTF-8 were replaced.
    pub replaced: bool,
    /// The digest of the whole file.
    pub digest: Digest,
    /// The bytes of the whole file.
    pub size: u64,
    /// When the file was changed last, in microseconds since 1970.
    pub modified: Option<i64>,
    /// Whether the file changed while it was read.
    pub changed: bool,
    /// The commit of the checkout, if it is known and was the same before and after.
    pub revision: Option<String>,
}

/// Reads a file within the bounds.
pub(super) fn run(
    root: &Dir,
    shared: &Shared,
    read: &Read,
    budget: &Budget,
) -> Result<Excerpt, RepositoryError> {
    let limits = &shared.limits;
    let before = revision::of(root, limits.git_bytes);
    let mut rules = Rules::new(&shared.exclude, limits);
    rules.enter_root(root).map_err(super::unavailable)?;
    let content = load(root, rules, read, limits, budget)?;
    let after = revision::of(root, limits.git_bytes);
    let mut excerpt = excerpt(&content, read)?;
    excerpt.revision = before.filter(|before| after.as_ref() == Some(before));
    Ok(excerpt)
}

fn load(
    root: &Dir,
    mut rules: Rules<'_>,
    read: &Read,
    limits: &Limits,
    budget: &Budget,
) -> Result<Content, RepositoryError> {
    let parts: Vec<&str> = read.path.split('/').collect();
    if read.path.len() > limits.path_bytes || parts.len() > limits.depth + 1 {
        return Err(RepositoryError::NoSuchFile);
    }
    let mut opened: Option<Dir> = None;
    let mut path = String::new();
    for (index, name) in parts.iter().enumerate() {
        let folder = opened.as_ref().unwrap_or(root);
        let is_last = index + 1 == parts.len();
        let kind = if is_last { Kind::File } else { Kind::Folder };
        path.push_str(name);
        if !rules.shows(&path, kind) || !stands_in(folder, name, kind, limits, budget)? {
            return Err(RepositoryError::NoSuchFile);
        }
        if is_last {
            return content(folder, name, limits, budget);
        }
        let inner = open_folder(folder, name).map_err(|_| RepositoryError::NoSuchFile)?;
        path.push('/');
        rules.enter(&inner, path.len()).map_err(|_| RepositoryError::NoSuchFile)?;
        opened = Some(inner);
    }
    Err(RepositoryError::NoSuchFile)
}

/// Whether the folder lists exactly this name. On a file system that does not tell letters apart by case,
/// another spelling would open the file and get past its rules.
fn stands_in(
    folder: &Dir,
    name: &str,
    kind: Kind,
    limits: &Limits,
    budget: &Budget,
) -> Result<bool, RepositoryError> {
    let Ok(listing) = folder.entries() else { return Ok(false) };
    let mut stands = false;
    for (count, entry) in listing.enumerate() {
        if count >= limits.folder_entries {
            return Ok(false);
        }
        if count % 256 == 0 {
            budget.check().map_err(spent)?;
        }
        let Ok(entry) = entry else { return Ok(false) };
        if entry.file_name() == name {
            stands = entry.file_type().ok().and_then(Kind::of) == Some(kind);
        }
    }
    Ok(stands)
}

fn content(folder: &Dir, name: &str, limits: &Limits, budget: &Budget) -> Result<Content, RepositoryError> {
    let mut attempt = 1;
    loop {
        let loaded = Content::load(folder, name, limits.file_bytes, budget, Vec::new());
        match loaded {
            Ok(content) if content.changed && attempt < ATTEMPTS => attempt += 1,
            Ok(content) => return Ok(content),
            Err(Unshown::Unreadable) => return Err(RepositoryError::NoSuchFile),
            Err(Unshown::TooLarge) => return Err(RepositoryError::FileTooLarge { limit: limits.file_bytes }),
            Err(Unshown::Binary) => return Err(RepositoryError::Binary),
            Err(Unshown::Spent(why)) => return Err(spent(why)),
        }
    }
}

fn spent(_: Spent) -> RepositoryError {
    RepositoryError::TimedOut
}

fn excerpt(content: &Content, read: &Read) -> Result<Excerpt, RepositoryError> {
    let lines: Vec<&[u8]> = content.bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let total_lines = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    let start_line = read.start_line.max(1);
    if start_line > total_lines.max(1) {
        return Err(RepositoryError::NoSuchLine { lines: total_lines });
    }
    let first = usize::try_from(start_line - 1).unwrap_or(usize::MAX);
    let last = read.end_line.map_or(lines.len(), |end| usize::try_from(end).unwrap_or(usize::MAX));
    let asked = lines.get(first..last.min(lines.len())).unwrap_or_default();
    let mut excerpt = Excerpt {
        text: String::new(),
        start_line,
        end_line: start_line - 1,
        total_lines,
        cut: None,
        line_cut: false,
        replaced: false,
        digest: Digest::of_bytes(&content.bytes),
        size: u64::try_from(content.bytes.len()).unwrap_or(u64::MAX),
        modified: content.modified,
        changed: content.changed,
        revision: None,
    };
    let mut room = read.max_bytes;
    for (count, line) in asked.iter().enumerate() {
        if count == read.max_lines {
            excerpt.cut = Some(Bound::Lines);
            break;
        }
        let text = String::from_utf8_lossy(line);
        let replaced = matches!(text, std::borrow::Cow::Owned(_));
        let cost = json_bytes(&text);
        if cost > room {
            excerpt.cut = Some(Bound::Bytes);
            if count > 0 {
                break;
            }
            // Nobody could get past a line that is longer than a whole result.
            let part = beginning(&text, room);
            if part.is_empty() {
                return Err(RepositoryError::ItemTooLarge);
            }
            excerpt.text.push_str(part);
            excerpt.line_cut = true;
            excerpt.replaced |= replaced;
            excerpt.end_line += 1;
            break;
        }
        room -= cost;
        excerpt.text.push_str(&text);
        excerpt.replaced |= replaced;
        excerpt.end_line += 1;
    }
    Ok(excerpt)
}

/// The bytes of a text inside a JSON string.
fn json_bytes(text: &str) -> usize {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json.len() - 2
}

/// The beginning of a text that fits into so many bytes of JSON.
fn beginning(text: &str, room: usize) -> &str {
    let mut used = 0;
    let mut buffer = [0; 4];
    for (at, character) in text.char_indices() {
        used += json_bytes(character.encode_utf8(&mut buffer));
        if used > room {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}
