//! `cargo xtask interop`: real clients against the conformance example, over every transport and in both eras,
//! and against an example of the binary.
//!
//! The clients are scripts in `interop/`, which say line by line what held. Each run has a server of its own, so that
//! counters and list changes are its own too, and a bound on its time. `test` calls it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use crate::env::npm::{self, Npm};
use crate::env::python;
use crate::failure::{Failure, Place};
use crate::fixture::Fixture;
use crate::process::{self, Echo};
use crate::tally::Tally;
use crate::{reaper, tree};

mod auth;

const BUILD_LIMIT: Duration = Duration::from_secs(25 * 60);
const LIMIT: Duration = Duration::from_secs(120);
/// Small enough that the fixtures fill several pages.
const PAGES: &[&str] = &["--page-size", "5"];
const SCRIPTS: [&str; 4] = ["ts_client.mjs", "py_client.py", "fastmcp_client.py", "inspector.mjs"];
/// Scripts without a client library; they do not need every combination.
const WIRE: [(&str, Transport, &str); 3] = [
    ("wire_http.py", Transport::Http, "modern"),
    ("wire_http.py", Transport::Http, "legacy"),
    ("wire_stdio.py", Transport::Stdio, "modern"),
];
/// Scripts against the binary with a configuration of `examples/`.
const FILES: [(&str, &str, &str); 2] =
    [("code_search.py", "code-search", "modern"), ("code_search.py", "code-search", "legacy")];
/// Scripts that make projects of their own for the binary.
const BINARY: [(&str, &str); 4] = [
    ("ts_approvals.mjs", "modern"),
    ("ts_approvals.mjs", "legacy"),
    ("py_approvals.py", "modern"),
    ("py_approvals.py", "legacy"),
];
const MODULES: [&str; 6] =
    ["check.mjs", "ts_client.mjs", "inspector.mjs", "ts_auth.mjs", "issuer.mjs", "ts_approvals.mjs"];
const LANES: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Http,
    Stdio,
    /// The binary over stdio, with the configuration of that example.
    Example(&'static str),
    /// The binary, with which the script does what it wants.
    Binary,
}

/// One client, one transport, one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    script: &'static str,
    transport: Transport,
    era: &'static str,
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            Transport::Http => "HTTP",
            Transport::Stdio => "stdio",
            Transport::Binary => "the binary",
            Transport::Example(name) => {
                return write!(formatter, "{} with {name}, {}", self.script, self.era);
            }
        };
        write!(formatter, "{} over {transport}, {}", self.script, self.era)
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// Against the conformance example.
    Fixture(Case),
    /// Against the binary, with access tokens.
    Auth(auth::Case),
}

impl fmt::Display for Job {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixture(case) => case.fmt(formatter),
            Self::Auth(case) => case.fmt(formatter),
        }
    }
}

/// What the runs share.
struct Setting {
    npm: Npm,
    python: PathBuf,
    server: PathBuf,
    /// The binary `callgate`.
    callgate: PathBuf,
}

/// Runs every case whose description contains `filter`; each assertion counts once.
///
/// Another server than the example can be named, if it takes the same arguments.
pub(crate) fn run(filter: &str, server: Option<PathBuf>) -> Result<Tally, Failure> {
    let server = server.map_or_else(Fixture::build, Ok)?;
    let setting = Setting { npm: npm::ready()?, python: python::ready()?, server, callgate: binary()? };
    for module in MODULES {
        let source = tree::root().join("interop").join(module);
        std::fs::copy(&source, setting.npm.directory.join(module)).at(source.display())?;
    }
    let mut jobs: Vec<Job> = cases().into_iter().map(Job::Fixture).collect();
    jobs.extend(auth::cases().into_iter().map(Job::Auth));
    jobs.retain(|job| job.to_string().contains(filter));
    if jobs.is_empty() {
        return Err(Failure::new(format!("no case contains `{filter}`")));
    }
    jobs.reverse();
    let waiting = Mutex::new(jobs);
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _lane in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some(job) = next else { return };
                    let counts = match job {
                        Job::Fixture(case) => one(&setting, case),
                        Job::Auth(case) => auth::one(&setting, case),
                    };
                    let counts = counts.unwrap_or_else(|failure| {
                        println!("== {job}\n{failure}");
                        Tally { passed: 0, failed: 1 }
                    });
                    tally.lock().unwrap_or_else(PoisonError::into_inner).add(counts);
                }
            });
        }
    });
    Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs the cases as a subcommand of their own.
