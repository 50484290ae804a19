//! Lines out of a stream of bytes: newline framing with a bound on the length of one line.
//!
//! It must never hold more than one line beyond the bound and never give out a part of a line. After a
//! line that is too long it finds the next one by itself. The connection calls it, and a fuzz target.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::{io, mem};

use tokio::io::{AsyncRead, ReadBuf};

/// The smallest piece that is read at once; a pipe of Linux holds this much.
const PIECE_BYTES: usize = 64 << 10;

/// One line, or the notice that there was one that is not kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'b> {
    /// A line without its newline and without a carriage return before it.
    Text(&'b [u8]),
    /// A line is longer than the bound; the rest of it is skipped.
    TooLong,
}

/// A buffer that bytes are read into and lines are taken from.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Always initialized to its whole length, so that reading needs no clearing.
    buffer: Vec<u8>,
    /// Where the next line starts.
    start: usize,
    /// Up to where no newline was found.
    scanned: usize,
    /// Up to where the buffer holds bytes that were read.
    filled: usize,
    /// The bound on one line.
    line_bytes: usize,
    /// True while the rest of a line that is too long is skipped.
    skipping: bool,
}

impl Lines {
    /// A buffer for lines of at most `line_bytes`.
    pub(crate) fn new(line_bytes: usize) -> Self {
        Self { buffer: vec![0; PIECE_BYTES], start: 0, scanned: 0, filled: 0, line_bytes, skipping: false }
    }

    /// Reads once. Zero bytes are the end of the stream.
    pub(crate) fn poll_read(
        &mut self,
        mut input: Pin<&mut impl AsyncRead>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.make_room();
        let mut room = ReadBuf::new(self.buffer.get_mut(self.filled..).unwrap_or_default());
        ready!(input.as_mut().poll_read(context, &mut room))?;
        let count = room.filled().len();
        self.filled += count;
        Poll::Ready(Ok(count))
    }

    /// The next whole line.
    pub(crate) fn next_line(&mut self) -> Option<Line<'_>> {
        loop {
            let unseen = self.buffer.get(self.scanned..self.filled).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', unseen) else {
                self.scanned = self.filled;
                return self.give_up_on_long_line().then_some(Line::TooLong);
            };
            let end = self.scanned + length;
            let start = mem::replace(&mut self.start, end + 1);
            self.scanned = end + 1;
            if mem::take(&mut self.skipping) {
                continue;
            }
            if end - start > self.line_bytes {
                return Some(Line::TooLong);
            }
            let line = self.buffer.get(start..end).unwrap_or_default();
            return Some(Line::Text(line.strip_suffix(b"\r").unwrap_or(line)));
        }
    }

    /// True when every whole line was taken.
    pub(crate) fn are_taken(&self) -> bool {
        self.scanned == self.filled
    }

    /// What stands behind the last newline, once the stream has ended.
    pub(crate) fn rest(&mut self) -> Option<Line<'_>> {
        let start = mem::replace(&mut self.start, self.filled);
        self.scanned = self.filled;
        if mem::take(&mut self.skipping) || start == self.filled {
            return None;
        }
        self.buffer.get(start..self.filled).map(Line::Text)
    }

    /// True when the bytes of an unfinished line exceed the bound; they are then forgotten.
    fn give_up_on_long_line(&mut self) -> bool {
        let too_long = !self.skipping && self.filled - self.start > self.line_bytes;
        if too_long || self.skipping {
            self.skipping = true;
            self.start = 0;
            self.scanned = 0;
            self.filled = 0;
        }
        too_long
    }

    /// Moves an unfinished line to the front and grows the buffer when it fills it.
    fn make_room(&mut self) {
        if self.start == self.filled {
            self.start = 0;
            self.scanned = 0;
            self.filled = 0;
            // One huge line does not keep its memory for good.
            if self.buffer.len() > 4 * PIECE_BYTES {
                self.buffer = vec![0; PIECE_BYTES];
            }
        }
        if self.buffer.len() - self.filled >= PIECE_BYTES / 2 {
            return;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.filled < PIECE_BYTES / 2 {
            // Doubling up to the bound on a line; what is longer is given up before the next read.
            let wanted = (self.buffer.len() * 2).min(self.line_bytes + PIECE_BYTES);
            self.buffer.resize(wanted.max(self.filled + PIECE_BYTES / 2), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Lines};
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    fn feed(lines: &mut Lines, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let mut input = Pin::new(&mut bytes);
            let read = lines.poll_read(input.as_mut(), &mut Context::from_waker(Waker::noop()));
            assert!(matches!(read, Poll::Ready(Ok(count)) if count > 0));
        }
    }

    fn texts(lines: &mut Lines) -> Vec<Option<Vec<u8>>> {
        let mut all = Vec::new();
        while let Some(line) = lines.next_line() {
            all.push(match line {
                Line::Text(text) => Some(text.to_vec()),
                Line::TooLong => None,
            });
        }
        all
    }

    /// Requirements: STDIO-01
    #[test]
    fn lines_end_at_newlines_wherever_the_reads_were_cut() {
        let stream = "{\"a\":\"読—🎉é\"}\r\n\n{\"b\":1}\nrest".as_bytes();
        for size in 1..stream.len() {
            let mut lines = Lines::new(100);
            let mut all = Vec::new();
            for piece in stream.chunks(size) {
                feed(&mut lines, piece);
                all.extend(texts(&mut lines));
            }
            let expected = ["{\"a\":\"読—🎉é\"}", "", "{\"b\":1}"];
            assert_eq!(all, expected.map(|text| Some(text.as_bytes().to_vec())), "pieces of {size}");
            assert_eq!(lines.rest(), Some(Line::Text(b"rest")));
            assert_eq!(lines.rest(), None);
        }
    }

    #[test]
    fn a_line_at_the_bound_passes_and_one_beyond_it_is_skipped() {
        for size in [1, 7, 64] {
            let mut lines = Lines::new(10);
            let mut all = Vec::new();
            for piece in b"0123456789\n01234567890\nnext\n".chunks(size) {
                feed(&mut lines, piece);
                all.extend(texts(&mut lines));
            }
            assert_eq!(all, [Some(b"0123456789".to_vec()), None, Some(b"next".to_vec())], "{size}");
        }
    }

    #[test]
    fn a_line_without_end_costs_a_bounded_amount() {
        let mut lines = Lines::new(100_000);
        let mut too_long = 0;
        for _ in 0..1_000 {
            feed(&mut lines, &[b'x'; 10_000]);
            too_long += texts(&mut lines).len();
            assert!(lines.buffer.len() <= 100_000 + 2 * super::PIECE_BYTES);
        }
        assert_eq!(too_long, 1);
        feed(&mut lines, b"\n{}\n");
        assert_eq!(texts(&mut lines), [Some(b"{}".to_vec())]);
    }
}
