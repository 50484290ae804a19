//! The lines of one file that match, written as they are found.
//!
//! A match is written whole or not at all, and never beyond the bounds on matches and bytes. The search
//! makes one of these for each file.

use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::json::{date_time, push_mark, push_name, push_number, push_text};
use super::limits::Limits;
use super::lines::{Shown, shown};
use super::search::Bound;

/// All matches of a page.
pub(super) struct Written {
    /// The members of a JSON array.
    pub(super) json: String,
    pub(super) count: usize,
    pub(super) max_matches: usize,
    pub(super) max_bytes: usize,
}

/// The matches of one file.
pub(super) struct FileMatches<'f> {
    pub(super) written: &'f mut Written,
    pub(super) limits: &'f Limits,
    pub(super) matcher: &'f RegexMatcher,
    pub(super) path: &'f str,
    /// Lines before and after a match.
    pub(super) context: usize,
    pub(super) modified: Option<i64>,
    /// Matches up to this line were on the page before.
    pub(super) after_line: u64,
    /// The line of the last match that was written.
    pub(super) last_line: u64,
    /// Which bound ended the page.
    pub(super) cut: Option<Bound>,
    before: Vec<String>,
    open: Option<Open>,
}

/// A match whose lines after it are still awaited.
struct Open {
    line: u64,
    json: String,
    after: Vec<String>,
}

impl<'f> FileMatches<'f> {
    pub(super) fn new(
        written: &'f mut Written,
        limits: &'f Limits,
        matcher: &'f RegexMatcher,
        path: &'f str,
        modified: Option<i64>,
    ) -> Self {
        Self {
            written,
            limits,
            matcher,
            path,
            context: 0,
            modified,
            after_line: 0,
            last_line: 0,
            cut: None,
            before: Vec::new(),
            open: None,
        }
    }

    /// Writes the match that is still open. False when the page is full.
    pub(super) fn close(&mut self) -> bool {
        let Some(open) = self.open.take() else { return self.cut.is_none() };
        let mut json = open.json;
        push_lines(&mut json, "after", &open.after);
        json.push('}');
        if self.written.json.len() + json.len() + 1 > self.written.max_bytes {
            self.cut = Some(Bound::Bytes);
            return false;
        }
        if self.written.count > 0 {
            self.written.json.push(',');
        }
        self.written.json.push_str(&json);
        self.written.count += 1;
        self.last_line = open.line;
        true
    }

    fn begin(&mut self, found: &SinkMatch<'_>, line: u64) {
        let bytes = found.bytes();
        let place = self.matcher.find(bytes).ok().flatten();
        let (start, length) = place.map_or((0, 0), |place| (place.start(), place.end() - place.start()));
        let Shown { text, start: before, cut, replaced } = shown(bytes, start, self.limits.text_bytes);
        let number = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        let mut json = String::from("{\"path\":");
        callgate_protocol::json::push_string(&mut json, self.path);
        push_number(&mut json, "line", line);
        push_number(&mut json, "column", number(start) + 1);
        push_number(&mut json, "offset", found.absolute_byte_offset() + number(start));
        push_number(&mut json, "length", number(length));
        push_text(&mut json, "text", &text);
        if cut {
            push_number(&mut json, "textColumn", number(before) + 1);
        }
        push_mark(&mut json, "textCut", cut);
        push_mark(&mut json, "invalidUtf8", replaced);
        if let Some(time) = self.modified.and_then(date_time) {
            push_text(&mut json, "modifiedAt", &time);
        }
        push_lines(&mut json, "before", &std::mem::take(&mut self.before));
        self.open = Some(Open { line, json, after: Vec::new() });
    }
}

impl Sink for FileMatches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = found.line_number().unwrap_or_default();
        if line <= self.after_line {
            return Ok(true);
        }
        if !self.close() {
            return Ok(false);
        }
        if self.written.count == self.written.max_matches {
            self.cut = Some(Bound::Matches);
            return Ok(false);
        }
        self.begin(found, line);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let text = shown(line.bytes(), 0, self.limits.text_bytes).text.into_owned();
        match (line.kind(), &mut self.open) {
            (SinkContextKind::After, Some(open)) => open.after.push(text),
            // What follows a match of the page before stands before the next one.
            _ if line.line_number().is_some_and(|line| line > self.after_line) => {
                if self.before.len() == self.context {
                    self.before.remove(0);
                }
                self.before.push(text);
            }
            _ => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.before.clear();
        Ok(true)
    }
}

fn push_lines(json: &mut String, name: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    push_name(json, name);
    json.push('[');
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        callgate_protocol::json::push_string(json, line);
    }
    json.push(']');
}
