//! The two forms of the report: JSON lines for programs, a table for people.

use std::io::{self, Write};

use crate::Failure;
use crate::figures::Row;

/// One JSON object a line.
pub fn json(rows: &[Row]) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    for row in rows {
        writeln!(output, "{}", serde_json::to_string(row)?)?;
    }
    Ok(())
}

/// A Markdown table a case.
pub fn table(rows: &[Row]) {
    let mut case = "";
    for row in rows {
        if row.case != case {
            case = row.case;
            println!("\n### {case}\n");
            println!(
                "| {:<15} | CPU us/call (min-max) | x raw | calls/s | p50 us | p99 us | RSS KiB | instr. | blocks | heap B |",
                "subject"
            );
            println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        }
        println!(
            "| {:<15} | {} ({}-{}) | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.subject,
            row.cpu_us_median,
            row.cpu_us_min,
            row.cpu_us_max,
            shown(row.ratio_to_raw),
            row.calls_per_s_median,
            shown(row.p50_us),
            shown(row.p99_us),
            row.rss_kb,
            shown(row.instructions),
            shown(row.heap_blocks),
            shown(row.heap_bytes),
        );
    }
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| v.to_string())
}
