//! Writing JSON text: strings and integers appended to a buffer.
//!
//! It must never emit a character that RFC 8259 forbids. Everything that renders a message calls it.

use super::scan::for_each_stop;

/// Appends `text` as a JSON string with its quotes.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    escape_into(out, text);
    out.push('"');
}

/// Appends the inside of a JSON string: `text` with everything escaped that must be.
pub fn escape_into(out: &mut String, text: &str) {
    let mut start = 0;
    for_each_stop(text.as_bytes(), |stop, byte| {
        // Every character that stops the scan is one byte long, so both ends are borders of characters.
        out.push_str(text.get(start..stop).unwrap_or_default());
        push_escape(out, byte);
        start = stop + 1;
    });
    out.push_str(text.get(start..).unwrap_or_default());
}

#[inline]
fn push_escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        control => {
            const HEX: [char; 16] =
                ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
            out.push_str("\\u00");
            out.push(HEX.get(usize::from(control >> 4)).copied().unwrap_or('0'));
            out.push(HEX.get(usize::from(control & 0xf)).copied().unwrap_or('0'));
        }
    }
}

/// The length of what [`escape_into`] appends, so that a buffer can be made in its final size.
#[must_use]
pub fn escaped_len(text: &str) -> usize {
    let mut length = text.len();
    for_each_stop(text.as_bytes(), |_, byte| {
        length += match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            _ => 5,
        };
    });
    length
}

/// Appends an integer in decimal.
pub fn push_integer(out: &mut String, number: impl itoa::Integer) {
    out.push_str(itoa::Buffer::new().format(number));
}

/// Appends JSON text on one line: a line break in valid JSON can only stand between tokens, where a
/// space means the same. Newline-delimited framing and event streams both need it.
pub fn push_raw(out: &mut String, raw: &str) {
    let start = out.len();
    out.push_str(raw);
    if raw.contains(['\n', '\r']) {
        let line = out.split_off(start).replace(['\n', '\r'], " ");
        out.push_str(&line);
    }
}
