//! Counts that a noisy machine does not disturb: instructions and heap blocks a call, by valgrind.
//!
//! A count is the difference of two runs that differ only in their number of calls, so that start-up
//! and end cancel out. The server has one worker and one connection.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Failure;
use crate::case::{CASES, Workload};
use crate::figures::{Counts, round};
use crate::http;
use crate::measure::reference_answer;
use crate::message::Expected;
use crate::options::Options;
use crate::process::{Program, Server};
use crate::subject::{SUBJECTS, Subject};

/// valgrind makes a server some fifty times slower.
const START: Duration = Duration::from_secs(180);

/// Whether valgrind can be run.
pub fn is_installed() -> bool {
    Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// Instructions and heap blocks a call, or nothing without valgrind.
pub fn counts(subject: Subject, workload: Workload, options: &Options) -> Result<Option<Counts>, Failure> {
    if !is_installed() {
        return Ok(None);
    }
    // The slow ones are steady enough with fewer calls.
    let slow = matches!(subject, Subject::Rmcp | Subject::RmcpDocumented);
    let (few, many) = match (slow, workload) {
        (true, Workload::ListHttp) => (20, 60),
        (true, _) => (200, 700),
        (false, _) => (500, 2_500),
    };
    let program = subject.program(workload, options, &reference_answer(workload, options)?)?;
    let run = |tool: Tool, calls: usize| under(tool, &program, subject, workload, calls, options);
    let calls = (many - few) as f64;
    let per_call = |less: u64, more: u64| more.saturating_sub(less) as f64 / calls;
    let instructions = per_call(run(Tool::Callgrind, few)?.0, run(Tool::Callgrind, many)?.0);
    let (less, more) = (run(Tool::Dhat, few)?, run(Tool::Dhat, many)?);
    Ok(Some(Counts {
        instructions: instructions.round() as u64,
        heap_blocks: round(per_call(less.0, more.0)),
        heap_bytes: per_call(less.1, more.1).round() as u64,
    }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tool {
    Callgrind,
    Dhat,
}

/// Runs a server under a tool for some calls; instructions, or blocks and bytes.
fn under(
    tool: Tool,
    program: &Program,
    subject: Subject,
    workload: Workload,
    calls: usize,
    options: &Options,
) -> Result<(u64, u64), Failure> {
    let name = format!("{}-{workload:?}-{calls}", subject.name());
    let log = options.out.join(format!("{name}.valgrind"));
    let (tool_name, output) = match tool {
        Tool::Callgrind => ("callgrind", options.out.join(format!("{name}.callgrind"))),
        Tool::Dhat => ("dhat", options.out.join(format!("{name}.dhat"))),
    };
    let args = vec![
        format!("--tool={tool_name}"),
        format!("--log-file={}", log.display()),
        format!("--{tool_name}-out-file={}", output.display()),
    ];
    let program = program.behind("valgrind", &args);
    let errors = options.out.join(format!("{name}.log"));
    let fixed = subject.is_floor();
    if workload == Workload::EchoStdio {
        let (mut server, mut pipes) = Server::stdio(&program, &errors)?;
        let expected = Expected::learn(workload, fixed, 0, &pipes.once(0)?)?;
        pipes.drive(expected, fixed, calls)?;
        // The end of its input ends a stdio server.
        drop(pipes);
        server.wait(START)?;
    } else {
        let server = Server::http(&program, &errors, START)?;
        let expected = Expected::learn(
            workload,
            fixed,
            0,
            &http::once(&server.authority, subject.token(), workload, 0)?,
        )?;
        http::drive(&server.authority, subject.token(), workload, expected, 1, calls)?;
        server.end()?;
    }
    let found = match tool {
        Tool::Callgrind => instructions(&output),
        Tool::Dhat => heap(&log),
    };
    found.ok_or_else(|| format!("no totals for {name}; see {}", log.display()).into())
}

/// The total of a callgrind file.
fn instructions(output: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(output).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("summary:").or(l.strip_prefix("totals:")))?;
    Some((line.split_whitespace().next()?.parse().ok()?, 0))
}

/// Blocks and bytes of a dhat log: `==1== Total:     1,234 bytes in 56 blocks`.
fn heap(log: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(log).ok()?;
    let line = text.lines().find(|l| l.contains("Total:"))?.replace(',', "");
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [bytes, blocks] => Some((*blocks, *bytes)),
        _ => None,
    }
}

/// Holds callgate's counts against the committed bounds; true when all hold or valgrind is missing.
pub fn guard(options: &Options) -> Result<bool, Failure> {
    fs::create_dir_all(&options.out)?;
    if !is_installed() {
        println!("skipped: valgrind not found");
        println!("0 passed, 0 failed, 1 skipped");
        return Ok(true);
    }
    let bounds = fs::read_to_string(options.bounds.as_ref().ok_or("--bounds is not given")?)?;
    let (mut passed, mut failed) = (0, 0);
    for (case, workload) in [
        ("echo-http", Workload::EchoHttp),
        ("list-500-http", Workload::ListHttp),
        ("echo-stdio", Workload::EchoStdio),
    ] {
        let counts = counts(Subject::Callgate, workload, options)?.ok_or("valgrind counted nothing")?;
        let found = [("instructions", counts.instructions as f64), ("heap_blocks", counts.heap_blocks)];
        for (what, reached) in found {
            let bound = bound(&bounds, case, what).ok_or(format!("no bound [{case}] {what}"))?;
            let holds = reached <= bound;
            *(if holds { &mut passed } else { &mut failed }) += 1;
            let verdict = if holds { "holds" } else { "FAILS" };
            println!("guard: {case}: {what} a call: {reached} (bound {bound}): {verdict}");
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// Reads `name = number` below `[table]`: the bounds file uses no more of TOML than that.
fn bound(text: &str, table: &str, name: &str) -> Option<f64> {
    let header = format!("[{table}]");
    let inside = text.lines().map(str::trim).skip_while(|l| *l != header).skip(1);
    for line in inside.take_while(|l| !l.starts_with('[')) {
        let Some((key, value)) = line.split_once('=') else { continue };
        if key.trim() == name {
            let number = value.split('#').next()?.trim().replace('_', "");
            return number.parse().ok();
        }
    }
    None
}

/// Leaves a callgrind and a dhat file of the chosen subject and case behind, and says where.
pub fn profile(options: &Options) -> Result<(), Failure> {
    fs::create_dir_all(&options.out)?;
    for case in CASES.iter().filter(|c| options.wants_case(c.name)) {
        for subject in SUBJECTS.into_iter().filter(|s| s.is_native() && s.serves(case.workload)) {
            if !options.wants_subject(subject.name()) {
                continue;
            }
            let counts = counts(subject, case.workload, options)?.ok_or("valgrind not found")?;
            println!("{} {}: {}", case.name, subject.name(), serde_json::to_string(&counts)?);
        }
    }
    let files: Vec<PathBuf> = fs::read_dir(&options.out)?.filter_map(|e| Some(e.ok()?.path())).collect();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "callgrind" || e == "dhat")) {
        println!("{}", file.display());
    }
    Ok(())
}
