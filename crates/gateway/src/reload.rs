//! Putting a changed file in force while the server runs.
//!
//! A whole new snapshot is built beside the one in force and replaces it only if it has no error. The
//! directories of all files are watched, not the files: editors replace files, and volumes swap links.
//! Whether something changed is decided by the contents. The gate makes a reloader.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgate_core::contract::digest::{Digest, DigestBuilder};
use callgate_server::{BuildError, Handle};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::config::Report;
use crate::gate::Recipe;

/// How long the files must be left alone before they are read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(100);
/// After how many busy periods the files are read all the same: a store beside them may never rest.
const PATIENCE: u32 = 20;
/// Bytes of a file that count for its contents: more than any file that is accepted.
const CONTENTS_MAX: usize = 2 << 20;

/// Puts a file in force again.
pub struct Reloader {
    shared: Arc<Shared>,
}

struct Shared {
    recipe: Recipe,
    handle: Handle,
    /// The files of the last load, also of one that failed: correcting any of them must be noticed.
    files: Mutex<Vec<PathBuf>>,
}

/// Why a file was not put in force. The one before it still is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The file has errors.
    #[error("{0}")]
    Refused(Report),
    /// The file does not fit together with the tools of Rust.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("the configuration cannot be watched for changes")]
pub struct WatchError(#[source] notify::Error);

impl Reloader {
    pub(crate) fn new(recipe: Recipe, handle: Handle, files: Vec<PathBuf>) -> Self {
        Self { shared: Arc::new(Shared { recipe, handle, files: Mutex::new(files) }) }
    }

    /// Loads the file and puts it in force, and gives back what should be better about it. It blocks
    /// while the sources are asked.
    ///
    /// # Errors
    /// Everything that is wrong; then the old one stays in force.
    pub fn reload(&self) -> Result<Report, ReloadError> {
        self.shared.reload()
    }

    /// Watches the files on a thread of its own, until what is returned is dropped.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn watch(self) -> Result<Watching, WatchError> {
        let (events, changes) = channel();
        let watcher = watcher(&events).map_err(WatchError)?;
        let mut watch = Watch { shared: self.shared, watcher, watched: BTreeSet::new(), seen: None };
        watch.follow().map_err(WatchError)?;
        watch.seen = Some(watch.shared.contents());
        std::thread::Builder::new()
            .name("callgate-reload".to_owned())
            .spawn(move || watch.run(&changes))
            .map_err(|error| WatchError(notify::Error::io(error)))?;
        Ok(Watching { events })
    }
}

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader").field("path", &self.shared.recipe.path()).finish_non_exhaustive()
    }
}

/// The files are watched as long as this lives.
#[must_use = "dropping it ends the watch"]
pub struct Watching {
    events: Sender<Event>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        // The thread may have ended already.
        let _ = self.events.send(Event::Stop);
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watching")
    }
}

enum Event {
    Changed,
    Stop,
}

impl Shared {
    fn reload(&self) -> Result<Report, ReloadError> {
        let loaded = self.recipe.load();
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&loaded.files);
        if loaded.report.has_errors() {
            return Err(ReloadError::Refused(loaded.report));
        }
        let report = loaded.report.clone();
        self.handle.reload(self.recipe.builder(loaded))?;
        Ok(report)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The digest of what is in the files.
    fn contents(&self) -> Digest {
        let mut builder = DigestBuilder::new("callgate/files/1");
        for file in self.files() {
            let text = crate::config::read_text(&file, CONTENTS_MAX).unwrap_or_else(|why| format!("\0{why}"));
            builder.field(&file.to_string_lossy(), &text);
        }
        builder.finish()
    }
}

fn watcher(events: &Sender<Event>) -> notify::Result<RecommendedWatcher> {
    let events = events.clone();
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the files makes events of its own, which would never end.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            // The thread may have ended already.
            let _ = events.send(Event::Changed);
        }
    })
}

struct Watch {
    shared: Arc<Shared>,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    /// The contents that were last loaded, or refused.
    seen: Option<Digest>,
}

impl Watch {
    fn run(mut self, changes: &Receiver<Event>) {
        while let Ok(Event::Changed) = changes.recv() {
            if !settled(changes) {
                return;
            }
            let contents = self.shared.contents();
            if self.seen.as_ref() == Some(&contents) {
                continue;
            }
            match self.shared.reload() {
                Ok(report) if report.findings().is_empty() => {
                    tracing::info!("the changed configuration is in force");
                }
                Ok(report) => tracing::warn!("the changed configuration is in force\n{report}"),
                Err(error) => tracing::error!("the configuration in force was kept\n{error}"),
            }
            // Of the files of this load: it may have named others than the one before.
            self.seen = Some(self.shared.contents());
            if let Err(error) = self.follow() {
                tracing::error!(%error, "some files of the configuration are not watched");
            }
        }
    }

    /// Watches the directory of each file.
    fn follow(&mut self) -> notify::Result<()> {
        for file in self.shared.files() {
            for directory in directories(&file) {
                if directory.is_dir() && !self.watched.contains(&directory) {
                    self.watcher.watch(&directory, RecursiveMode::NonRecursive)?;
                    self.watched.insert(directory);
                }
            }
        }
        Ok(())
    }
}

/// The directory of a file, and that of what the file is a link to.
fn directories(file: &Path) -> Vec<PathBuf> {
    let parent = |path: &Path| match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Some(PathBuf::from(".")),
        Some(parent) => Some(parent.to_owned()),
        None => None,
    };
    let real = std::fs::canonicalize(file).ok();
    parent(file).into_iter().chain(real.as_deref().and_then(parent)).collect()
}

/// Waits until nothing changes any more. False when the watch is over.
fn settled(changes: &Receiver<Event>) -> bool {
    for _ in 0..PATIENCE {
        match changes.recv_timeout(QUIET) {
            Ok(Event::Changed) => {
                // One busy period, however many events it brings.
                std::thread::sleep(QUIET);
                while let Ok(event) = changes.try_recv() {
                    if matches!(event, Event::Stop) {
                        return false;
                    }
                }
            }
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => return true,
        }
    }
    true
}
