//! The parts of results as JSON text.

use callgate_protocol::json::push_string;
use jiff::Timestamp;

/// A point in time as RFC 3339 in UTC; nothing for one that no calendar has.
#[must_use]
pub fn date_time(micros: i64) -> Option<String> {
    Timestamp::from_microsecond(micros).ok().map(|time| time.to_string())
}

/// Appends `,"name":"text"`.
pub(super) fn push_text(out: &mut String, name: &str, text: &str) {
    push_name(out, name);
    push_string(out, text);
}

/// Appends `,"name":number`.
pub(super) fn push_number(out: &mut String, name: &str, number: u64) {
    push_name(out, name);
    out.push_str(itoa::Buffer::new().format(number));
}

/// Appends `,"name":true`, or nothing.
pub(super) fn push_mark(out: &mut String, name: &str, mark: bool) {
    if mark {
        push_name(out, name);
        out.push_str("true");
    }
}

/// Appends `,"name":`.
pub(super) fn push_name(out: &mut String, name: &str) {
    out.push(',');
    push_string(out, name);
    out.push(':');
}
