//! `cargo xtask conformance server`: the official suite against the conformance example, with its counts asserted.
//!
//! The suite alone is no proof: some of its scenarios pass against a server that is not there. So each scenario's
//! number of passed checks must be the one in `conformance/`, and the number of required scenarios the one known of
//! the revision. The suite's own total is printed last. `test` calls it for every set.

mod expected;
mod results;

use std::path::Path;
use std::time::Duration;

use crate::env::npm::{self, Npm};
use crate::failure::{Failure, Place};
use crate::fixture::Fixture;
use crate::process::{self, Echo};
use crate::tally::Tally;

use self::expected::Expected;
use self::results::Scenario;

const LIMIT: Duration = Duration::from_secs(600);
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// A set of scenarios that has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// What a server of 2026-07-28 must do.
    Required20260728,
    /// What a server of 2025-11-25 must do.
    Required20251125,
    /// Everything the suite knows of 2026-07-28, where warnings count as failures.
    All20260728,
}

impl Set {
    /// Every set, in the order in which CI runs them.
    pub(crate) const EVERY: [Self; 3] = [Self::Required20260728, Self::Required20251125, Self::All20260728];

    /// The set of a revision's required scenarios.
    pub(crate) fn required(revision: &str) -> Result<Self, Failure> {
        match revision {
            "2026-07-28" => Ok(Self::Required20260728),
            "2025-11-25" => Ok(Self::Required20251125),
            other => {
                Err(Failure::new(format!("no requirements of {other}; known are 2026-07-28 and 2025-11-25")))
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Required20260728 => "2026-07-28",
            Self::Required20251125 => "2025-11-25",
            Self::All20260728 => "all of 2026-07-28",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Required20260728 => &["--requirements", "2026-07-28"],
            Self::Required20251125 => &["--requirements", "2025-11-25"],
            Self::All20260728 => &["--suite", "all", "--spec-version", "2026-07-28"],
        }
    }

    /// The committed file of counts.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Required20260728 => "conformance/server-2026-07-28.txt",
            Self::Required20251125 => "conformance/server-2025-11-25.txt",
            Self::All20260728 => "conformance/server-2026-07-28-all.txt",
        }
    }

    /// How many scenarios must be judged.
    fn size(self) -> usize {
        match self {
            Self::Required20260728 => 37,
            Self::Required20251125 => 30,
            Self::All20260728 => 40,
        }
    }

    fn warnings_count(self) -> bool {
        self == Self::All20260728
    }
}

/// What is done with the counts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// They must be those of the committed file.
    Asserted,
    /// They are written to the file, to be reviewed and committed.
    Recorded,
}

/// Runs one set and says whether it held.
pub(crate) fn server(set: Set, counts: Counts, url: Option<&str>) -> Result<(), Failure> {
    let npm = npm::ready()?;
    let own = if url.is_none() { Some(Fixture::start(&Fixture::build()?, &[])?) } else { None };
    let url = url.map_or_else(|| own.as_ref().map(Fixture::url).unwrap_or_default(), str::to_owned);
    let run = run(&npm, set, &url)?;
    let faults = judge(set, counts, &run)?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty()
        && let Some(own) = &own
    {
        eprintln!("the server wrote:\n{}", own.log());
    }
    println!("{}", run.total);
    if faults.is_empty() { Ok(()) } else { Err(Failure::told()) }
}

/// Runs every set against one server, as a stage of the tests; each scenario of each set counts once.
pub(crate) fn stage() -> Result<Tally, Failure> {
    let npm = npm::ready()?;
    let binary = Fixture::build()?;
    let mut tally = Tally::default();
    for set in Set::EVERY {
        let fixture = Fixture::start(&binary, &[])?;
        let run = run(&npm, set, &fixture.url())?;
        let faults = judge(set, Counts::Asserted, &run)?;
        for fault in &faults {
            println!("{fault}");
        }
        if !faults.is_empty() {
            println!("the server wrote:\n{}", fixture.log());
        }
        println!("{}: {}", set.name(), run.total);
        let failed = u64::try_from(faults.len()).unwrap_or(u64::MAX);
        let judged = u64::try_from(set.size()).unwrap_or(u64::MAX);
        tally.add(Tally { passed: judged.saturating_sub(failed), failed });
    }
    Ok(tally)
}

