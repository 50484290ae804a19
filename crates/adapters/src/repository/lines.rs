//! A line as a result shows it: bounded, as text, and saying what was done to it.
//!
//! The matches and the reading are the callers.

use std::borrow::Cow;

/// A line or the part of one that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown<'l> {
    pub(super) text: Cow<'l, str>,
    /// Bytes of the line before the part.
    pub(super) start: usize,
    /// Whether the part is not the whole.
    pub(super) cut: bool,
    /// Whether bytes that are no UTF-8 were replaced.
    pub(super) replaced: bool,
}

/// At most so many bytes of a line, around the byte `at`.
pub(super) fn shown(line: &[u8], at: usize, limit: usize) -> Shown<'_> {
    let line = without_end(line);
    let (mut start, mut end) = (0, line.len());
    if line.len() > limit {
        // A third of the room stands before what was found.
        start = at.min(line.len()).saturating_sub(limit / 3).min(line.len() - limit);
        end = start + limit;
        // A character is shown whole or not at all.
        while start < end && is_continuation(line, start) {
            start += 1;
        }
        while end > start && is_continuation(line, end) {
            end -= 1;
        }
    }
    let text = String::from_utf8_lossy(line.get(start..end).unwrap_or_default());
    let replaced = matches!(text, Cow::Owned(_));
    Shown { text, start, cut: end - start < line.len(), replaced }
}

/// The line without what ends it.
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether a byte goes on with a character that began before it.
fn is_continuation(line: &[u8], at: usize) -> bool {
    line.get(at).is_some_and(|byte| byte & 0xC0 == 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_match_at_the_borders_of_characters() {
        let line = format!("{}needle{}\r\n", "é".repeat(500), "ü".repeat(500));
        let part = shown(line.as_bytes(), 1000, 100);
        assert!(part.cut && !part.replaced && part.text.contains("needle") && part.text.len() <= 100);
        assert_eq!(&line[part.start..part.start + part.text.len()], part.text);
        let whole = shown(b"short\r\n", 3, 100);
        assert_eq!((&*whole.text, whole.start, whole.cut), ("short", 0, false));
        assert!(shown(b"a\xffb", 0, 100).replaced);
        // Bytes that go on with no character leave nothing to show, and no panic.
        assert_eq!(shown(&[0x80; 300], 150, 100).text, "");
    }
}
