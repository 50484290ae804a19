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
        Self { path, digest: Digest::of_bytes(&bytes), error: read.err().map(|error| error.kind()) }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// True when something else is in the file by now.
    pub(crate) fn has_changed(&self) -> bool {
        Self::now(self.path.as_path()) != *self
    }
}

#[cfg(test)]
mod tests {
    use super::FileState;

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
