//! `cargo xtask test`: all tests of the workspace, then the conformance suite and the real clients.
//!
//! It brings everything they need (Node, Python, PostgreSQL), uses only free ports, and leaves nothing running.
//! Each stage ends with its counts. `ci` calls it too.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::env::postgres::{self, Postgres, Source};
use crate::failure::Failure;
use crate::process::{self, Echo, Finished};
use crate::tally::Tally;
use crate::{conformance, env, interop, tree};

const LIMIT: Duration = Duration::from_secs(25 * 60);

/// A group of tests: its name and what it runs.
struct Stage {
    name: &'static str,
    run: fn() -> Result<Tally, Failure>,
}

const STAGES: &[Stage] = &[
    Stage { name: "tests", run: cargo_tests },
    Stage { name: "documentation tests", run: doctests },
    Stage { name: "conformance", run: conformance::stage },
    Stage { name: "clients", run: || interop::run("", None) },
];

/// Runs every stage and closes with the totals.
pub(crate) fn test() -> Result<(), Failure> {
    let total = stages();
    println!("{total}");
    if total.failed == 0 { Ok(()) } else { Err(Failure::new("not all tests passed")) }
}

/// Runs every stage, says how each ended, and sums up.
pub(crate) fn stages() -> Tally {
    let mut total = Tally::default();
    // Cargo builds meanwhile; whoever needs an environment waits for it and reports what went wrong.
    let install = std::thread::spawn(|| (env::npm::ready().is_ok(), env::python::ready().is_ok()));
    let mut ends = Vec::new();
    for stage in STAGES {
        let start = Instant::now();
        println!("== {}", stage.name);
        let tally = (stage.run)().unwrap_or_else(|failure| {
            println!("{failure}");
            Tally { passed: 0, failed: 1 }
        });
        println!("== {}: {tally} after {:.1} s", stage.name, start.elapsed().as_secs_f64());
        ends.push((stage.name, tally));
        total.add(tally);
    }
    let _installed = install.join();
    for (name, tally) in ends {
        println!("{name}: {tally}");
    }
    total
}

fn cargo_tests() -> Result<Tally, Failure> {
    let server = Postgres::start(Source::Any)?;
    let mut command = Command::new(tree::cargo());
    command.current_dir(tree::root()).env(postgres::VARIABLE, server.url());
    if process::find("cargo-nextest").is_some() {
        command.args(["nextest", "run", "--workspace", "--locked", "--no-tests=pass", "--no-fail-fast"]);
    } else {
        command.args(["test", "--workspace", "--locked", "--no-fail-fast", "--all-targets"]);
    }
    let finished = process::run(&mut command, LIMIT, Echo::Shown)?;
    Ok(closed(count(&finished.lines), &finished))
}

fn doctests() -> Result<Tally, Failure> {
    let mut command = Command::new(tree::cargo());
    command.args(["test", "--workspace", "--locked", "--doc", "--no-fail-fast"]).current_dir(tree::root());
    let finished = process::run(&mut command, LIMIT, Echo::Shown)?;
    Ok(closed(count(&finished.lines), &finished))
}

/// A run that failed without a failed test (it did not build, or its time was up) counts as one failure.
fn closed(mut tally: Tally, finished: &Finished) -> Tally {
    if !finished.succeeded() && tally.failed == 0 {
        tally.failed = 1;
    }
    tally
}

/// Sums the closing lines of nextest and of cargo's own runner.
fn count(lines: &[String]) -> Tally {
    let mut tally = Tally::default();
    // Nextest shows the output of tests that failed, closing lines included; only its own summary counts then.
    let nextest = lines.iter().any(|line| line.trim().starts_with("Summary ["));
    for line in lines {
        let line = line.trim();
        let counts = match (line.strip_prefix("Summary ["), line.strip_prefix("test result: ")) {
            (Some(rest), _) => rest.split_once("run: ").map(|(_, counts)| counts),
            (_, Some(rest)) if !nextest => rest.split_once(". ").map(|(_, counts)| counts),
            _ => None,
        };
        for part in counts.into_iter().flat_map(|counts| counts.split([',', ';', '('])) {
            let mut words = part.trim().splitn(2, ' ');
            let (Some(Ok(number)), Some(what)) = (words.next().map(str::parse::<u64>), words.next()) else {
                continue;
            };
            match what.trim_end_matches(')') {
                "passed" => tally.passed = tally.passed.saturating_add(number),
                "failed" | "timed out" | "exec failed" => tally.failed = tally.failed.saturating_add(number),
                _ => {}
            }
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::count;
    use crate::tally::Tally;

    fn of(line: &str) -> Tally {
        count(&[line.to_owned()])
    }

    #[test]
    fn closing_lines_of_nextest_are_counted() {
        let ok = of("     Summary [   0.012s] 5 tests run: 5 passed (1 slow), 2 skipped");
        assert_eq!(ok, Tally { passed: 5, failed: 0 });
        let bad = of("     Summary [   0.012s] 9/10 tests run: 5 passed, 3 failed, 1 timed out, 0 skipped");
        assert_eq!(bad, Tally { passed: 5, failed: 4 });
    }

    #[test]
    fn closing_lines_of_cargo_are_counted() {
        let line = "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.01s";
        assert_eq!(of(line), Tally { passed: 3, failed: 1 });
    }

    #[test]
    fn a_failed_test_shown_by_nextest_is_not_counted_twice() {
        let shown = "    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out";
        let summary = "     Summary [   0.012s] 5 tests run: 4 passed, 1 failed, 0 skipped";
        assert_eq!(count(&[shown.to_owned(), summary.to_owned()]), Tally { passed: 4, failed: 1 });
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(of("3 passed, 1 failed"), Tally::default());
    }
}
