//! Opening one name in an open folder, following no link and waiting for nothing.
//!
//! Every name is checked to be one name, so that no path of several steps gets past the rules. The walk,
//! the rules, the reading and the revision open everything here.

use std::io::{self, Read as _};
use std::path::{Component, Path};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, File, FileType, OpenOptions};

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
}

impl Kind {
    /// Nothing for links, pipes, sockets and devices.
    pub(super) fn of(file_type: FileType) -> Option<Self> {
        if file_type.is_dir() {
            Some(Self::Folder)
        } else if file_type.is_file() {
            Some(Self::File)
        } else {
            None
        }
    }
}

/// Opens a folder in a folder.
pub(super) fn open_folder(folder: &Dir, name: &str) -> io::Result<Dir> {
    folder.open_dir_nofollow(one_name(name)?)
}

/// Opens a regular file in a folder. A pipe or a device is not even opened, and if one takes the place of
/// the file meanwhile, nobody waits for it.
pub(super) fn open_file(folder: &Dir, name: &str) -> io::Result<File> {
    let name = one_name(name)?;
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    if !folder.symlink_metadata(name)?.is_file() {
        return Err(irregular());
    }
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let file = folder.open_with(name, &options)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// The bytes of a regular file of bounded size.
pub(super) fn read_small(folder: &Dir, name: &str, limit: usize) -> io::Result<Vec<u8>> {
    let file = open_file(folder, name)?;
    let mut bytes = Vec::new();
    file.take(u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is too large"));
    }
    Ok(bytes)
}

/// The name, if it is one step into a folder on this system.
fn one_name(name: &str) -> io::Result<&Path> {
    let path = Path::new(name);
    let mut components = path.components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(path),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "not one name")),
    }
}
