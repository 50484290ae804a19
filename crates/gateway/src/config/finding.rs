//! What is wrong with a configuration, where, and what to do about it.
//!
//! A finding always carries a remedy, and a place whenever one exists: file, line, column and the
//! source line with a caret. It must never show a secret, so values of references are not in it. The
//! loader and the checks make findings; the command line and the hot reload show them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{
    Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

/// A text that findings point into.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    name: String,
    text: String,
}

impl SourceFile {
    /// A file with the name to show for it.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into() })
    }

    /// The name, as the user wrote it where possible.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The place of a range of bytes in this file.
    #[must_use]
    pub fn place(self: &Arc<Self>, span: Range<usize>) -> Place {
        let end = span.end.min(self.text.len());
        Place { file: Arc::clone(self), span: span.start.min(end)..end }
    }
}

impl SourceCode for SourceFile {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.text.read_span(span, context_lines_before, context_lines_after)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            contents.data(),
            *contents.span(),
            contents.line(),
            contents.column(),
            contents.line_count(),
        )))
    }
}

/// A range of bytes in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: Arc<SourceFile>,
    span: Range<usize>,
}

impl Place {
    /// The file.
    #[must_use]
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// The bytes in it.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// The column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.before().rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1
    }

    /// The text of the line in which the place starts.
    #[must_use]
    pub fn source_line(&self) -> &str {
        let start = self.before().rfind('\n').map_or(0, |at| at + 1);
        let rest = self.file.text.get(start..).unwrap_or_default();
        rest.split('\n').next().unwrap_or_default().trim_end_matches('\r')
    }

    /// How many characters of the first line the place covers, at least one.
    fn width(&self) -> usize {
        let text = self.file.text.get(self.span.clone()).unwrap_or_default();
        text.split('\n').next().map_or(0, |line| line.trim_end_matches('\r').chars().count()).max(1)
    }

    fn before(&self) -> &str {
        let mut end = self.span.start.min(self.file.text.len());
        while !self.file.text.is_char_boundary(end) {
            end -= 1;
        }
        self.file.text.get(..end).unwrap_or_default()
    }
}

/// Whether a finding keeps the configuration from being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// The configuration is served; somebody should look at it.
    Warning,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is fatal.
    pub severity: Severity,
    /// A stable name of the rule, for example `unknown_key`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// Where, if it is in a file that could be read.
    pub place: Option<Place>,
}

impl Finding {
    /// A fatal finding.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        let severity = Severity::Error;
        Self { severity, code, message: message.into(), remedy: remedy.into(), place: None }
    }

    /// A finding that does not keep the configuration from being served.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message, remedy) }
    }

    /// The same finding at a place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Finding {}

impl Diagnostic for Finding {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.remedy))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|place| &*place.file as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let span = (place.span.start, place.span.len());
        Some(Box::new(std::iter::once(LabeledSpan::at(span, "here"))))
    }
}

/// Everything that was found, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// A report with its findings sorted by file and place.
    #[must_use]
    pub fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|a, b| {
            let key = |finding: &Finding| {
                finding.place.as_ref().map(|place| (place.file.name.clone(), place.span.start))
            };
            key(a).cmp(&key(b)).then(a.severity.cmp(&b.severity))
        });
        findings.dedup();
        Self { findings }
    }

    /// The findings.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// True when a finding keeps the configuration from being served.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

impl fmt::Display for Report {
    /// Plain text with carets, for logs and tests; the command line renders the findings itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{}[{}]: {}", finding.severity.word(), finding.code, finding.message)?;
            if let Some(place) = &finding.place {
                let line = place.line().to_string();
                let margin = " ".repeat(line.len());
                let indent: String = place
                    .source_line()
                    .chars()
                    .take(place.column() - 1)
                    .map(|character| if character == '\t' { '\t' } else { ' ' })
                    .collect();
                writeln!(f, "{margin}--> {}:{line}:{}", place.file.name, place.column())?;
                writeln!(f, "{line} | {}", place.source_line())?;
                writeln!(f, "{margin} | {indent}{}", "^".repeat(place.width()))?;
            }
            writeln!(f, "  help: {}\n", finding.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}
