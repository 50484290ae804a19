//! The commit of a checkout, from the files of git and without running it.
//!
//! Only files below the root are read and no link is followed. Where the commit stands elsewhere, as in a
//! worktree whose `.git` is a file, it is not known. The search and the reading ask for it.

use cap_std::fs::Dir;

use super::folder::{open_folder, read_small};

/// Bytes of a file that holds one reference.
const REFERENCE_BYTES: usize = 4096;
/// References that refer to references.
const STEPS: usize = 5;

/// The commit that is checked out, in hexadecimal digits.
pub(super) fn of(root: &Dir, packed_bytes: usize) -> Option<String> {
    let git = open_folder(root, ".git").ok()?;
    let mut name = "HEAD".to_owned();
    for _ in 0..STEPS {
        let Some(text) = loose(&git, &name) else { return packed(&git, &name, packed_bytes) };
        match text.strip_prefix("ref:") {
            Some(next) => name = next.trim().to_owned(),
            None => return commit(&text),
        }
        if !name.starts_with("refs/") {
            return None;
        }
    }
    None
}

/// The text of a reference that has a file of its own.
fn loose(git: &Dir, name: &str) -> Option<String> {
    let (folders, file) = name.rsplit_once('/').map_or((None, name), |(folders, file)| (Some(folders), file));
    let mut folder = None;
    for part in folders.into_iter().flat_map(|folders| folders.split('/')) {
        folder = Some(open_folder(folder.as_ref().unwrap_or(git), part).ok()?);
    }
    let bytes = read_small(folder.as_ref().unwrap_or(git), file, REFERENCE_BYTES).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// The commit of a reference in the file that holds many.
fn packed(git: &Dir, name: &str, limit: usize) -> Option<String> {
    let bytes = read_small(git, "packed-refs", limit).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut found = text.lines().filter_map(|line| line.split_once(' '));
    found.find(|(_, other)| other.trim_end() == name).and_then(|(id, _)| commit(id))
}

fn commit(text: &str) -> Option<String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (digits && matches!(text.len(), 40 | 64)).then(|| text.to_ascii_lowercase())
}
