//! Searching the files of a project for lines that match.
//!
//! The pattern has a linear engine and bounded size. A search that meets a bound gives what it found and
//! where it goes on. The repository is the caller.

use std::io;
use std::ops::ControlFlow;

use cap_std::fs::Dir;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use tokio::time::Instant;

use super::budget::Budget;
use super::content::{Content, Unshown};
use super::filter::Filter;
use super::limits::Limits;
use super::matches::{FileMatches, Written};
use super::rules::Rules;
use super::walk::{Stop, Walk};
use super::{RepositoryError, Shared, revision};

/// One search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Search {
    /// What to find.
    pub query: String,
    /// What the query is.
    pub syntax: Syntax,
    /// Whether letters of another case match.
    pub case: Case,
    /// A file, a folder or a pattern of paths; everything if nothing is given.
    pub path: Option<String>,
    /// Lines to show before and after a match.
    pub context: usize,
    /// Where the page before ended.
    pub after: Option<Position>,
    /// Matches to give at most.
    pub max_matches: usize,
    /// Bytes of JSON to give at most.
    pub max_bytes: usize,
    /// When nobody waits any more.
    pub deadline: Instant,
}

impl Search {
    /// A search for a text everywhere, of one hundred matches and 256 KiB.
    #[must_use]
    pub fn new(query: impl Into<String>, deadline: Instant) -> Self {
        Self {
            query: query.into(),
            syntax: Syntax::Literal,
            case: Case::Sensitive,
            path: None,
            context: 0,
            after: None,
            max_matches: 100,
            max_bytes: 256 << 10,
            deadline,
        }
    }
}

/// What a query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// A text that is found as it is.
    Literal,
    /// A regular expression, without look-around and back-references.
    Regex,
}

/// Whether letters of another case match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// They do not.
    Sensitive,
    /// They do.
    Insensitive,
    /// They do if the query has no capital letter.
    Smart,
}

/// A place in the order of paths and lines. Everything up to it was searched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// A path.
    pub path: String,
    /// A line of it, or [`Position::WHOLE`].
    pub line: u64,
}

impl Position {
    /// The line of a file that was searched whole.
    pub const WHOLE: u64 = i64::MAX as u64;

    /// The place after a line of a path.
    #[must_use]
    pub fn new(path: String, line: u64) -> Self {
        Self { path, line }
    }

    pub(super) fn after_file(path: String) -> Self {
        Self { path, line: Self::WHOLE }
    }

    /// The place after everything in a folder: `0` is the character after the slash.
    pub(super) fn after_folder(path: &str) -> Self {
        Self { path: format!("{path}0"), line: 0 }
    }
}

/// Which bound ended a search or cut a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// The one on matches.
    Matches,
    /// The one on lines.
    Lines,
    /// The one on bytes of the result.
    Bytes,
    /// The one on files.
    Files,
    /// The one on bytes that are read.
    Scan,
    /// The one on time.
    Time,
}

impl Bound {
    /// The name in a result.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Lines => "lines",
            Self::Bytes => "bytes",
            Self::Files => "files",
            Self::Scan => "scan",
            Self::Time => "time",
        }
    }
}

/// What a search found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// A JSON array of matches in the order of path and line.
    pub json: String,
    /// How many there are.
    pub count: usize,
    /// Which bound ended the search before its end.
    pub cut: Option<Bound>,
    /// Where the search goes on, when it was ended and got anywhere.
    pub next: Option<Position>,
    /// How many files were searched.
    pub files: u64,
    /// How many files and folders were left out although nothing hides them: binary, too large, unreadable.
    pub skipped: u64,
    /// The commit of the checkout, if it is known and was the same before and after the search.
    pub revision: Option<String>,
}

/// A search whose query was compiled.
pub(super) struct Prepared {
    search: Search,
    matcher: RegexMatcher,
    /// Bytes that are matched in one piece, and of a line.
    piece: usize,
    filter: Filter,
}

impl Prepared {
    /// Compiles a query. That is work for a thread of its own: the time grows with what it compiles to.
    pub(super) fn new(search: Search, limits: &Limits) -> Result<Self, RepositoryError> {
        let invalid = |detail: String| RepositoryError::Pattern { detail };
        if search.query.is_empty() || search.query.len() > limits.pattern_bytes {
            return Err(invalid("it is empty or too long".to_owned()));
        }
        let filter = Filter::new(search.path.as_deref(), limits.pattern_bytes)?;
        // The worst cost of matching a piece is the program times the piece, and no piece is interrupted. So
        // the larger of several bounds the program needs, the shorter a piece is. The engine tells no sizes:
        // each bound is tried.
        let mut piece = limits.line_bytes;
        let mut program = (limits.step_bytes / piece.max(1)).clamp(1, limits.program_bytes);
        loop {
            let built = RegexMatcherBuilder::new()
                .fixed_strings(search.syntax == Syntax::Literal)
                .case_insensitive(search.case == Case::Insensitive)
                .case_smart(search.case == Case::Smart)
                .multi_line(true)
                .line_terminator(Some(b'\n'))
                .size_limit(program)
                .dfa_size_limit(limits.program_bytes.saturating_mul(8))
                .nest_limit(50)
                .build(&search.query);
            match built {
                Ok(matcher) => return Ok(Self { search, matcher, piece, filter }),
                Err(error) if program >= limits.program_bytes => return Err(invalid(error.to_string())),
                Err(_too_large) => {
                    program = program.saturating_mul(4).min(limits.program_bytes);
                    piece = (limits.step_bytes / program).min(piece).max(1);
                }
            }
        }
    }
}

