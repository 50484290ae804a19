//! `cargo xtask crash`: seeded runs in which stores lose work and answers, and real processes are killed.
//!
//! The tests that CI runs, more often. What they counted is printed last; a run that broke a promise fails the test
//! and is named by its seed.

use std::process::Command;
use std::time::Duration;

use crate::env::postgres::{self, Postgres, Source};
use crate::failure::Failure;
use crate::process::{self, Echo};
use crate::tree;

/// How long one test program may take for each thousand runs, and at least.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The tests: the crate, and what their names begin with.
const TESTS: &[(&str, &str)] = &[("callgate-adapters", "ledger::faults::"), ("callgate-gateway", "killed::")];

/// Runs them, each with so many runs of a store, and one process for each twenty.
pub(crate) fn crash(runs: u32) -> Result<(), Failure> {
    let server = Postgres::start(Source::Any)?;
    let limit = LIMIT * (runs / 1000 + 1);
    let mut counts = Vec::new();
    let mut failed = Vec::new();
    for (package, name) in TESTS {
        let mut command = Command::new(tree::cargo());
        command.args(["test", "--locked", "--package", package, "--test", "it", name, "--", "--nocapture"]);
        command.current_dir(tree::root()).env(postgres::VARIABLE, server.url());
        command.env("CALLGATE_CRASH_RUNS", runs.to_string());
        let finished = process::run(&mut command, limit, Echo::Shown)?;
        let found = finished.lines.iter().filter_map(|line| line.find("crash ").map(|at| &line[at..]));
        counts.extend(found.map(str::to_owned));
        if !finished.succeeded() {
            failed.push(*package);
        }
    }
    counts.iter().for_each(|line| println!("{line}"));
    if failed.is_empty() && !counts.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("a promise was broken, or nothing ran: {}", failed.join(", "))))
}