/// One run of the suite.
struct Run {
    /// The scenarios that have to hold.
    judged: Vec<String>,
    scenarios: Vec<Scenario>,
    /// The suite's own closing line.
    total: String,
}

fn run(npm: &Npm, set: Set, url: &str) -> Result<Run, Failure> {
    let output =
        tempfile::Builder::new().prefix("callgate-conformance-").tempdir().at("a temporary directory")?;
    let mut command = npm.script(SUITE);
    command.args(["server", "--url", url]).args(set.arguments()).arg("-o").arg(output.path());
    // Some fixtures of the suite wait for streams; a proxy of the machine must not come between.
    command.env("NO_PROXY", "localhost,127.0.0.1");
    let finished = process::run(&mut command, LIMIT, Echo::Kept)?;
    let scenarios = results::read(output.path())?;
    let total = finished.lines.iter().rev().find(|line| line.starts_with("Total: ")).cloned();
    let Some(total) = total else {
        return Err(Failure::new(format!("the suite printed no total:\n{}", finished.text())));
    };
    println!("== conformance server, {}", set.name());
    for scenario in &scenarios {
        println!("{scenario}");
    }
    let judged = match set {
        Set::All20260728 => {
            scenarios.iter().map(|scenario| scenario.name.clone()).filter(|name| core(name)).collect()
        }
        Set::Required20260728 | Set::Required20251125 => required(npm, set.name())?,
    };
    Ok(Run { judged, scenarios, total })
}

/// The tasks extension is not offered.
fn core(name: &str) -> bool {
    !name.starts_with("tasks-")
}

/// The frozen list of a revision, as the suite prints it.
fn required(npm: &Npm, revision: &str) -> Result<Vec<String>, Failure> {
    let mut command = npm.script(SUITE);
    let finished = process::must(command.args(["list", "--requirements", revision]), LIMIT)?;
    Ok(server_scenarios(&finished.lines))
}

fn server_scenarios(lines: &[String]) -> Vec<String> {
    let mut of_servers = false;
    let mut names = Vec::new();
    for line in lines {
        if line.ends_with(':') {
            of_servers = line.starts_with("Server scenarios");
        } else if let (true, Some(name)) = (of_servers, line.trim().strip_prefix("- ")) {
            names.push(name.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    names
}

fn judge(set: Set, counts: Counts, run: &Run) -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    if run.judged.len() != set.size() {
        faults.push(format!(
            "{} scenarios are judged, but {} are known to be required",
            run.judged.len(),
            set.size()
        ));
    }
    let path = Path::new(set.file());
    let expected = match counts {
        Counts::Asserted => Expected::read(path)?,
        Counts::Recorded => Expected::of(&run.judged, &run.scenarios),
    };
    for name in &run.judged {
        let Some(scenario) = run.scenarios.iter().find(|scenario| scenario.name == *name) else {
            faults.push(format!("{name}: not run"));
            continue;
        };
        let failed = scenario.failures.len();
        let warned = if set.warnings_count() { scenario.warnings.len() } else { 0 };
        if failed > 0 || warned > 0 {
            faults.push(format!(
                "{name}: {failed} failed, {} warnings{}",
                scenario.warnings.len(),
                scenario.complaints()
            ));
        } else if expected.passed(name) != Some(scenario.passed) {
            faults.push(format!(
                "{name}: {} checks passed, but {} says {}; if the new number is right, run with --record and commit",
                scenario.passed,
                set.file(),
                expected.passed(name).map_or_else(|| "nothing of it".to_owned(), |number| number.to_string()),
            ));
        }
    }
    if counts == Counts::Recorded && faults.is_empty() {
        expected.write(path)?;
    }
    Ok(faults)
}

/// The scenarios that a run of every set judges; `coverage` counts them as tests.
pub(crate) fn judged_scenarios() -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for set in Set::EVERY {
        names.extend(Expected::read(Path::new(set.file()))?.names());
    }
    names.sort();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::server_scenarios;

    #[test]
    fn only_scenarios_for_servers_are_taken_from_the_list() {
        let lines: Vec<String> = [
            "Required for 2026-07-28 (69 scenarios, frozen):",
            "",
            "Server scenarios (test against a server):",
            "  - tools-list",
            "  - caching",
            "",
            "Client scenarios (test against a client):",
            "  - tools_call",
        ]
        .iter()
        .map(|line| (*line).to_owned())
        .collect();
        assert_eq!(server_scenarios(&lines), ["tools-list", "caching"]);
    }
}
