//! `cargo xtask ci`: every check and every test, in the order in which they are likely to fail fast.
//!
//! `.ci/run` calls it on a clean clone. A check that fails does not hide the ones after it, unless they would only
//! repeat it. The closing line is always `N passed, N failed`.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::generate::{self, Mode};
use crate::process::{self, Echo};
use crate::tally::Tally;
use crate::{arrows, bench, coverage, features, forbidden, size, spec_links, test, tree};

const LIMIT: Duration = Duration::from_secs(25 * 60);

/// One check: its name and what it runs.
struct Stage {
    name: &'static str,
    run: fn() -> Result<(), Failure>,
}

/// The checks before the tests.
const STAGES: &[Stage] = &[
    Stage { name: "fmt", run: || cargo(&["fmt", "--all", "--check"], &[]) },
    Stage { name: "size", run: size::check },
    Stage { name: "arrows", run: arrows::check },
    Stage { name: "forbidden", run: forbidden::check },
    Stage { name: "spec-links", run: spec_links::check },
    Stage {
        name: "clippy",
        run: || cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"], &[]),
    },
    Stage { name: "features", run: features::check },
    Stage {
        name: "doc",
        run: || cargo(&["doc", "--workspace", "--no-deps", "--locked"], &[("RUSTDOCFLAGS", "-D warnings")]),
    },
    Stage { name: "coverage", run: coverage::check },
    Stage { name: "generate --check", run: || generate::generate(Mode::Check) },
    Stage { name: "bench --guard", run: bench::guard },
];

/// Runs everything.
pub(crate) fn ci() -> Result<(), Failure> {
    let mut checks = Tally::default();
    for stage in STAGES {
        let start = Instant::now();
        println!("== {}", stage.name);
        let outcome = (stage.run)();
        if let Err(failure) = &outcome {
            println!("{failure}");
        }
        let end = if outcome.is_ok() { "held" } else { "FAILED" };
        println!("== {} {end} after {:.1} s", stage.name, start.elapsed().as_secs_f64());
        checks.record(outcome.is_ok());
    }
    let mut total = test::stages();
    println!("checks: {checks}");
    total.add(checks);
    println!("{total}");
    if total.failed == 0 { Ok(()) } else { Err(Failure::new("not everything held")) }
}

fn cargo(arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), Failure> {
    let mut command = Command::new(tree::cargo());
    command.args(arguments).current_dir(tree::root()).envs(variables.iter().copied());
    let finished = process::run(&mut command, LIMIT, Echo::Shown)?;
    if finished.succeeded() {
        Ok(())
    } else {
        Err(Failure::new(format!("cargo {}: {}", arguments.join(" "), finished.ending())))
    }
}
