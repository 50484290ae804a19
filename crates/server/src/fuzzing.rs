//! Bodies of the fuzz targets, so that ordinary tests replay their corpus.
//!
//! They must never do anything but panic on a broken promise. The targets in `fuzz/` and a test call them.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use callgate_core::port::{Clock, Entropy, EntropyError, Timestamp};
use callgate_core::principal::Principal;
use callgate_core::seal::{Binding, KeyRing};

use crate::endpoint::{ListKind, cursor};
use crate::stdio::lines::{Line, Lines};

/// A time that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

impl Entropy for Still {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        buffer.fill(7);
        Ok(())
    }
}

/// Takes any bytes for a cursor that a client sends back. What is no cursor of ours is refused, what is one
/// has one spelling and belongs to one list, and a changed seal never opens.
///
/// # Panics
/// When a promise does not hold.
pub fn cursor(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for kind in [ListKind::Tools, ListKind::Resources, ListKind::Templates, ListKind::Prompts] {
        if let Some(key) = cursor::decode(kind, "", text) {
            assert_eq!(cursor::encode(kind, "", &key), text, "a cursor has one spelling");
        }
        let ours = cursor::encode(kind, "", text);
        // A key that is too long for a cursor is not found again, and never another one in its place.
        assert!(cursor::decode(kind, "", &ours).is_none_or(|key| key == text), "a cursor leads to its entry");
        let other = if kind == ListKind::Tools { ListKind::Prompts } else { ListKind::Tools };
        assert!(cursor::decode(other, "", &ours).is_none(), "a cursor belongs to one list");
        assert!(cursor::decode(kind, "tag", &ours).is_none(), "a cursor belongs to one set of callers");
    }
    sealed(bytes, text);
}

/// The same for sealed text, which pages of rows and the state of a call travel in.
fn sealed(bytes: &[u8], text: &str) {
    let keys = KeyRing::new([(1, [1; 32]), (2, [2; 32])]);
    let principal = Principal::new("p");
    let binding =
        Binding { purpose: "cursor", principal: &principal, subject: "t", contract: None, input: None };
    assert!(keys.open(&binding, text, &Still).is_err(), "nobody guesses a seal");
    let Ok(ours) = keys.seal(&binding, bytes, Duration::from_secs(1), &Still, &Still) else { return };
    if let Ok(opened) = keys.open(&binding, &ours, &Still) {
        assert_eq!(opened, bytes, "a seal keeps its payload");
    }
    let other = Binding { subject: "u", ..binding };
    assert!(keys.open(&other, &ours, &Still).is_err(), "a seal is bound");
    let mut changed = ours.into_bytes();
    let at = bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % changed.len().max(1);
    if let Some(character) = changed.get_mut(at) {
        *character = if *character == b'A' { b'B' } else { b'A' };
    }
    let changed = String::from_utf8(changed).unwrap_or_default();
    assert!(keys.open(&binding, &changed, &Still).is_err(), "a changed seal never opens");
}

/// Takes any bytes for what a client writes to standard input: the first is the bound on a line, the second says
/// how the stream is cut into reads. Whatever the cuts, each line comes out once and whole, and each line beyond the
/// bound is noticed once.
///
/// # Panics
/// When a promise does not hold.
pub fn lines(bytes: &[u8]) {
    let [bound, cut, stream @ ..] = bytes else { return };
    let bound = usize::from(*bound);
    let mut lines = Lines::new(bound);
    let mut found = Vec::new();
    let text = |line: Line<'_>| match line {
        Line::Text(text) => Some(text.to_vec()),
        Line::TooLong => None,
    };
    for mut piece in stream.chunks(usize::from(*cut) + 1) {
        while !piece.is_empty() {
            let read = lines.poll_read(Pin::new(&mut piece), &mut Context::from_waker(Waker::noop()));
            assert!(matches!(read, Poll::Ready(Ok(count)) if count > 0), "bytes that are there are read");
        }
        while let Some(line) = lines.next_line() {
            found.push(text(line));
        }
        assert!(lines.are_taken(), "no line is left behind");
    }
    found.extend(lines.rest().map(text));
    assert!(lines.rest().is_none() && lines.next_line().is_none(), "the end is the end");
    let mut expected: Vec<_> = stream.split(|byte| *byte == b'\n').collect();
    // What follows the last newline is no line unless there is something.
    let rest = expected.pop().filter(|rest| !rest.is_empty());
    let bounded = |line: &[u8]| (line.len() <= bound).then(|| line.to_vec());
    let mut expected: Vec<_> = expected
        .into_iter()
        .map(|line| bounded(line).map(|text| text.strip_suffix(b"\r").unwrap_or(&text).to_vec()))
        .collect();
    expected.extend(rest.map(bounded));
    assert_eq!(found, expected, "lines are what stands between newlines");
}

#[cfg(test)]
mod tests {
    use std::fs;

    fn replay(corpus: &str, target: fn(&[u8])) {
        let folder = format!("{}/../../fuzz/corpus/{corpus}", env!("CARGO_MANIFEST_DIR"));
        let mut inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty());
        for input in inputs {
            target(&fs::read(input).unwrap());
        }
    }

    #[test]
    fn cursors_hold_their_properties_over_the_corpus() {
        replay("cursor", super::cursor);
    }

    #[test]
    fn lines_hold_their_properties_over_the_corpus() {
        replay("lines", super::lines);
    }

    proptest::proptest! {
        #[test]
        fn lines_hold_their_properties_over_streams_of_newlines_and_noise(
            bound in 0_u8..12, cut in 0_u8..9, stream in "[ab\r\n]{0,60}",
        ) {
            super::lines(&[&[bound, cut], stream.as_bytes()].concat());
        }
    }
}
