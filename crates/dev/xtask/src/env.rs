//! The environments that tests need beyond cargo: Node packages, Python packages, a PostgreSQL server.
//!
//! Everything is pinned by files under `interop/`, installed into `target/xtask-env` on demand, and made again when
//! the pins change. Nothing is installed into the system. `test`, `conformance` and `interop` call it.

pub(crate) mod npm;
pub(crate) mod postgres;
pub(crate) mod python;

use std::fs::{self, File};
use std::path::Path;

use crate::failure::{Failure, Place};
use crate::tree;

/// Makes the environments of Node and Python and reports where they are.
pub(crate) fn prepare() -> Result<(), Failure> {
    let npm = npm::ready()?;
    println!("node: {}", npm.node.display());
    println!("node packages: {}", npm.directory.display());
    println!("python: {}", python::ready()?.display());
    Ok(())
}

/// Starts a server, says where it was, and stops it.
pub(crate) fn try_postgres(packaged: bool) -> Result<(), Failure> {
    let source = if packaged { postgres::Source::Package } else { postgres::Source::Any };
    let server = postgres::Postgres::start(source)?;
    println!("postgres: worked at {}", server.url());
    Ok(())
}

/// Runs `fill` unless `directory` was already filled from the same pins. Two runs at a time take turns.
fn filled(directory: &Path, pins: &str, fill: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    fs::create_dir_all(tree::cache()).at(tree::cache().display())?;
    let lock_path = directory.with_extension("lock");
    let lock = File::create(&lock_path).at(lock_path.display())?;
    lock.lock().at(lock_path.display())?;
    let stamp = directory.join("pins");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == pins) {
        return Ok(());
    }
    if directory.exists() {
        fs::remove_dir_all(directory).at(directory.display())?;
    }
    fs::create_dir_all(directory).at(directory.display())?;
    fill()?;
    fs::write(&stamp, pins).at(stamp.display())
}
