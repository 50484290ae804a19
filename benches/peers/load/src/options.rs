//! The command line. `xtask` fills in the paths; a person sets the rest.

use std::env;
use std::path::PathBuf;

/// What the options mean, printed with every mistake.
pub const USAGE: &str = "\
load bench [--json] [--quick] [--subjects a,b] [--cases a,b] [--rounds N] [--no-valgrind] [paths]
load guard --bounds FILE [paths]        instructions and heap blocks a call against committed bounds
load profile --cases CASE --subjects S  callgrind and dhat output of one subject, start-up left out
paths:
  --callgate FILE         the `callgate` binary, for the SQL read
  --env DIR               where the Node and Python peers are installed (made on first use)
  --scripts DIR           the scripts of those peers
  --out DIR               where profiles and logs go";

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Measure and compare.
    Bench,
    /// Hold the instruction count against the committed bounds.
    Guard,
    /// Write a profile.
    Profile,
}

/// The parsed command line.
pub struct Options {
    pub mode: Mode,
    pub json: bool,
    pub quick: bool,
    pub valgrind: bool,
    pub rounds: Option<usize>,
    pub subjects: Option<Vec<String>>,
    pub cases: Option<Vec<String>>,
    pub callgate: Option<PathBuf>,
    pub env: PathBuf,
    pub scripts: PathBuf,
    pub out: PathBuf,
    pub bounds: Option<PathBuf>,
}

impl Options {
    /// Parses the arguments of this process; the error says what was expected.
    pub fn from_args() -> Result<Self, String> {
        let mut args = env::args().skip(1);
        let mode = match args.next().as_deref() {
            Some("bench") => Mode::Bench,
            Some("guard") => Mode::Guard,
            Some("profile") => Mode::Profile,
            _ => return Err("the first argument is bench, guard or profile".to_owned()),
        };
        let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let scratch = env::temp_dir().join(format!("callgate-bench-{}", std::process::id()));
        let mut options = Self {
            mode,
            json: false,
            quick: false,
            valgrind: true,
            rounds: None,
            subjects: None,
            cases: None,
            callgate: None,
            env: env::temp_dir().join("callgate-bench-env"),
            scripts: crates.with_file_name("scripts"),
            out: scratch,
            bounds: None,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--json" => options.json = true,
                "--quick" => options.quick = true,
                "--no-valgrind" => options.valgrind = false,
                "--rounds" => {
                    let rounds = value()?.parse().map_err(|_| "--rounds needs a number")?;
                    options.rounds = Some(rounds);
                }
                "--subjects" => options.subjects = Some(list(&value()?)),
                "--cases" => options.cases = Some(list(&value()?)),
                "--callgate" => options.callgate = Some(value()?.into()),
                "--env" => options.env = value()?.into(),
                "--scripts" => options.scripts = value()?.into(),
                "--out" => options.out = value()?.into(),
                "--bounds" => options.bounds = Some(value()?.into()),
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }

    /// Whether a subject was asked for; without `--subjects` all are.
    pub fn wants_subject(&self, name: &str) -> bool {
        self.subjects.as_ref().is_none_or(|names| names.iter().any(|n| n == name))
    }

    /// Whether a case was asked for; without `--cases` all are.
    pub fn wants_case(&self, name: &str) -> bool {
        self.cases.as_ref().is_none_or(|names| names.iter().any(|n| n == name))
    }
}

fn list(value: &str) -> Vec<String> {
    value.split(',').map(str::to_owned).collect()
}
