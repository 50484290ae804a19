//! What was in a file when it was read.
//!
//! The state is taken before the file is read for good: a save in between is then seen as a change and
//! never lost. A state holds a digest, never the contents. The loader takes states, the reload compares
//! them.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use callgate_core::contract::digest::Digest;

/// Bytes of a file that count for its state: more than any file that is accepted.
const BYTES: u64 = 2 << 20;

/// A file with the digest of its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    path: PathBuf,
    /// What is compared: the names in the directory that match this, instead of the contents of a file.
    pattern: Option<String>,
    digest: Digest,
    /// Why it cannot be read.
    error: Option<ErrorKind>,
}

impl FileState {
    /// What is in the file now. That it cannot be read is a state like any other.
    pub(crate) fn now(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let mut bytes = Vec::new();
        let read = std::fs::File::open(&path).and_then(|file| file.take(BYTES).read_to_end(&mut bytes));
        let error = read.err().map(|error| error.kind());
        Self { path, pattern: None, digest: Digest::of_bytes(&bytes), error }
    }

    /// Which files of a directory have a matching name now.
    pub(crate) fn listing(directory: &Path, pattern: &str) -> Self {
        let names = matching(directory, pattern);
        let error = names.as_ref().err().map(std::io::Error::kind);
        let digest = Digest::of_bytes(names.unwrap_or_default().join("\0").as_bytes());
        // A file of no name stands for the directory: the directory of the path is what is watched.
        Self { path: directory.join(pattern), pattern: Some(pattern.to_owned()), digest, error }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// True when something else is in the file by now.
    pub(crate) fn has_changed(&self) -> bool {
        let now = match &self.pattern {
            Some(pattern) => Self::listing(self.path.parent().unwrap_or(Path::new("")), pattern),
            None => Self::now(self.path.as_path()),
        };
        now != *self
    }
}

/// Names of a directory that are looked at; one with more is not made for policies.
const NAMES: usize = 10_000;

/// The names in a directory that match a pattern in which `*` stands for any characters, in their order.
pub(crate) fn matching(directory: &Path, pattern: &str) -> std::io::Result<Vec<String>> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)?.take(NAMES) {
        let name = entry?.file_name();
        names.extend(name.to_str().filter(|name| matches(pattern, name)).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<_> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place is as good as any later one, because a star follows.
        let Some(at) = left.find(part) else { return false };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::{FileState, matches};

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, fits) in [
            ("*.cedar", "a.cedar", true),
            ("*.cedar", ".cedar", true),
            ("*.cedar", "a.cedar~", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("a*a", "a", false),
            ("a.cedar", "a.cedar", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_listing_changes_with_matching_names_alone() {
        let directory = tempfile::tempdir().unwrap();
        let listing = FileState::listing(directory.path(), "*.cedar");
        std::fs::write(directory.path().join("a.toml"), "").unwrap();
        assert!(!listing.has_changed());
        std::fs::write(directory.path().join("a.cedar"), "").unwrap();
        assert!(listing.has_changed());
        assert!(!FileState::listing(directory.path(), "*.cedar").has_changed());
    }

    #[test]
    fn a_file_that_appears_changes_or_goes_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let missing = FileState::now(&path);
        assert!(!missing.has_changed());
        std::fs::write(&path, "{}").unwrap();
        assert!(missing.has_changed());
        let written = FileState::now(&path);
        assert!(!written.has_changed());
        std::fs::write(&path, "[]").unwrap();
        assert!(written.has_changed());
        std::fs::remove_file(&path).unwrap();
        assert!(written.has_changed());
    }
}
