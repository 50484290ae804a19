//! The file of a trail: making it for its owner alone, and telling it from another of the same name.
//!
//! It never opens the database. The store calls it.

use std::io;
use std::path::Path;

/// Which file a path led to, and how long it was. Another one of the same name is another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Nothing where the system does not say.
    pub(super) id: Option<(u64, u64)>,
    /// In bytes.
    pub(super) length: u64,
}

impl Found {
    /// The file that the path leads to now, if there is one. It is not opened.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { id: id(&metadata), length: metadata.len() })
    }
}

#[cfg(unix)]
fn id(metadata: &std::fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn id(_: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// Whether there is a log beside the file with anything in it.
pub(super) fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
}

/// Makes an empty file unless there is one. Only its owner may read what callers did.
pub(super) fn make(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
