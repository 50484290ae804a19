//! `callgate audit`: finding records, checking the chain, taking the trail elsewhere.
//!
//! It reads beside a server that runs and never writes, except for `init`, which makes what is not
//! there, and `reconcile`, which records what became of an effect.

use std::io::Read as _;
use std::path::Path;

use callgate_adapters::audit::{
    Column, Filter, Head, Reader, Row, Verified, format_time, judge_removal, parse_heads, parse_time, verify,
    write_head, write_row,
};
use callgate_core::port::{Clock as _, SystemClock};
use callgate_gateway::trail::{Reading, ReadingError};
use callgate_protocol::json::{push_integer, push_string};

use super::check;
use crate::args::{Audit, AuditCommand, AuditFilter, AuditShown};
use crate::exit::Failure;
use crate::print::{say, warn_line};

mod reconcile;
pub(super) mod table;

pub(super) use reconcile::account;

use table::{Table, visible};

/// Records that an export reads at a time.
const PAGE: u32 = 2000;
/// Breaks that are shown one by one.
const BREAKS: usize = 100;

pub(crate) fn run(audit: &Audit) -> Result<(), Failure> {
    if let AuditCommand::Reconcile(arguments) = &audit.command {
        return reconcile::run(&audit.config, arguments);
    }
    let reading = Reading::of(&audit.config).map_err(failed)?;
    match &audit.command {
        // It needs the store, and the trail only where there is one.
        AuditCommand::Reconcile(_) => Ok(()),
        AuditCommand::Init => {
            let store = reading.init().map_err(failed)?;
            say!("the trail is there; its store is {store}");
            Ok(())
        }
        AuditCommand::List { filter, shown } => list(&reading, of(filter)?, shown),
        AuditCommand::Search { text, filter, shown } => {
            let mut filter = of(filter)?;
            filter.text = Some(text.clone());
            list(&reading, filter, shown)
        }
        AuditCommand::Show { id, json } => show(&reading, id, *json),
        AuditCommand::Export { filter } => export(&reading, &of(filter)?),
        AuditCommand::Verify { heads, json } => verify_chain(&reading, heads.as_deref(), *json),
        AuditCommand::Heads => {
            let head = open(&reading)?.head().map_err(|error| failed(error.into()))?;
            let head = Head { store: head.id, link: head.end, time_us: now_us() };
            let mut line = String::new();
            write_head(&head, &mut line);
            say!("{line}");
            Ok(())
        }
    }
}

fn open(reading: &Reading) -> Result<Box<dyn Reader>, Failure> {
    reading.open().map_err(failed)
}

pub(super) fn failed(error: ReadingError) -> Failure {
    match error {
        ReadingError::Configuration(report) => {
            check::show(&report);
            Failure::Configuration
        }
        other => Failure::Trail(other.to_string()),
    }
}

pub(super) fn now_us() -> i64 {
    SystemClock.now().0
}

fn of(given: &AuditFilter) -> Result<Filter, Failure> {
    let time = |text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => parse_time(text, now_us()).map(Some).map_err(Failure::Usage),
    };
    let mut filter = Filter::default();
    filter.since_us = time(&given.since)?;
    filter.until_us = time(&given.until)?;
    filter.principal.clone_from(&given.principal);
    filter.tenant.clone_from(&given.tenant);
    filter.tool.clone_from(&given.tool);
    filter.decision.clone_from(&given.decision);
    filter.outcome.clone_from(&given.outcome);
    filter.code.clone_from(&given.code);
    Ok(filter)
}

