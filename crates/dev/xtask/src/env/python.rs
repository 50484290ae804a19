//! A Python environment with the packages that `interop/requirements.txt` pins.
//!
//! It is a virtual environment, so nothing of the system's Python is touched. `interop` calls it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::env;
use crate::failure::{Failure, Place};
use crate::{process, tree};

const INSTALL_LIMIT: Duration = Duration::from_secs(300);

/// The interpreter of the environment, which is made unless it is there.
pub(crate) fn ready() -> Result<PathBuf, Failure> {
    let requirements = tree::root().join("interop").join("requirements.txt");
    let pins = fs::read_to_string(&requirements).at(requirements.display())?;
    let directory = tree::cache().join("python");
    let interpreter = directory.join("venv/bin/python");
    env::filled(&directory, &pins, || {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(directory.join("venv"));
        process::must(&mut make, INSTALL_LIMIT)
            .at("making a Python environment (Python 3.11 or newer with its venv module is needed)")?;
        let mut install = Command::new(&interpreter);
        install.args(["-m", "pip", "install", "--quiet", "--no-input", "--retries", "3", "--requirement"]);
        install.arg(&requirements);
        process::must(&mut install, INSTALL_LIMIT).at("installing Python packages")?;
        Ok(())
    })?;
    Ok(interpreter)
}
