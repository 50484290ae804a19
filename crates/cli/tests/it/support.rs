//! Runs the real binary.

use std::path::Path;
use std::process::{Command, Output};

/// The binary with a clean environment for its log.
pub(crate) fn callgate(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
    command.current_dir(directory).env_remove("CALLGATE_LOG");
    command
}

pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Output {
    callgate(directory).args(arguments).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
