//! Records and heads as JSON, for export and for other programs.
//!
//! Columns that hold JSON stay text, because the text is what was hashed. The command line calls it.

use callgate_core::contract::digest::Digest;
use callgate_protocol::json::{Document, Limits, escape_into, push_integer, push_string};

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
            other => push_visible(out, other.text().unwrap_or_default()),
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

/// Appends a text as a JSON string in which everything that a terminal would act on or that people do not see is
/// escaped. It reads back as the same text.
fn push_visible(out: &mut String, text: &str) {
    if !text.contains(is_hidden) {
        return push_string(out, text);
    }
    out.push('"');
    for character in text.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escape_into(out, character.encode_utf8(&mut [0; 4]));
        }
    }
    out.push('"');
}

/// Controls beyond ASCII, marks of direction, joiners and spaces without width, and tags.
fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

fn push_digest(out: &mut String, digest: &Digest) {
    out.push('"');
    out.push_str(digest.text().as_str());
    out.push('"');
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::push_visible;

    #[test]
    fn what_a_terminal_would_act_on_is_escaped_and_reads_back_as_it_was() {
        let text = "a\u{9b}31m\u{202e}b\u{e0041}\u{200d}\u{7f}\n\"\\ä\u{1F512}";
        let mut out = String::new();
        push_visible(&mut out, text);
        assert_eq!(out, "\"a\\u009b31m\\u202eb\\udb40\\udc41\\u200d\\u007f\\n\\\"\\\\ä\u{1F512}\"");
        assert_eq!(Document::parse(out, &Limits::DEFAULT).unwrap().root().as_str().unwrap(), text);
        let mut out = String::new();
        push_visible(&mut out, "plain ä");
        assert_eq!(out, "\"plain ä\"");
    }
}