fn list(reading: &Reading, filter: Filter, shown: &AuditShown) -> Result<(), Failure> {
    let mut reader = open(reading)?;
    let head = reader.head().map_err(|error| failed(error.into()))?;
    let rows = reader.newest(&filter, shown.limit).map_err(|error| failed(error.into()))?;
    if shown.json {
        print_lines(&rows, &head.id);
        return Ok(());
    }
    let mut table =
        Table::new(["TIME", "TOOL", "PRINCIPAL", "TENANT", "DECISION", "OUTCOME", "EFFECT", "MS", "CALL"]);
    for row in &rows {
        let text = |column| row.body.text(column).unwrap_or("-");
        let time = row.body.get(Column::Time).integer().map(format_time).unwrap_or_default();
        let latency = row.body.get(Column::Latency).integer();
        // What the trail says about itself stands where a call has its tool.
        let own = row.body.text(Column::Kind).filter(|kind| *kind != "call").map(|kind| format!("({kind})"));
        let outcome = row.body.text(Column::Code).unwrap_or_else(|| text(Column::Result));
        table.row([
            time.get(..23).map(|time| format!("{time}Z")).unwrap_or(time.clone()),
            own.unwrap_or_else(|| text(Column::Tool).to_owned()),
            text(Column::Principal).to_owned(),
            text(Column::Tenant).to_owned(),
            text(Column::Decision).to_owned(),
            outcome.to_owned(),
            text(Column::Effect).to_owned(),
            latency.map(|us| format!("{}.{}", us / 1000, us / 100 % 10)).unwrap_or_default(),
            text(Column::Call).to_owned(),
        ]);
    }
    say!("{table}");
    if u32::try_from(rows.len()).is_ok_and(|count| count == shown.limit) {
        warn_line!("the {} newest records that are meant; --limit shows more", rows.len());
    }
    Ok(())
}

fn print_lines(rows: &[Row], store: &str) {
    let mut line = String::new();
    for row in rows {
        line.clear();
        write_row(row, store, &mut line);
        say!("{line}");
    }
}

fn show(reading: &Reading, id: &str, json: bool) -> Result<(), Failure> {
    let mut reader = open(reading)?;
    let head = reader.head().map_err(|error| failed(error.into()))?;
    let row = reader.call(id).map_err(|error| failed(error.into()))?;
    let Some(row) = row else {
        let why = "the trail has no record of this call; ids stand in receipts and in `callgate audit list`";
        return Err(Failure::Trail(format!("{}: {why}", visible(id))));
    };
    if json {
        print_lines(std::slice::from_ref(&row), &head.id);
        return Ok(());
    }
    let line = |name: &str, value: &str| say!("{name:<15} {value}");
    line("record", &row.seq.to_string());
    for (column, value) in Column::ALL.into_iter().zip(row.body.values()) {
        let text = match (column, value.integer()) {
            (Column::Time, Some(time)) => format_time(time),
            (Column::Approved, Some(flag)) => if flag == 1 { "yes" } else { "no" }.to_owned(),
            (Column::Latency, Some(us)) => format!("{}.{:03} ms", us / 1000, us % 1000),
            (_, Some(number)) => number.to_string(),
            (_, None) => match value.digest() {
                Some(digest) => digest.to_string(),
                None => visible(value.text().unwrap_or("-")),
            },
        };
        let name = match column {
            Column::Time => "time",
            Column::Latency => "latency",
            other => other.name(),
        };
        line(name, &text);
    }
    line("previous", &row.previous.to_string());
    line("hash", &row.hash.to_string());
    if let Some(note) = note(reading, &row) {
        say!();
        say!("{note}");
    }
    Ok(())
}

/// What an operator wants to know next about a tool that was unknown to the caller.
fn note(reading: &Reading, row: &Row) -> Option<String> {
    if row.body.text(Column::Code) != Some("unknown_tool") {
        return None;
    }
    let tool = row.body.text(Column::Tool)?;
    let shown = visible(tool);
    if row.body.text(Column::Detail).is_some_and(|detail| detail.contains("hides")) {
        return Some(format!(
            "The tool {shown} was there, and the policy hides it from this principal. The caller was told that it is \
             unknown."
        ));
    }
    Some(match reading.nearest_tool(tool) {
        _ if reading.has_tool(tool) => {
            format!("No tool was called {shown} then; the configuration has one now.")
        }
        Some(near) => {
            format!("No tool is called {shown}; the nearest name is {near}, so it may be misspelled.")
        }
        None => format!("No tool is called {shown}, and no name is near to it."),
    })
}

