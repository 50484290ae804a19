//! The files of the example project: a commented configuration and a billing database.
//!
//! It never overwrites a file. `init` and `demo` call it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use callgate_adapters::sqlite;

use crate::exit::Failure;

const CONFIGURATION: &str = include_str!("../../assets/callgate.toml");
const DATABASE: &str = include_str!("../../assets/billing.sql");

/// What to do with a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Refuse, before anything is written.
    Refuse,
    /// Keep it as it is.
    Keep,
}

/// The two files of the example.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) configuration: PathBuf,
    pub(crate) database: PathBuf,
}

/// Writes the example into a directory, which is made if it does not exist.
pub(crate) fn write(directory: &Path, existing: Existing) -> Result<Example, Failure> {
    let example =
        Example { configuration: directory.join("callgate.toml"), database: directory.join("billing.db") };
    if existing == Existing::Refuse {
        for path in [&example.configuration, &example.database] {
            if path.exists() {
                return Err(Failure::File {
                    path: path.clone(),
                    problem: "it exists already".into(),
                    remedy: "choose another directory, or move the file away",
                });
            }
        }
    }
    let failed = |path: &Path, error: &std::io::Error| Failure::File {
        path: path.to_owned(),
        problem: error.to_string(),
        remedy: "check that the directory can be written to",
    };
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    if !example.database.exists() {
        sqlite::create(&example.database, DATABASE).map_err(|error| failed(&example.database, &error))?;
    }
    if !example.configuration.exists() {
        File::create_new(&example.configuration)
            .and_then(|mut file| file.write_all(CONFIGURATION.as_bytes()))
            .map_err(|error| failed(&example.configuration, &error))?;
    }
    Ok(example)
}