pub(crate) fn check(filter: &str, server: Option<PathBuf>) -> Result<(), Failure> {
    let tally = run(filter, server)?;
    println!("{tally}");
    if tally.failed == 0 { Ok(()) } else { Err(Failure::new("a client and the server disagree")) }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for script in SCRIPTS {
        for transport in [Transport::Http, Transport::Stdio] {
            for era in ["modern", "legacy"] {
                cases.push(Case { script, transport, era });
            }
        }
    }
    for (script, transport, era) in WIRE {
        cases.push(Case { script, transport, era });
    }
    for (script, era) in BINARY {
        cases.push(Case { script, transport: Transport::Binary, era });
    }
    for (script, example, era) in FILES {
        cases.push(Case { script, transport: Transport::Example(example), era });
    }
    cases
}

/// Builds the binary and says where it is.
fn binary() -> Result<PathBuf, Failure> {
    let mut command = Command::new(tree::cargo());
    command.args(["build", "--quiet", "--locked", "--package", "callgate"]).current_dir(tree::root());
    process::must(&mut command, BUILD_LIMIT).at("building callgate")?;
    Ok(tree::target()?.join("debug").join("callgate"))
}

fn one(setting: &Setting, case: Case) -> Result<Tally, Failure> {
    let scratch =
        tempfile::Builder::new().prefix("callgate-interop-").tempdir().at("a temporary directory")?;
    reaper::guard_directory(scratch.path())?;
    let mut command = interpreter(setting, case.script);
    command.arg(case.era).env("TMPDIR", scratch.path());
    let fixture = match case.transport {
        Transport::Http => {
            let fixture = Fixture::start(&setting.server, PAGES)?;
            command.args(["--url", &fixture.url()]);
            Some(fixture)
        }
        Transport::Stdio => {
            command.arg(&setting.server).args(PAGES);
            None
        }
        Transport::Binary => {
            command.arg(&setting.callgate);
            None
        }
        Transport::Example(name) => {
            let file = tree::root().join("examples").join(name).join("callgate.toml");
            command.arg(&setting.callgate).args(["--log", "error", "serve", "--config"]).arg(file);
            None
        }
    };
    let finished = process::run(&mut command, LIMIT, Echo::Kept)?;
    let mut tally = count(&finished.lines);
    if !finished.succeeded() && tally.failed == 0 {
        tally.failed = 1;
    }
    // One write, so that the lines of two lanes do not mix.
    let mut report = format!("== {case}: {tally}\n{}", finished.text());
    if tally.failed > 0 {
        report.push_str(&format!("\n    {}", finished.ending()));
        if let Some(fixture) = &fixture {
            report.push_str(&format!("\nthe server wrote:\n{}", fixture.log()));
        }
    }
    println!("{report}");
    reaper::release_directory(scratch.path());
    Ok(tally)
}

fn interpreter(setting: &Setting, script: &str) -> Command {
    let python = Path::new(script).extension().is_some_and(|extension| extension == "py");
    let (program, file) = if python {
        (&setting.python, tree::root().join("interop").join(script))
    } else {
        (&setting.npm.node, setting.npm.directory.join(script))
    };
    let mut command = Command::new(program);
    // A proxy of the machine must not come between client and server.
    command.arg(file).env("NO_PROXY", "localhost,127.0.0.1").env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn count(lines: &[String]) -> Tally {
    let mut tally = Tally::default();
    for line in lines {
        if line.starts_with("ok - ") {
            tally.record(true);
        } else if line.starts_with("not ok - ") {
            tally.record(false);
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::{cases, count};
    use crate::tally::Tally;

    #[test]
    fn every_client_meets_every_transport_in_both_eras() {
        let cases = cases();
        assert_eq!(cases.len(), 16 + 3 + 4 + 2);
        assert!(cases.iter().any(|case| case.to_string() == "py_client.py over stdio, legacy"));
    }

    #[test]
    fn assertions_are_counted_and_other_lines_are_not() {
        let lines = ["ok - one", "    got 3", "not ok - two", "okay"].map(str::to_owned);
        assert_eq!(count(&lines), Tally { passed: 1, failed: 1 });
    }
}
