//! What callgate is held to. Each aim that fails is said with the number that was reached.

use crate::figures::{Row, round};
use crate::options::Options;
use crate::read_path::WHOLE;
use crate::subject::RMCP_SQL;

/// CPU of an echo call against raw hyper.
const ECHO_RATIO: f64 = 1.6;
/// User-space instructions of an echo call over HTTP.
const ECHO_INSTRUCTIONS: u64 = 30_000;
/// Heap blocks of an echo call over HTTP.
const ECHO_BLOCKS: f64 = 20.0;
/// CPU of a list of 500 tools against raw hyper.
const LIST_RATIO: f64 = 1.2;
/// Calls a second over pipelined stdio.
const STDIO_CALLS: f64 = 300_000.0;
/// Calls a second of the whole read path against rmcp that has no part of it, with the same read and with an echo.
const WHOLE_RATIO: f64 = 2.0;

/// Prints each aim with what was reached; true when all that were measured hold.
pub fn hold(rows: &[Row], options: &Options) -> bool {
    let ours: Vec<&Row> = rows.iter().filter(|r| r.subject == "callgate").collect();
    if ours.is_empty() {
        eprintln!("aim: callgate was not measured");
        return !options.wants_subject("callgate");
    }
    let mut all = true;
    let mut judge =
        |case: &str, what: &str, reached: Option<f64>, holds: &dyn Fn(f64) -> bool, aim: String| {
            let verdict = match reached {
                None => "not measured",
                Some(value) if holds(value) => "holds",
                Some(_) => {
                    all = false;
                    "FAILS"
                }
            };
            let reached = reached.map_or_else(|| "-".to_owned(), |v| v.to_string());
            eprintln!("aim: {case}: {what}: {reached} (aim {aim}): {verdict}");
        };
    let found = |case: &str, subject: &str| rows.iter().find(|r| r.case == case && r.subject == subject);
    if let Some(whole) = found("sql-read-http-16", WHOLE) {
        for (case, peer, what) in [
            (whole.case, RMCP_SQL, "the whole read path's calls a second against the same read of rmcp"),
            ("echo-http-16", "rmcp", "the whole read path's calls a second against an echo of rmcp"),
        ] {
            let reached = found(case, peer).map(|r| round(whole.calls_per_s_median / r.calls_per_s_median));
            let at_least = |v: f64| v >= WHOLE_RATIO;
            judge(whole.case, what, reached, &at_least, format!(">= {WHOLE_RATIO}"));
        }
    }
    for row in ours {
        match row.case {
            "echo-http-1" | "echo-http-16" | "echo-http-64" => {
                let at_most = |v: f64| v <= ECHO_RATIO;
                judge(
                    row.case,
                    "CPU against raw hyper",
                    row.ratio_to_raw,
                    &at_most,
                    format!("<= {ECHO_RATIO}"),
                );
                if row.case == "echo-http-1" {
                    let instructions = row.instructions.map(|i| i as f64);
                    let at_most = |v: f64| v <= ECHO_INSTRUCTIONS as f64;
                    judge(
                        row.case,
                        "instructions a call",
                        instructions,
                        &at_most,
                        format!("<= {ECHO_INSTRUCTIONS}"),
                    );
                    let at_most = |v: f64| v <= ECHO_BLOCKS;
                    judge(
                        row.case,
                        "heap blocks a call",
                        row.heap_blocks,
                        &at_most,
                        format!("<= {ECHO_BLOCKS}"),
                    );
                }
            }
            "list-500-http-16" => {
                let at_most = |v: f64| v <= LIST_RATIO;
                judge(
                    row.case,
                    "CPU against raw hyper",
                    row.ratio_to_raw,
                    &at_most,
                    format!("<= {LIST_RATIO}"),
                );
            }
            "echo-stdio-pipelined" => {
                let at_least = |v: f64| v >= STDIO_CALLS;
                let reached = Some(row.calls_per_s_median);
                judge(row.case, "calls a second", reached, &at_least, format!(">= {STDIO_CALLS}"));
            }
            _ => {}
        }
    }
    all
}
