//! Where the repository is and which files belong to it.
//!
//! Only files that git would commit are listed, so that build output never reaches a check. It reads and never
//! writes. The checks (`size`, `forbidden`, `coverage`, ..) and the environments call it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Place};

/// The root of the workspace this program was built from.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(3).unwrap_or(here).to_path_buf()
}

/// The directory of downloaded environments; it may be deleted at any time and is filled again on demand.
pub(crate) fn cache() -> PathBuf {
    root().join("target").join("xtask-env")
}

/// The cargo that started this program, so that one toolchain does everything.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Paths relative to the root of all files that are tracked, or new and not ignored, in a stable order.
pub(crate) fn files() -> Result<Vec<PathBuf>, Failure> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .at("git ls-files (is git installed?)")?;
    if !output.status.success() {
        return Err(Failure::new(format!(
            "git ls-files: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    let mut files: Vec<PathBuf> = String::from_utf8_lossy(&output.stdout)
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The files whose name ends in `.extension`.
pub(crate) fn files_ending(extension: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut files = files()?;
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    Ok(files)
}

/// Reads a file of the repository as text; the path is relative to the root.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(root().join(path)).at(path.display())
}

/// What `cargo metadata --no-deps` says of the workspace.
pub(crate) fn metadata() -> Result<Value, Failure> {
    let output = Command::new(cargo())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .at("cargo metadata")?;
    if !output.status.success() {
        return Err(Failure::new(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    serde_json::from_slice(&output.stdout).at("cargo metadata")
}

/// The directory cargo builds into.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let metadata = metadata()?;
    metadata
        .get("target_directory")
        .and_then(Value::as_str)
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("cargo metadata names no target_directory"))
}
