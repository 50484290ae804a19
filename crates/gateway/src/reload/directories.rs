//! Watching the directories of files, also those that do not exist yet or are replaced.
//!
//! A watch belongs to a directory on disk, not to its name: after `mv app app.old` it stays with
//! `app.old`. So what a name leads to is compared at each look. The reload is the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::files::FileState;

/// The directories that are watched.
pub(super) struct Directories {
    watcher: RecommendedWatcher,
    watched: BTreeMap<PathBuf, Identity>,
}

/// Which directory a name led to. The number alone is given to the next directory again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    number: (u64, u64),
    made: Option<SystemTime>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self { number: number(metadata), made: metadata.created().ok() }
    }
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

impl Directories {
    /// Nothing is watched yet. The function is called on each change.
    pub(super) fn new(changed: impl Fn() + Send + 'static) -> notify::Result<Self> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading the files makes events of its own, which would never end.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                changed();
            }
        })?;
        Ok(Self { watcher, watched: BTreeMap::new() })
    }

    /// Watches the directories of these files and no others.
    pub(super) fn follow(&mut self, files: &[FileState]) -> notify::Result<()> {
        let wanted: BTreeSet<PathBuf> = files.iter().flat_map(|file| directories(file.path())).collect();
        let watcher = &mut self.watcher;
        self.watched.retain(|directory, identity| {
            let stays = wanted.contains(directory) && identity_of(directory) == Some(*identity);
            if !stays {
                // The watch of a directory that was removed has ended already.
                let _ = watcher.unwatch(directory);
            }
            stays
        });
        for directory in wanted {
            if self.watched.contains_key(&directory) {
                continue;
            }
            // Looked at before it is watched: if it is replaced in between, the next look notices.
            if let Some(identity) = identity_of(&directory) {
                self.watcher.watch(&directory, RecursiveMode::NonRecursive)?;
                self.watched.insert(directory, identity);
            }
        }
        Ok(())
    }
}

fn identity_of(directory: &Path) -> Option<Identity> {
    std::fs::metadata(directory).ok().map(|metadata| Identity::of(&metadata))
}

/// The directory of a file, or the nearest one around it that exists; and that of what the file is a
/// link to.
fn directories(file: &Path) -> Vec<PathBuf> {
    let own = file.ancestors().skip(1).map(named).find(|directory| directory.is_dir());
    let real = std::fs::canonicalize(file).ok();
    own.into_iter().chain(real.as_deref().and_then(Path::parent).map(named)).collect()
}

/// A path that is empty means the current directory.
fn named(directory: &Path) -> PathBuf {
    if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory.to_owned() }
}
