//! Putting a changed file in force while the server runs.
//!
//! A whole new snapshot is built beside the one in force and replaces it only if it has no error. The
//! directories of all files are watched, not the files: editors replace files, and volumes swap links.
//! Whether something changed is decided by the contents alone, compared with what was loaded; a save at
//! any moment is therefore noticed. The gate makes a reloader.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgate_server::{BuildError, Handle};

use crate::config::{AuditTable, Config, Finding, Place, Report, StoreTable, TlsTable};
use crate::files::FileState;
use crate::gate::Recipe;

mod directories;

use directories::Directories;

/// How long the files must be left alone before they are read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(100);
/// After how many busy periods the files are read all the same: a store beside them may never rest.
const PATIENCE: u32 = 20;
/// How often the files are compared although nothing was reported: some file systems report nothing,
/// and a directory can be replaced behind the back of its watch.
const POLL: Duration = Duration::from_secs(2);

/// Puts a file in force again.
pub struct Reloader {
    shared: Arc<Shared>,
}

struct Shared {
    recipe: Recipe,
    handle: Handle,
    /// The files as the last load read them, also one that failed: correcting any must be noticed.
    files: Mutex<Vec<FileState>>,
    kept: KeptTables,
}

/// The tables whose stores were opened at the start and stay open, whatever the file says later.
pub(crate) struct KeptTables {
    audit: Option<AuditTable>,
    store: Option<StoreTable>,
}

impl KeptTables {
    pub(crate) fn of(config: &Config) -> Self {
        Self { audit: config.audit.clone(), store: config.store.clone() }
    }

    /// What the file says now and is not done.
    fn stale(&self, now: &Config) -> impl Iterator<Item = Finding> {
        let audit = match (&self.audit, &now.audit) {
            (Some(one), Some(other)) => one.says_the_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let store = match (&self.store, &now.store) {
            (Some(one), Some(other)) => one.says_the_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let finding = |code, name, place: Option<Place>| {
            let message = format!("[{name}] has changed and takes effect when the server is started again");
            let finding = Finding::warning(code, message, "restart the server");
            place.map_or(finding.clone(), |place| finding.at(place))
        };
        let audit_place = now.audit.as_ref().map(|table| table.place.clone());
        let store_place = now.store.as_ref().map(|table| table.place.clone());
        let audit = (!audit).then(|| finding("audit_unchanged", "audit", audit_place));
        let store = (!store).then(|| finding("store_unchanged", "store", store_place));
        audit.into_iter().chain(store)
    }
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
    pub(crate) fn new(recipe: Recipe, handle: Handle, files: Vec<FileState>, kept: KeptTables) -> Self {
        Self { shared: Arc::new(Shared { recipe, handle, files: Mutex::new(files), kept }) }
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
        let sender = events.clone();
        let mut directories = Directories::new(move || {
            // The thread may have ended already.
            let _ = sender.send(Event::Changed);
        })
        .map_err(WatchError)?;
        directories.follow(&self.shared.files()).map_err(WatchError)?;
        let watch = Watch { shared: self.shared, directories };
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
        let mut findings = loaded.report.findings().to_vec();
        findings.extend(self.kept.stale(&loaded.config));
        let (tls, table) = (loaded.tls.clone(), loaded.config.tls.clone());
        self.handle.reload(self.recipe.builder(loaded, None, None))?;
        // Only now: a certificate belongs to the file that is in force, and not to one that was refused.
        if !self.recipe.replace_certificate(tls.as_ref()) {
            findings.push(stale_tls(table.as_ref()));
        }
        Ok(Report::new(findings))
    }

    fn files(&self) -> Vec<FileState> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True when a file is not what was loaded.
    fn has_changed(&self) -> bool {
        self.files().iter().any(FileState::has_changed)
    }
}

/// Whether a server ends TLS is said when it starts.
fn stale_tls(table: Option<&TlsTable>) -> Finding {
    let change = if table.is_some() { "added" } else { "removed" };
    let message = format!("[tls] was {change} and takes effect when the server is started again");
    let finding = Finding::warning("tls_unchanged", message, "restart the server");
    let place = table.and_then(|table| table.certificate.as_ref()).map(|path| path.place().clone());
    place.map_or(finding.clone(), |place| finding.at(place))
}

struct Watch {
    shared: Arc<Shared>,
    directories: Directories,
}

impl Watch {
    fn run(mut self, changes: &Receiver<Event>) {
        loop {
            let changed = self.shared.has_changed();
            if changed {
                self.reload();
            }
            // What changed between a load and the watch of its directories is found by the next look.
            let wait = if changed { QUIET } else { POLL };
            match changes.recv_timeout(wait) {
                Ok(Event::Changed) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if !settled(changes) {
                return;
            }
            if let Err(error) = self.directories.follow(&self.shared.files()) {
                tracing::debug!(%error, "a directory of the configuration is not watched");
            }
        }
    }

    fn reload(&mut self) {
        match self.shared.reload() {
            Ok(report) if report.findings().is_empty() => {
                tracing::info!("the changed configuration is in force");
            }
            Ok(report) => tracing::warn!("the changed configuration is in force\n{report}"),
            Err(error) => tracing::error!("the configuration in force was kept\n{error}"),
        }
        if let Err(error) = self.directories.follow(&self.shared.files()) {
            tracing::error!(%error, "some directories of the configuration are not watched; its files are read every few seconds");
        }
    }
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
