//! Records and heads as JSON, for export and for other programs.
//!
//! Columns that hold JSON stay text, because the text is what was hashed. The command line calls it.

use callgate_core::contract::digest::Digest;
use callgate_protocol::json::{Document, Limits, push_integer, push_string};

use super::body::Value;
use super::chain::{Head, Link};
use super::column::Column;
use super::read::Row;
use super::time::format_time;

/// Appends a record as one JSON object without a line break. Columns that are empty are left out.
pub fn write_row(row: &Row, store: &str, out: &mut String) {
    out.push_str("{\"store\":");
    push_string(out, store);
    out.push_str(",\"seq\":");
    push_integer(out, row.seq);
    if let Some(time) = row.body.get(Column::Time).integer() {
        out.push_str(",\"time\":");
        push_string(out, &format_time(time));
    }
    for (column, value) in Column::ALL.into_iter().zip(row.body.values()) {
        if value.is_null() {
            continue;
        }
        out.push(',');
        push_string(out, column.name());
        out.push(':');
        match value {
            Value::Integer(number) => push_integer(out, *number),
            Value::Digest(digest) => push_digest(out, digest),
            other => push_string(out, other.text().unwrap_or_default()),
        }
    }
    out.push_str(",\"previous\":");
    push_digest(out, &row.previous);
    out.push_str(",\"hash\":");
    push_digest(out, &row.hash);
    out.push('}');
}

/// Appends a head as one JSON object without a line break.
pub fn write_head(head: &Head, out: &mut String) {
    out.push_str("{\"store\":");
    push_string(out, &head.store);
    out.push_str(",\"seq\":");
    push_integer(out, head.link.seq);
    out.push_str(",\"hash\":");
    push_digest(out, &head.link.hash);
    out.push_str(",\"time\":");
    push_string(out, &format_time(head.time_us));
    out.push_str(",\"time_us\":");
    push_integer(out, head.time_us);
    out.push('}');
}

/// Reads exported heads, one a line.
///
/// # Errors
/// The line that is no head.
pub fn parse_heads(text: &str) -> Result<Vec<Head>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| head(line).ok_or_else(|| format!("line {} is no exported head", at + 1))).collect()
}

fn head(line: &str) -> Option<Head> {
    let document = Document::parse(line, &Limits::DEFAULT).ok()?;
    let root = document.root();
    Some(Head {
        store: root.get("store")?.as_str()?.into_owned(),
        link: Link { seq: root.get("seq")?.as_i64()?, hash: root.get("hash")?.as_str()?.parse().ok()? },
        time_us: root.get("time_us")?.as_i64()?,
    })
}

fn push_digest(out: &mut String, digest: &Digest) {
    out.push('"');
    out.push_str(digest.text().as_str());
    out.push('"');
}
