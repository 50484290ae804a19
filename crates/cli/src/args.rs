//! The command line: what can be asked for. It holds no behaviour.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A runtime for MCP tools in which every call passes one gate.
///
/// Exit codes: 0 done; 1 the configuration cannot be read or has errors; 2 wrong usage; 3 a file cannot
/// be written; 4 the server cannot start or stopped with an error; 5 the demonstration failed.
#[derive(Debug, Parser)]
#[command(name = "callgate", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// What to log on standard error: error, warn, info, debug, trace, or directives such as
    /// `callgate_server=debug`. The record of each call is `callgate::audit=info`.
    #[arg(
        long,
        global = true,
        default_value = "warn,callgate::audit=info",
        env = "CALLGATE_LOG",
        value_name = "LEVEL"
    )]
    pub(crate) log: String,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented callgate.toml and a small working database.
    Init(Init),
    /// Serve the tools of a configuration over stdio, or over HTTP with --listen.
    Serve(Serve),
    /// Judge a configuration: errors and warnings, each with its place and remedy.
    Check(Check),
    /// Make a billing database, serve it, make one call and show it.
    Demo(Demo),
    /// Print a generated part of the manual.
    #[command(hide = true)]
    Generate {
        /// Which part.
        part: Part,
    },
}

/// Arguments of `callgate init`.
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// The directory to write into; it is made if it does not exist.
    #[arg(default_value = ".", value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
}

/// Arguments of `callgate serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The configuration.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Serve HTTP on this address, for example 127.0.0.1:8300, instead of stdio. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
}

/// Arguments of `callgate check`.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The configuration.
    #[arg(default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Warnings count as errors.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON object a finding instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `callgate demo`.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The directory to write into. Files that are there are kept.
    #[arg(long, default_value = "callgate-demo", value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
    /// Go on serving after the call, until interrupted.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// A generated part of the manual.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Part {
    /// The JSON Schema of callgate.toml.
    ConfigSchema,
    /// The table of refusal codes.
    Refusals,
    /// The table of lint rules.
    Lint,
    /// The reference of this command line.
    Cli,
}