/// Searches until the end or a bound.
pub(super) fn run(
    root: &Dir,
    shared: &Shared,
    prepared: &Prepared,
    budget: &Budget,
) -> Result<Found, RepositoryError> {
    let limits = &shared.limits;
    let before = revision::of(root, limits.git_bytes);
    let mut rules = Rules::new(&shared.exclude, limits);
    rules.enter_root(root).map_err(super::unavailable)?;
    let mut walk = Walk {
        rules,
        limits,
        budget,
        filter: &prepared.filter,
        after: prepared.search.after.as_ref(),
        done: None,
        entries: 0,
        skipped: 0,
    };
    let mut pass = Pass::new(prepared, limits, budget);
    let flow = walk.folder(root, "", 0, &mut |folder, name, path| pass.file(folder, name, path));
    let cut = match flow {
        ControlFlow::Continue(()) => None,
        ControlFlow::Break(Stop::Left) => return Err(RepositoryError::TimedOut),
        ControlFlow::Break(Stop::Bound(bound)) => Some(bound),
    };
    if pass.written.count == 0 && cut == Some(Bound::Bytes) {
        return Err(RepositoryError::ItemTooLarge);
    }
    // Inside a file the place is its last match; otherwise what the walk has finished; otherwise where
    // this page began.
    let place = pass.within.or(walk.done).or_else(|| prepared.search.after.clone());
    let after = revision::of(root, limits.git_bytes);
    Ok(Found {
        json: format!("[{}]", pass.written.json),
        count: pass.written.count,
        cut,
        next: place.filter(|_| cut.is_some()),
        files: pass.files,
        skipped: walk.skipped + pass.skipped,
        revision: before.filter(|before| after.as_ref() == Some(before)),
    })
}

/// The search through one file after another.
struct Pass<'p> {
    prepared: &'p Prepared,
    limits: &'p Limits,
    budget: &'p Budget,
    searcher: Searcher,
    written: Written,
    memory: Vec<u8>,
    files: u64,
    scanned: u64,
    skipped: u64,
    /// The last match of the file in which the search ended.
    within: Option<Position>,
}

impl<'p> Pass<'p> {
    fn new(prepared: &'p Prepared, limits: &'p Limits, budget: &'p Budget) -> Self {
        let context = prepared.search.context.min(limits.context);
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(prepared.piece))
            // What is binary was sorted out, and a text of two bytes a character is.
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .build();
        let Search { max_matches, max_bytes, .. } = prepared.search;
        let written = Written { json: String::new(), count: 0, max_matches, max_bytes };
        Self {
            prepared,
            limits,
            budget,
            searcher,
            written,
            memory: Vec::new(),
            files: 0,
            scanned: 0,
            skipped: 0,
            within: None,
        }
    }

    fn file(&mut self, folder: &Dir, name: &str, path: &str) -> ControlFlow<Stop> {
        if self.files == u64::try_from(self.limits.files).unwrap_or(u64::MAX) {
            return ControlFlow::Break(Stop::Bound(Bound::Files));
        }
        if self.scanned >= self.limits.scan_bytes {
            return ControlFlow::Break(Stop::Bound(Bound::Scan));
        }
        self.files += 1;
        let memory = std::mem::take(&mut self.memory);
        let content = match Content::load(folder, name, self.limits.file_bytes, self.budget, memory) {
            Ok(content) => content,
            Err(Unshown::Spent(spent)) => return ControlFlow::Break(spent.into()),
            Err(Unshown::Unreadable | Unshown::TooLarge | Unshown::Binary) => {
                self.files -= 1;
                self.skipped += 1;
                self.scanned += 4096;
                return ControlFlow::Continue(());
            }
        };
        self.scanned += u64::try_from(content.bytes.len()).unwrap_or(u64::MAX);
        let flow = self.lines(&content, path);
        self.memory = content.bytes;
        flow
    }

    fn lines(&mut self, content: &Content, path: &str) -> ControlFlow<Stop> {
        let matcher = &self.prepared.matcher;
        let mut matches = FileMatches::new(&mut self.written, self.limits, matcher, path, content.modified);
        matches.context = self.prepared.search.context.min(self.limits.context);
        let after = self.prepared.search.after.as_ref();
        matches.after_line = after.filter(|after| after.path == path).map_or(0, |after| after.line);
        let reader = Interrupted { bytes: &content.bytes, budget: self.budget };
        let read = self.searcher.search_reader(matcher, reader, &mut matches);
        matches.close();
        let place = |matches: &FileMatches<'_>| {
            let line = matches.last_line.max(matches.after_line);
            (line > 0).then(|| Position::new(path.to_owned(), line))
        };
        if let Err(spent) = self.budget.check() {
            self.within = place(&matches);
            return ControlFlow::Break(spent.into());
        }
        if let Some(bound) = matches.cut {
            self.within = place(&matches);
            return ControlFlow::Break(Stop::Bound(bound));
        }
        if read.is_err() {
            // A line is too long to be searched; what stands before it was.
            self.skipped += 1;
        }
        ControlFlow::Continue(())
    }
}

/// Gives out bytes step by step and fails once the work must stop.
struct Interrupted<'i> {
    bytes: &'i [u8],
    budget: &'i Budget,
}

impl io::Read for Interrupted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.budget.check().is_err() {
            return Err(io::Error::other("the work was stopped"));
        }
        self.bytes.read(buffer)
    }
}
