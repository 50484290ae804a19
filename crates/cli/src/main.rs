//! The `callgate` binary: configuration, commands, exit codes. The only crate that prints or exits.
//!
//! Standard output belongs to results, and to MCP messages alone when stdio is served; everything else
//! goes to standard error.

mod args;
mod command;
mod exit;
mod print;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use args::{Arguments, Command};
use exit::Failure;
use print::warn_line;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Err(problem) = start_log(&arguments.log) {
        warn_line!("error: {problem}");
        return ExitCode::from(2);
    }
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            warn_line!("error: {failure}");
            failure.code()
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Init(init) => command::init::run(&init),
        Command::Serve(serve) => command::serve::run(&serve),
        Command::Check(check) => command::check::run(&check),
        Command::Policy { command } => command::policy::run(&command),
        Command::Approve(approve) => command::approve::run(&approve),
        Command::Audit(audit) => command::audit::run(&audit),
        Command::Migrate(migrate) => command::migrate::run(&migrate),
        Command::Seal { command } => command::seal::run(&command),
        Command::Demo(demo) => command::demo::run(&demo),
        Command::Generate { part } => {
            command::generate::run(part);
            Ok(())
        }
    }
}

/// Logs go to standard error: over stdio, standard output belongs to the protocol.
fn start_log(level: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        format!("--log {level}: {error}; use error, warn, info, debug, trace or target=level")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        // A log that nobody reads is no reason to fail a call.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}
