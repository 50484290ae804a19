//! Which paths a search looks at: a folder or file with what is below it, or a pattern of paths.
//!
//! It only narrows a search; the rules of what may be shown hold all the same. The search is the caller.

use ignore::overrides::{Override, OverrideBuilder};

use super::RepositoryError;

/// Which files are searched.
pub(super) enum Filter {
    All,
    /// The file of that path, or those below the folder of that path.
    Below(String),
    /// The files whose paths match, and the path of the folder in which all of them are.
    Pattern(Override, String),
}

impl Filter {
    pub(super) fn new(path: Option<&str>, limit: usize) -> Result<Self, RepositoryError> {
        let Some(path) = path else { return Ok(Self::All) };
        if path.len() > limit {
            return Err(RepositoryError::PathFilter { detail: "it is too long".to_owned() });
        }
        let is_pattern = |part: &str| part.starts_with('!') || part.contains(['*', '?', '[', '{', '\\']);
        if !is_pattern(path) {
            let path = path.trim_matches('/');
            return Ok(if path.is_empty() { Self::All } else { Self::Below(path.to_owned()) });
        }
        let invalid = |error: ignore::Error| RepositoryError::PathFilter { detail: error.to_string() };
        let mut builder = OverrideBuilder::new("");
        let pattern = builder.add(path).map_err(invalid)?.build().map_err(invalid)?;
        let parts = path.trim_start_matches('/').split('/').take_while(|part| !is_pattern(part));
        // Before the first part that is a pattern there is nothing to be found elsewhere.
        Ok(Self::Pattern(pattern, parts.collect::<Vec<_>>().join("/")))
    }

    /// Whether a file is searched.
    pub(super) fn takes(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Below(top) => is_within(path, top),
            Self::Pattern(pattern, _) => !pattern.matched(path, false).is_ignore(),
        }
    }

    /// Whether something in a folder may be searched.
    pub(super) fn enters(&self, folder: &str) -> bool {
        match self {
            Self::All => true,
            Self::Below(top) | Self::Pattern(_, top) => is_within(folder, top) || is_within(top, folder),
        }
    }
}

/// Whether a path is the other one or below it.
fn is_within(path: &str, top: &str) -> bool {
    top.is_empty() || path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(path: &str) -> Filter {
        Filter::new(Some(path), 100).ok().unwrap()
    }

    #[test]
    fn a_path_takes_itself_and_what_is_below() {
        let src = filter("src/");
        assert!(src.takes("src/a.rs") && src.takes("src") && !src.takes("src2/a.rs") && !src.takes("a/src"));
        assert!(src.enters("src") && src.enters("src/deep") && !src.enters("tests"));
        let deep = filter("/a/b");
        assert!(deep.enters("a") && !deep.enters("b") && deep.takes("a/b/c"));
    }

    #[test]
    fn a_pattern_is_one_of_ignore_files_and_enters_no_folder_in_vain() {
        let rust = filter("*.rs");
        assert!(rust.takes("src/deep/a.rs") && !rust.takes("a.toml") && rust.enters("anywhere"));
        let below = filter("src/**/*.rs");
        assert!(below.takes("src/a.rs") && below.takes("src/x/y.rs") && !below.takes("tests/a.rs"));
        assert!(below.enters("src") && !below.enters("tests"));
        let anchored = filter("/a/b/*.rs");
        assert!(anchored.enters("a") && anchored.enters("a/b") && !anchored.enters("b"));
        assert!(anchored.takes("a/b/x.rs") && !anchored.takes("c/a/b/x.rs"));
        assert!(filter("a\\b/*").enters("ab"));
        let other = filter("!tests/**");
        assert!(!other.takes("tests/a.rs") && other.takes("src/a.rs") && other.enters("src"));
        assert!(Filter::new(Some("[z-"), 100).is_err() && Filter::new(Some("aaa"), 2).is_err());
    }
}
