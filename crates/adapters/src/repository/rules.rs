//! What is never shown: what the operator excludes, what is hidden, and what the project ignores.
//!
//! The rules are those of `.ignore`, `.gitignore` and `.git/info/exclude` inside the project, from its
//! root down, the nearest first; rules of the user or of folders above the root are not read. A folder
//! whose rules cannot be read is not shown at all. The walk and the reading enter folders here, so both
//! show the same.

use std::io;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::folder::{self, Kind};
use super::limits::Limits;

/// The rules that hold at one place of a project.
pub(super) struct Rules<'r> {
    exclude: &'r Gitignore,
    limits: &'r Limits,
    /// `.git/info/exclude` of the root.
    checkout: Gitignore,
    /// Those of each folder from the root down.
    levels: Vec<Level>,
}

struct Level {
    /// Bytes of the path of the folder, with the slash at its end.
    start: usize,
    /// `.ignore`, which is stronger than every `.gitignore`.
    ignore: Gitignore,
    /// `.gitignore`
    gitignore: Gitignore,
}

impl<'r> Rules<'r> {
    pub(super) fn new(exclude: &'r Gitignore, limits: &'r Limits) -> Self {
        Self { exclude, limits, checkout: Gitignore::empty(), levels: Vec::new() }
    }

    /// Reads the rules of the root.
    pub(super) fn enter_root(&mut self, root: &Dir) -> io::Result<()> {
        self.checkout =
            match folder::open_folder(root, ".git").and_then(|git| folder::open_folder(&git, "info")) {
                Ok(info) => self.compile(&info, "exclude")?,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
                // A project need not be a checkout, or may be one whose `.git` is a file.
                Err(_) => Gitignore::empty(),
            };
        self.enter(root, 0)
    }

    /// Reads the rules of a folder whose path has so many bytes, the slash at its end included.
    pub(super) fn enter(&mut self, folder: &Dir, start: usize) -> io::Result<()> {
        let ignore = self.compile(folder, ".ignore")?;
        let gitignore = self.compile(folder, ".gitignore")?;
        self.levels.push(Level { start, ignore, gitignore });
        Ok(())
    }

    /// Forgets the rules of the folder that was entered last.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether what has this path from the root may be shown. Its folder was entered.
    pub(super) fn shows(&self, path: &str, kind: Kind) -> bool {
        let is_folder = kind == Kind::Folder;
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.starts_with('.') || self.exclude.matched(path, is_folder).is_ignore() {
            return false;
        }
        let below = |level: &Level| path.get(level.start..).unwrap_or(path).to_owned();
        let by = |rules: fn(&Level) -> &Gitignore| {
            let nearest = self.levels.iter().rev();
            nearest.map(|level| verdict(&rules(level).matched(below(level), is_folder))).find(Option::is_some)
        };
        let decided = by(|level| &level.ignore)
            .or_else(|| by(|level| &level.gitignore))
            .flatten()
            .or_else(|| verdict(&self.checkout.matched(path, is_folder)));
        decided.unwrap_or(true)
    }

    /// The rules in a file; none where there is no such file.
    fn compile(&self, folder: &Dir, name: &str) -> io::Result<Gitignore> {
        let text = match folder::read_small(folder, name, self.limits.rules_bytes) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Gitignore::empty()),
            Err(error) => return Err(error),
        };
        let mut builder = GitignoreBuilder::new("");
        for line in text.trim_start_matches('\u{feff}').lines() {
            // As in git, a line that is no pattern matches nothing.
            let _ = builder.add_line(None, line);
        }
        builder.build().map_err(io::Error::other)
    }
}

/// Whether a match shows or hides; nothing where no rule matched.
fn verdict<T>(found: &Match<T>) -> Option<bool> {
    match found {
        Match::None => None,
        Match::Ignore(_) => Some(false),
        Match::Whitelist(_) => Some(true),
    }
}
