//! The files of a project in the order of their paths, from a place on.
//!
//! The order is that of the bytes of whole paths, so a page can go on after any path and skip folders
//! that lie before it. Links are never followed, so there are no loops. The search is the caller.

use std::ops::ControlFlow;

use cap_std::fs::Dir;

use super::budget::{Budget, Spent};
use super::filter::Filter;
use super::folder::{Kind, open_folder};
use super::limits::Limits;
use super::rules::Rules;
use super::search::{Bound, Position};

/// Looks at one file: its folder, its name in it, and its path from the root.
pub(super) type Visit<'v> = dyn FnMut(&Dir, &str, &str) -> ControlFlow<Stop> + 'v;

/// Why a walk ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Bound(Bound),
    /// Nobody waits for the result any more.
    Left,
}

impl From<Spent> for Stop {
    fn from(spent: Spent) -> Self {
        match spent {
            Spent::Left => Self::Left,
            Spent::Time => Self::Bound(Bound::Time),
        }
    }
}

/// One walk through a project.
pub(super) struct Walk<'w> {
    pub(super) rules: Rules<'w>,
    pub(super) limits: &'w Limits,
    pub(super) budget: &'w Budget,
    pub(super) filter: &'w Filter,
    /// Where to begin: what lies before it is skipped.
    pub(super) after: Option<&'w Position>,
    /// Up to where everything was looked at.
    pub(super) done: Option<Position>,
    pub(super) entries: usize,
    /// What could not be looked at although nothing hides it.
    pub(super) skipped: u64,
}

/// A name in a folder, with a slash at its end if it is one of a folder.
struct Entry {
    sort_key: String,
    kind: Kind,
}

impl Entry {
    fn name(&self) -> &str {
        self.sort_key.strip_suffix('/').unwrap_or(&self.sort_key)
    }
}

impl Walk<'_> {
    /// Visits everything below a folder whose rules were entered. `prefix` is its path with a slash at its
    /// end, or empty for the root.
    pub(super) fn folder(
        &mut self,
        folder: &Dir,
        prefix: &str,
        depth: usize,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<Stop> {
        let Some(entries) = self.entries(folder)? else {
            self.skipped += 1;
            return ControlFlow::Continue(());
        };
        for entry in entries {
            self.spend()?;
            let path = format!("{prefix}{}", entry.name());
            if self.lies_before(prefix, &entry) || !self.rules.shows(&path, entry.kind) {
                continue;
            }
            match entry.kind {
                Kind::File => {
                    if path.len() > self.limits.path_bytes {
                        self.skipped += 1;
                    } else if self.filter.takes(&path) {
                        visit(folder, entry.name(), &path)?;
                    }
                    self.done = Some(Position::after_file(path));
                }
                Kind::Folder => {
                    if self.filter.enters(&path) {
                        self.enter(folder, &entry, &path, depth, visit)?;
                    }
                    self.done = Some(Position::after_folder(&path));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn enter(
        &mut self,
        folder: &Dir,
        entry: &Entry,
        path: &str,
        depth: usize,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<Stop> {
        let prefix = format!("{path}/");
        let inner = open_folder(folder, entry.name()).ok().filter(|_| depth < self.limits.depth);
        let Some(inner) = inner.filter(|inner| self.rules.enter(inner, prefix.len()).is_ok()) else {
            self.skipped += 1;
            return ControlFlow::Continue(());
        };
        let flow = self.folder(&inner, &prefix, depth + 1, visit);
        self.rules.leave();
        flow
    }

    /// The names of a folder that can be shown at all, sorted; nothing if they cannot be read or are too
    /// many.
    fn entries(&mut self, folder: &Dir) -> ControlFlow<Stop, Option<Vec<Entry>>> {
        let Ok(listing) = folder.entries() else { return ControlFlow::Continue(None) };
        let mut entries = Vec::new();
        for (count, entry) in listing.enumerate() {
            if count >= self.limits.folder_entries {
                return ControlFlow::Continue(None);
            }
            if count % 256 == 0
                && let Err(spent) = self.budget.check()
            {
                return ControlFlow::Break(spent.into());
            }
            let Ok(entry) = entry else { return ControlFlow::Continue(None) };
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Some(kind) = entry.file_type().ok().and_then(Kind::of) else { continue };
            match name.into_string() {
                Ok(mut sort_key) => {
                    if kind == Kind::Folder {
                        sort_key.push('/');
                    }
                    entries.push(Entry { sort_key, kind });
                }
                // A name that is no text cannot be told to a model, nor asked for by it.
                Err(_) => self.skipped += 1,
            }
        }
        entries.sort_unstable_by(|one, other| one.sort_key.cmp(&other.sort_key));
        ControlFlow::Continue(Some(entries))
    }

    /// Whether an entry, with all that is in it, lies before the place where the walk begins.
    fn lies_before(&self, prefix: &str, entry: &Entry) -> bool {
        let Some(after) = self.after else { return false };
        let key = format!("{prefix}{}", entry.sort_key);
        match entry.kind {
            Kind::File => key < after.path || (key == after.path && after.line == Position::WHOLE),
            Kind::Folder => key < after.path && !after.path.starts_with(&key),
        }
    }

    fn spend(&mut self) -> ControlFlow<Stop> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return ControlFlow::Break(Stop::Bound(Bound::Files));
        }
        match self.budget.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(spent) => ControlFlow::Break(spent.into()),
        }
    }
}
