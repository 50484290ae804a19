//! `cargo xtask bench`: builds Callgate, the peers and the load generator in release, and runs the comparison.
//!
//! The measuring itself is the program `load` in `benches/peers`, a workspace of its own, so that no peer ever enters
//! Callgate's lock file. `--guard` only counts instructions and heap blocks with valgrind and holds them against
//! `benches/bounds.toml`; CI runs that form, because a busy machine does not disturb it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::process::{self, Echo};
use crate::tree;

const BUILD_LIMIT: Duration = Duration::from_secs(25 * 60);
const RUN_LIMIT: Duration = Duration::from_secs(45 * 60);
const PEERS: &str = "benches/peers";

/// The options of `cargo xtask bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What is measured: the server, or the schema evaluator on its own
    #[arg(value_parser = ["server", "schema"], default_value = "server")]
    role: String,
    /// One JSON object a line instead of tables
    #[arg(long)]
    json: bool,
    /// Fewer calls and rounds
    #[arg(long)]
    quick: bool,
    /// Only hold the counts of valgrind against benches/bounds.toml
    #[arg(long, conflicts_with_all = ["json", "quick", "subjects", "rounds"])]
    guard: bool,
    /// Only these servers, as in callgate,raw-hyper
    #[arg(long)]
    subjects: Option<String>,
    /// Only these cases, as in echo-http-64
    #[arg(long)]
    cases: Option<String>,
    /// How many times each server gets its turn
    #[arg(long)]
    rounds: Option<u32>,
    /// Leave out instructions and heap blocks
    #[arg(long)]
    no_valgrind: bool,
    /// Write a profile of the chosen servers and cases instead of measuring
    #[arg(long, conflicts_with = "guard")]
    profile: bool,
}

/// Builds and measures; success means that every aim holds.
pub(crate) fn bench(options: &Options) -> Result<(), Failure> {
    if options.guard {
        return guard();
    }
    let target = tree::target()?;
    if options.role == "schema" {
        let mut command = Command::new(build_peers(&target, &["schema"])?.join("schema"));
        return finish(command.args(options.json.then_some("--json")));
    }
    build_binary()?;
    let peers = build_peers(&target, &["load", "callgate-bench", "raw", "rmcp-server"])?;
    let mut command = load(&peers, &target, if options.profile { "profile" } else { "bench" });
    for (given, flag) in [
        (options.json, "--json"),
        (options.quick, "--quick"),
        (options.no_valgrind && !options.profile, "--no-valgrind"),
    ] {
        if given {
            command.arg(flag);
        }
    }
    let rounds = options.rounds.map(|rounds| rounds.to_string());
    for (value, flag) in
        [(&options.subjects, "--subjects"), (&options.cases, "--cases"), (&rounds, "--rounds")]
    {
        if let Some(value) = value {
            command.args([flag, value]);
        }
    }
    finish(&mut command)
}

/// The form for CI. Without valgrind it says so and holds, because nothing is installed for it.
pub(crate) fn guard() -> Result<(), Failure> {
    if process::find("valgrind").is_none() {
        println!("skipped: valgrind not found, so instructions and heap blocks a call were not counted");
        return Ok(());
    }
    let target = tree::target()?;
    let peers = build_peers(&target, &["load", "callgate-bench"])?;
    let mut command = load(&peers, &target, "guard");
    command.arg("--bounds").arg(tree::root().join("benches/bounds.toml"));
    finish(&mut command)
}

/// Builds `callgate` itself, for the SQL read.
fn build_binary() -> Result<(), Failure> {
    let mut command = Command::new(tree::cargo());
    command.args(["build", "--release", "--quiet", "--locked", "--package", "callgate", "--bin", "callgate"]);
    process::must(command.current_dir(tree::root()), BUILD_LIMIT).map(|_| ())
}

/// Builds packages of the peers' workspace and says where they are. Each is built on its own: together they would be
/// given the union of their features, and rmcp, for one, is slower with what callgate-server asks of serde_json.
fn build_peers(target: &Path, packages: &[&str]) -> Result<PathBuf, Failure> {
    let directory = target.join("bench-peers");
    for package in packages {
        let mut command = Command::new(tree::cargo());
        command.args(["build", "--release", "--quiet", "--locked", "--package", package]);
        command.arg("--target-dir").arg(&directory).current_dir(tree::root().join(PEERS));
        process::must(&mut command, BUILD_LIMIT)?;
    }
    Ok(directory.join("release"))
}

fn load(peers: &Path, target: &Path, mode: &str) -> Command {
    let mut command = Command::new(peers.join("load"));
    command.arg(mode);
    for (flag, path) in [
        ("--callgate", target.join("release/callgate")),
        ("--env", tree::cache().join("bench")),
        ("--scripts", tree::root().join(PEERS).join("scripts")),
        ("--out", target.join("bench-out")),
    ] {
        command.arg(flag).arg(path);
    }
    command
}

fn finish(command: &mut Command) -> Result<(), Failure> {
    let finished = process::run(command, RUN_LIMIT, Echo::Shown)?;
    if finished.succeeded() { Ok(()) } else { Err(Failure::new(format!("bench: {}", finished.ending()))) }
}