fn export(reading: &Reading, filter: &Filter) -> Result<(), Failure> {
    let mut reader = open(reading)?;
    let head = reader.head().map_err(|error| failed(error.into()))?;
    let mut seq = 0;
    loop {
        let rows = reader.after(seq, filter, PAGE).map_err(|error| failed(error.into()))?;
        let Some(last) = rows.last() else { return Ok(()) };
        seq = last.seq;
        print_lines(&rows, &head.id);
        // What a running server adds meanwhile is for the next export.
        if seq >= head.end.seq {
            return Ok(());
        }
    }
}

fn verify_chain(reading: &Reading, heads: Option<&Path>, json: bool) -> Result<(), Failure> {
    let heads = match heads {
        None => Vec::new(),
        Some(path) => {
            let text = if path == Path::new("-") {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).map(|_| text)
            } else {
                std::fs::read_to_string(path)
            };
            let text =
                text.map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", path.display())))?;
            parse_heads(&text).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?
        }
    };
    let mut found = match reading.open() {
        Ok(mut reader) => verify(&mut *reader, &heads, BREAKS).map_err(|error| failed(error.into()))?,
        // A store that is there and no longer a database is the worst break of all.
        Err(ReadingError::Trail(callgate_adapters::audit::Failure::Damaged(message))) => {
            Verified::damaged(message)
        }
        Err(other) => return Err(failed(other)),
    };
    judge_removal(&mut found, reading.retention(), &heads, SystemClock.now().0);
    if json {
        print_json(&found)
    } else {
        print_found(&found, heads.len())
    }
    if found.breaks.is_empty() { Ok(()) } else { Err(Failure::Broken) }
}

fn print_found(found: &Verified, heads: usize) {
    for found in &found.breaks {
        let place = found.seq.map(|seq| format!("record {seq}: ")).unwrap_or_default();
        say!("{place}{}: {}", found.kind.as_str(), visible(&found.message));
    }
    if found.more > 0 {
        say!("and {} more", found.more);
    }
    let plural = |count| if count == 1 { "" } else { "s" };
    if let Some(checkpoint) = found.removed {
        say!(
            "records up to {} were removed by retention, says record {}; the last of them was of {}",
            checkpoint.through.seq,
            checkpoint.seq,
            format_time(checkpoint.until_us)
        );
    }
    if found.uncompared > 0 {
        let count = found.uncompared;
        say!("{count} head{} of removed records could not be compared", plural(count));
    }
    let heads = (heads as u64).saturating_sub(found.uncompared);
    let range = match (found.first, found.last) {
        (Some(first), Some(last)) => {
            format!("{} record{}, {first} to {}", found.records, plural(found.records), last.seq)
        }
        _ => "no records".to_owned(),
    };
    let breaks = found.breaks.len() as u64 + found.more;
    say!("{range}; {} head{} compared; {breaks} break{}", heads, plural(heads), plural(breaks));
}

fn print_json(found: &Verified) {
    for found in &found.breaks {
        let mut line = String::from("{\"kind\":");
        push_string(&mut line, found.kind.as_str());
        if let Some(seq) = found.seq {
            line.push_str(",\"seq\":");
            push_integer(&mut line, seq);
        }
        line.push_str(",\"message\":");
        push_string(&mut line, &found.message);
        line.push('}');
        say!("{line}");
    }
    let mut line = String::from("{\"records\":");
    push_integer(&mut line, found.records);
    line.push_str(",\"breaks\":");
    push_integer(&mut line, found.breaks.len() as u64 + found.more);
    if let Some(checkpoint) = found.removed {
        line.push_str(",\"removedThrough\":");
        push_integer(&mut line, checkpoint.through.seq);
        line.push_str(",\"removedBy\":");
        push_integer(&mut line, checkpoint.seq);
    }
    line.push_str(",\"uncomparedHeads\":");
    push_integer(&mut line, found.uncompared);
    if let (Some(first), Some(last)) = (found.first, found.last) {
        line.push_str(",\"first\":");
        push_integer(&mut line, first);
        line.push_str(",\"last\":");
        push_integer(&mut line, last.seq);
        line.push_str(",\"hash\":");
        push_string(&mut line, &last.hash.to_string());
    }
    line.push('}');
    say!("{line}");
}
