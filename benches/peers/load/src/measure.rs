//! The run: for each case all servers are up, and rounds go through them in a rotated order.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::Failure;
use crate::aims;
use crate::case::{CASES, Case, Workload};
use crate::figures::{Counts, Row, Sample, median, percentile_us, round};
use crate::http;
use crate::message::{Expected, json_of};
use crate::options::Options;
use crate::process::{self, Server};
use crate::report;
use crate::stdio::Pipes;
use crate::subject::{SUBJECTS, Subject};
use crate::valgrind;

/// How long a server may take to start; an interpreter needs some seconds on a busy machine.
const START: Duration = Duration::from_secs(60);

/// Measures everything asked for, prints the report, and says whether the aims hold.
pub fn run(options: &Options) -> Result<bool, Failure> {
    fs::create_dir_all(&options.out)?;
    process::pin_self();
    let rounds = options.rounds.unwrap_or(if options.quick { 3 } else { 7 });
    let mut rows = Vec::new();
    let mut skipped = Vec::new();
    let mut counted: BTreeMap<(Workload, &str), Option<Counts>> = BTreeMap::new();
    for case in CASES.iter().filter(|c| options.wants_case(c.name)) {
        let mut measured = measure(case, rounds, options, &mut skipped)?;
        for row in &mut measured {
            let Some(subject) = SUBJECTS.into_iter().find(|s| s.name() == row.subject) else { continue };
            let key = (case.workload, row.subject);
            if let std::collections::btree_map::Entry::Vacant(entry) = counted.entry(key) {
                let counts = if options.valgrind && subject.is_native() {
                    valgrind::counts(subject, case.workload, options)?
                } else {
                    None
                };
                entry.insert(counts);
            }
            if let Some(Some(counts)) = counted.get(&key) {
                row.counted(*counts);
            }
        }
        if options.json {
            report::json(&measured)?;
        }
        rows.append(&mut measured);
    }
    if !options.json {
        report::table(&rows);
    }
    for (case, subject, reason) in &skipped {
        eprintln!("skipped: {case} {subject}: {reason}");
    }
    if options.valgrind && !valgrind::is_installed() {
        eprintln!("skipped: instructions and heap blocks: valgrind not found");
    }
    Ok(aims::hold(&rows, options))
}

/// A server that is up, and what its answers must look like.
struct Running {
    subject: Subject,
    server: Server,
    pipes: Option<Pipes>,
    expected: Expected,
    samples: Vec<Sample>,
    calls: usize,
}

fn measure(
    case: &Case,
    rounds: usize,
    options: &Options,
    skipped: &mut Vec<(&'static str, &'static str, String)>,
) -> Result<Vec<Row>, Failure> {
    let answer = reference_answer(case.workload, options)?;
    let mut running = Vec::new();
    for subject in SUBJECTS {
        if !subject.serves(case.workload) || !options.wants_subject(subject.name()) {
            continue;
        }
        match start(subject, case, options, &answer) {
            Ok(server) => running.push(server),
            Err(error) => skipped.push((case.name, subject.name(), error.to_string())),
        }
    }
    for each in &mut running {
        each.round(case, each.calls / 5)?;
        each.samples.clear();
    }
    for turn in 0..rounds {
        let count = running.len();
        for step in 0..count {
            let each = &mut running[(step + turn) % count];
            each.round(case, each.calls)?;
        }
    }
    let mut rows = Vec::new();
    for each in &running {
        let rss_kb = each.server.peak_rss_kb()?;
        rows.push(Row::new(case.name, each.subject.name(), each.calls, &each.samples, rss_kb));
    }
    let floor = running.iter().find(|r| r.subject.is_floor()).map(Running::cpu_us);
    for (row, each) in rows.iter_mut().zip(&running) {
        row.ratio_to_raw = floor.map(|floor| round(each.cpu_us() / floor));
    }
    Ok(rows)
}

fn start(
    subject: Subject,
    case: &Case,
    options: &Options,
    answer: &std::path::Path,
) -> Result<Running, Failure> {
    let program = subject.program(case.workload, options, answer)?.pinned();
    let log = options.out.join(format!("{}-{}.log", case.name, subject.name()));
    let calls = subject.requests(case, options.quick);
    let (server, mut pipes) = if case.workload == Workload::EchoStdio {
        let (server, pipes) = Server::stdio(&program, &log)?;
        (server, Some(pipes))
    } else {
        (Server::http(&program, &log, START)?, None)
    };
    let body = match &mut pipes {
        Some(pipes) => pipes.once(0)?,
        None => http::once(&server.authority, subject.token(), case.workload, 0)?,
    };
    let expected = Expected::learn(case.workload, subject.is_floor(), 0, &body)?;
    Ok(Running { subject, server, pipes, expected, samples: Vec::new(), calls })
}

impl Running {
    /// The median CPU of a call, before it is rounded for the report.
    fn cpu_us(&self) -> f64 {
        median(&self.samples.iter().map(|s| s.cpu_us).collect::<Vec<_>>())
    }

    fn round(&mut self, case: &Case, calls: usize) -> Result<(), Failure> {
        let before = self.server.cpu_us()?;
        let name = self.subject.name();
        let failed = |error: Failure| format!("{name}, {}: {error}", case.name);
        let (elapsed, p50_us, p99_us) = match &mut self.pipes {
            Some(pipes) => {
                let elapsed = pipes.drive(self.expected, self.subject.is_floor(), calls).map_err(failed)?;
                (elapsed, None, None)
            }
            None => {
                let mut seen = http::drive(
                    &self.server.authority,
                    self.subject.token(),
                    case.workload,
                    self.expected,
                    case.connections,
                    calls,
                )
                .map_err(failed)?;
                seen.latencies.sort_unstable();
                let latencies = &seen.latencies;
                (seen.elapsed, percentile_us(latencies, 0.5), percentile_us(latencies, 0.99))
            }
        };
        let cpu_us = (self.server.cpu_us()? - before) / calls as f64;
        let calls_per_s = calls as f64 / elapsed.as_secs_f64();
        self.samples.push(Sample { cpu_us, calls_per_s, p50_us, p99_us });
        Ok(())
    }
}

/// The bytes that the floor sends: what callgate answers, or rmcp while there is no callgate to ask.
pub fn reference_answer(workload: Workload, options: &Options) -> Result<PathBuf, Failure> {
    let file = options.out.join(format!("{workload:?}.json"));
    if file.exists() {
        return Ok(file);
    }
    let mut reasons = Vec::new();
    // A list or an echo over HTTP is the same JSON as over stdio.
    let asked = if workload == Workload::EchoStdio { Workload::EchoHttp } else { workload };
    for subject in [Subject::Callgate, Subject::Rmcp] {
        let asking = || -> Result<Vec<u8>, Failure> {
            if !subject.serves(asked) {
                return Err("it takes no part".into());
            }
            let program = subject.program(asked, options, &file)?;
            let server = Server::http(&program, &options.out.join("reference.log"), START)?;
            http::once(&server.authority, subject.token(), asked, 0)
        };
        match asking() {
            Ok(body) => {
                fs::write(&file, json_of(&body))?;
                return Ok(file);
            }
            Err(error) => reasons.push(format!("{}: {error}", subject.name())),
        }
    }
    // The floor is then reported as skipped, with this as its reason.
    eprintln!("no answer to copy for {workload:?}: {}", reasons.join("; "));
    Ok(file)
}
