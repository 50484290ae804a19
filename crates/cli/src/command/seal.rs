//! `callgate seal key`: a fresh key and its id.
//!
//! It must never write over a file, and with `--file` never show the key.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use callgate_core::port::{Entropy as _, EntropyError, SystemEntropy};
use callgate_core::seal::{KeyId, SealKey};
use callgate_protocol::json::push_string;

use crate::args::{Seal, SealKey as Arguments};
use crate::exit::Failure;
use crate::print::say;

pub(crate) fn run(command: &Seal) -> Result<(), Failure> {
    match command {
        Seal::Key(arguments) => key(arguments),
    }
}

fn key(arguments: &Arguments) -> Result<(), Failure> {
    let (id, key) = fresh().map_err(|error| Failure::Usage(error.to_string()))?;
    let text = key.expose_text();
    if let Some(path) = &arguments.file {
        write(path, &text).map_err(|error| Failure::File {
            path: path.clone(),
            problem: error.to_string(),
            remedy: "name a file that does not exist, in a directory that can be written to",
        })?;
    }
    let path = arguments.file.as_ref().map(|path| path.display().to_string());
    if arguments.json {
        let (name, value) = path.as_deref().map_or(("key", text.as_str()), |path| ("file", path));
        let mut line = format!("{{\"id\":\"{id}\",\"{name}\":");
        push_string(&mut line, value);
        line.push('}');
        say!("{line}");
        return Ok(());
    }
    say!("id   {id}");
    let reference = match &path {
        Some(path) => {
            say!("file {path}");
            format!("file:{path}")
        }
        None => {
            say!("key  {}", text.as_str());
            "env:CALLGATE_SEAL_KEY".to_owned()
        }
    };
    let mut quoted = String::new();
    push_string(&mut quoted, &reference);
    say!("\nEach instance that serves the same callers needs it, and names it in callgate.toml:\n");
    say!("[seal]\nkeys = [{{ id = \"{id}\", secret = {quoted} }}]");
    Ok(())
}

fn fresh() -> Result<(KeyId, SealKey), EntropyError> {
    let entropy = SystemEntropy::default();
    let mut id = [0; 4];
    entropy.fill(&mut id)?;
    Ok((KeyId(u32::from_be_bytes(id)), SealKey::generate(&entropy)?))
}

/// Writes a key into a new file that only its owner reads.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = new_file(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")
}

#[cfg(unix)]
fn new_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
