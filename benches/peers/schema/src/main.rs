//! The schema benchmark: `callgate-core` against `jsonschema` and `boon`.
//!
//! Ordinary schemas are judged by time for one valid and one faulty instance; hostile ones by whether an
//! answer comes at all. Every subject must give the same verdict, or the run fails. Run by
//! `cargo xtask bench schema`.

mod cases;
mod subjects;

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cases::{CASES, Case, HOSTILE, Hostile};
use crate::subjects::{Boon, Callgate, JsonSchema, Subject};

/// How long each measurement repeats its work.
const MEASURED: Duration = Duration::from_millis(60);
/// Rounds; the subjects take turns, and the median counts.
const ROUNDS: usize = 9;

/// One line of the report.
#[derive(Serialize)]
struct Row {
    case: String,
    subject: &'static str,
    compile_ns: f64,
    valid_ns: f64,
    faulty_ns: f64,
    errors_ns: f64,
}

fn main() -> ExitCode {
    let json = env::args().any(|arg| arg == "--json");
    let mut holds = true;
    if !json {
        println!("| case | subject | compile ns | valid ns | faulty ns | with errors ns |");
        println!("| --- | --- | ---: | ---: | ---: | ---: |");
    }
    for case in CASES {
        let (mut ours, mut jsonschema, mut boon) =
            (Measured::<Callgate>::new(case), Measured::<JsonSchema>::new(case), Measured::<Boon>::new(case));
        for _ in 0..ROUNDS {
            ours.round();
            jsonschema.round();
            boon.round();
        }
        let rows = [ours.row(), jsonschema.row(), boon.row()];
        for row in &rows {
            print(row, json);
        }
        let [ours, others @ ..] = &rows;
        for other in others {
            // Timers and turns leave some noise, which two percent cover.
            if ours.valid_ns > other.valid_ns * 1.02 || ours.errors_ns > other.errors_ns * 1.02 {
                eprintln!("aim: {}: slower than {}: FAILS", case.name, other.subject);
                holds = false;
            }
        }
    }
    for hostile in HOSTILE {
        hostile_case(hostile);
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(row: &Row, json: bool) {
    if json {
        println!("{}", serde_json::to_string(row).unwrap_or_default());
    } else {
        println!(
            "| {} | {} | {:.0} | {:.0} | {:.0} | {:.0} |",
            row.case, row.subject, row.compile_ns, row.valid_ns, row.faulty_ns, row.errors_ns
        );
    }
}

/// A subject with what it measures in a case.
struct Measured<'c, S: Subject> {
    case: &'c Case,
    compiled: S,
    valid: S::Instance,
    faulty: S::Instance,
    times: [Vec<f64>; 4],
}

impl<'c, S: Subject> Measured<'c, S> {
    fn new(case: &'c Case) -> Self {
        let compiled = S::compile(case.schema);
        let (valid, faulty) = (S::instance(case.valid), S::instance(case.faulty));
        assert!(compiled.is_valid(&valid), "{}: {} refuses the valid instance", case.name, S::NAME);
        assert!(!compiled.is_valid(&faulty), "{}: {} accepts the faulty instance", case.name, S::NAME);
        assert!(compiled.errors(&faulty) > 0, "{}: {} gives no error", case.name, S::NAME);
        Self { case, compiled, valid, faulty, times: Default::default() }
    }

    /// One turn. What else the machine does in the meantime meets one turn of each subject, not all turns of one.
    fn round(&mut self) {
        let Self { case, compiled, valid, faulty, times } = self;
        times[0].push(time(|| drop(black_box(S::compile(case.schema)))));
        times[1].push(time(|| {
            black_box(compiled.is_valid(black_box(valid)));
        }));
        times[2].push(time(|| {
            black_box(compiled.is_valid(black_box(faulty)));
        }));
        times[3].push(time(|| {
            black_box(compiled.errors(black_box(faulty)));
        }));
    }

    fn row(self) -> Row {
        let [compile_ns, valid_ns, faulty_ns, errors_ns] = self.times.map(median);
        let case = self.case.name.to_owned();
        Row { case, subject: S::NAME, compile_ns, valid_ns, faulty_ns, errors_ns }
    }
}

/// Nanoseconds for one run of the work.
fn time(mut work: impl FnMut()) -> f64 {
    let share = MEASURED / ROUNDS as u32;
    let started = Instant::now();
    let mut runs = 0_u32;
    while started.elapsed() < share {
        for _ in 0..16 {
            work();
        }
        runs += 16;
    }
    started.elapsed().as_nanos() as f64 / f64::from(runs)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A hostile case grows until a subject needs more than a second; the size it reached is reported.
fn hostile_case(hostile: &Hostile) {
    let grow = |work: fn(&Hostile, usize)| {
        let mut reached = 0;
        for size in 1..=hostile.sizes {
            let started = Instant::now();
            work(hostile, size);
            if started.elapsed() > Duration::from_secs(1) {
                return format!("{:.1} s at size {size}", started.elapsed().as_secs_f64());
            }
            reached = size;
        }
        format!("within a second up to size {reached}")
    };
    eprintln!("hostile: {}: callgate: {}", hostile.name, grow(run::<Callgate>));
    eprintln!("hostile: {}: jsonschema: {}", hostile.name, grow(run::<JsonSchema>));
    eprintln!("hostile: {}: boon: {}", hostile.name, grow(run::<Boon>));
}

fn run<S: Subject>(hostile: &Hostile, size: usize) {
    let (schema, instance) = ((hostile.schema)(size), (hostile.instance)(size));
    if let Some(compiled) = S::try_compile(&schema) {
        black_box(compiled.errors(&S::instance(&instance)));
    }
}
