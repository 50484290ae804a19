//! `cargo xtask generate [--check]`: writes the committed files that are made from code.
//!
//! A generated file is committed so that readers and editors have it without building; `--check` fails when one is
//! not what its generator makes today. Add a generator by adding a row to `GENERATORS`.

use std::fs;
use std::process::Command;

use crate::failure::{Failure, Place};
use crate::tree;

/// A committed file and the command that prints it.
struct Generator {
    /// The file, relative to the root.
    path: &'static str,
    /// Arguments of cargo; what the command prints on standard output is the file.
    cargo: &'static [&'static str],
}

/// Every generated file.
const GENERATORS: &[Generator] = &[
    Generator {
        path: "docs/callgate.schema.json",
        cargo: &["run", "--quiet", "--package", "callgate", "--", "generate", "config-schema"],
    },
    Generator {
        path: "docs/refusals.md",
        cargo: &["run", "--quiet", "--package", "callgate", "--", "generate", "refusals"],
    },
    Generator {
        path: "docs/lint.md",
        cargo: &["run", "--quiet", "--package", "callgate", "--", "generate", "lint"],
    },
    Generator {
        path: "docs/cli.md",
        cargo: &["run", "--quiet", "--package", "callgate", "--", "generate", "cli"],
    },
];

/// Whether generated files are written or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Written.
    Write,
    /// Compared with what is there.
    Check,
}

/// Runs every generator.
pub(crate) fn generate(mode: Mode) -> Result<(), Failure> {
    let mut stale = Vec::new();
    for generator in GENERATORS {
        let output = Command::new(tree::cargo())
            .args(generator.cargo)
            .current_dir(tree::root())
            .stderr(std::process::Stdio::inherit())
            .output()
            .at(generator.path)?;
        if !output.status.success() || output.stdout.is_empty() {
            return Err(Failure::new(format!(
                "{}: its generator failed ({})",
                generator.path, output.status
            )));
        }
        let place = tree::root().join(generator.path);
        if fs::read(&place).is_ok_and(|found| found == output.stdout) {
            continue;
        }
        match mode {
            Mode::Check => stale.push(generator.path),
            Mode::Write => {
                if let Some(parent) = place.parent() {
                    fs::create_dir_all(parent).at(parent.display())?;
                }
                fs::write(&place, &output.stdout).at(generator.path)?;
                println!("wrote {}", generator.path);
            }
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("not up to date: {}; run `cargo xtask generate` and commit", stale.join(", "))))
}
