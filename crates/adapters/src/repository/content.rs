//! One file in memory, if it may be shown as text.
//!
//! A file is held whole, so that search and reading judge the same bytes by the same rule: a byte of zero
//! anywhere makes it binary. No more is read than the bound, whatever its length says. The search and the
//! reading load files here.

use std::io::{self, Read as _};

use cap_std::fs::{Dir, File, Metadata};

use super::budget::{Budget, Spent};
use super::folder::open_file;

/// Bytes that are read between two looks at the budget.
const STEP: usize = 64 << 10;

/// The bytes of a file and when it was changed last.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// Microseconds since 1970, where the system says it.
    pub(super) modified: Option<i64>,
    /// Whether the file changed while it was read.
    pub(super) changed: bool,
}

/// Why a file is not shown.
pub(super) enum Unshown {
    /// It is not there, no regular file, or cannot be read.
    Unreadable,
    TooLarge,
    Binary,
    Spent(Spent),
}

impl Content {
    /// Loads a file. `bytes` is memory to use again.
    pub(super) fn load(
        folder: &Dir,
        name: &str,
        limit: usize,
        budget: &Budget,
        mut bytes: Vec<u8>,
    ) -> Result<Self, Unshown> {
        bytes.clear();
        let unreadable = |_: io::Error| Unshown::Unreadable;
        let mut file = open_file(folder, name).map_err(unreadable)?;
        let before = file.metadata().map_err(unreadable)?;
        if before.len() > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(Unshown::TooLarge);
        }
        read(&mut file, limit, budget, &mut bytes)?;
        if bytes.contains(&0) {
            return Err(Unshown::Binary);
        }
        let after = file.metadata().map_err(unreadable)?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let changed =
            before.len() != length || after.len() != length || modified(&before) != modified(&after);
        Ok(Self { bytes, modified: modified(&after), changed })
    }
}

fn read(file: &mut File, limit: usize, budget: &Budget, bytes: &mut Vec<u8>) -> Result<(), Unshown> {
    loop {
        budget.check().map_err(Unshown::Spent)?;
        let step = u64::try_from(STEP).unwrap_or(u64::MAX);
        let count = file.by_ref().take(step).read_to_end(bytes).map_err(|_| Unshown::Unreadable)?;
        if bytes.len() > limit {
            return Err(Unshown::TooLarge);
        }
        if count == 0 {
            return Ok(());
        }
    }
}

fn modified(metadata: &Metadata) -> Option<i64> {
    let time = metadata.modified().ok()?.into_std();
    let micros = |duration: std::time::Duration| i64::try_from(duration.as_micros()).ok();
    match time.duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => micros(since),
        Err(before) => micros(before.duration()).map(|micros| -micros),
    }
}
