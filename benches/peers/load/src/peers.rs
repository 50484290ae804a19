//! The peers that come from npm and PyPI, installed once into a directory of build products.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Failure;
use crate::options::Options;
use crate::process::Program;

/// A peer in another language.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// `@modelcontextprotocol/server` on Node.
    TypeScript,
    /// `fastmcp` on Python.
    FastMcp,
}

/// Installs the peer when that has not happened, and says how to run it.
pub fn program(peer: Peer, options: &Options, args: &[&str]) -> Result<Program, Failure> {
    match peer {
        Peer::TypeScript => {
            let home = options.env.join("typescript");
            let files = ["package.json", "package-lock.json", "typescript_server.mjs"];
            if copy_changed(&options.scripts, &home, &files)? || !home.join("node_modules").exists() {
                run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&home))?;
            }
            let script = home.join("typescript_server.mjs").display().to_string();
            let mut all = vec![script.as_str()];
            all.extend_from_slice(args);
            Ok(Program::new("node", &all))
        }
        Peer::FastMcp => {
            let home = options.env.join("fastmcp");
            let python = home.join("venv/bin/python");
            if copy_changed(&options.scripts, &home, &["requirements.txt", "fastmcp_server.py"])?
                || !python.exists()
            {
                run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(&home))?;
                let install = ["-m", "pip", "install", "--quiet", "-r", "requirements.txt"];
                run(Command::new(&python).args(install).current_dir(&home))?;
            }
            let script = home.join("fastmcp_server.py").display().to_string();
            let mut all = vec![script.as_str()];
            all.extend_from_slice(args);
            Ok(Program::new(python, &all))
        }
    }
}

/// Copies what differs, and says whether anything did.
fn copy_changed(from: &Path, to: &Path, names: &[&str]) -> Result<bool, Failure> {
    fs::create_dir_all(to)?;
    let mut changed = false;
    for name in names {
        let wanted = fs::read(from.join(name))?;
        if fs::read(to.join(name)).ok().as_ref() != Some(&wanted) {
            fs::write(to.join(name), wanted)?;
            changed = true;
        }
    }
    Ok(changed)
}

fn run(command: &mut Command) -> Result<(), Failure> {
    // Its output would mix with the report, which may be JSON.
    let status = command.stdout(Stdio::null()).status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}
