//! JSON Schema 2020-12 and draft-07, compiled once per contract and evaluated within a budget.
//!
//! A schema and the values it judges may both come from somebody hostile, so the work of schema and
//! value together is counted, references never leave the text, patterns run in linear time, and
//! numbers are compared digit by digit. It must never open a file or a connection, never take a
//! schema it does not fully understand for a permissive one, and never repeat a value in a message.
//! The catalogue compiles; the stages `validate` and `check`, and the lint, call the rest.
//!
//! Reading order: [`compile`](self) turns text into a flat program (`program.rs`), `graph.rs` decides
//! what must be remembered while evaluating, `evaluate.rs` runs it.

use std::fmt;

use callgate_protocol::json::{Document, Value};
use thiserror::Error;

mod compile;
mod equal;
mod evaluate;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod graph;
mod limits;
mod number;
mod pattern;
mod program;
mod resource;
mod shortcut;
mod source;
mod uri;
mod violation;

pub use format::Format;
pub use limits::SchemaLimits;
pub use violation::{Verdict, Violation, Violations};

use evaluate::Run;
use program::Program;
use source::Sources;

/// The version of JSON Schema that a schema is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `https://json-schema.org/draft/2020-12/schema`, also when `$schema` is absent.
    Draft202012,
    /// `http://json-schema.org/draft-07/schema#`, with or without the `#`.
    Draft07,
}

impl Dialect {
    /// The dialect that a `$schema` value names, or nothing if it is none of the two.
    #[must_use]
    pub fn of_uri(uri: &str) -> Option<Self> {
        let bare = uri.strip_suffix('#').unwrap_or(uri);
        match bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://"))? {
            "json-schema.org/draft/2020-12/schema" => Some(Self::Draft202012),
            "json-schema.org/draft-07/schema" => Some(Self::Draft07),
            _ => None,
        }
    }

    /// The identifier of the dialect's meta-schema.
    #[must_use]
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Draft202012 => "https://json-schema.org/draft/2020-12/schema",
            Self::Draft07 => "http://json-schema.org/draft-07/schema#",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Draft202012 => "2020-12",
            Self::Draft07 => "draft-07",
        })
    }
}

/// Whether `format` refuses values or only describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formats {
    /// The formats of [`Format`] are checked; what a contract says is enforced.
    Asserted,
    /// `format` is an annotation, as 2020-12 has it where nobody says otherwise.
    Annotated,
}

/// What a schema is compiled with.
///
/// # Defaults
/// - `limits`: [`SchemaLimits::DEFAULT`].
/// - `formats`: asserted, so that what a contract says is enforced.
/// - `documents`: none; a schema stands for itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SchemaOptions<'o> {
    /// The bounds of compilation and evaluation.
    pub limits: &'o SchemaLimits,
    /// Whether `format` refuses values.
    pub formats: Formats,
    /// Further schemas that references may name, by identifier and text. Nothing else is ever loaded.
    pub documents: &'o [(&'o str, &'o str)],
}

impl Default for SchemaOptions<'_> {
    fn default() -> Self {
        Self { limits: &SchemaLimits::DEFAULT, formats: Formats::Asserted, documents: &[] }
    }
}

/// A compiled schema. It does not change and is shared by all calls.
pub struct Schema {
    sources: Sources,
    program: Program,
    dialect: Dialect,
    limits: SchemaLimits,
    notes: Vec<Note>,
}

impl Schema {
    /// Compiles a schema whose known formats are asserted.
    ///
    /// # Errors
    /// Everything that makes the schema unusable, all of it at once: text that is not JSON, a dialect
    /// other than the two, keywords with values of the wrong type, references that lead nowhere,
    /// patterns that no linear-time engine can run, and bounds exceeded.
    pub fn compile(text: &str, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        Self::compile_with(text, &SchemaOptions { limits, ..SchemaOptions::default() })
    }

    /// As [`Schema::compile`], with all options.
    ///
    /// # Errors
    /// As [`Schema::compile`].
    pub fn compile_with(text: &str, options: &SchemaOptions<'_>) -> Result<Self, SchemaError> {
        compile::compile(text, options)
    }

    /// The text that the schema was compiled from, byte for byte.
    #[must_use]
    pub fn text(&self) -> &str {
        self.sources.own().text()
    }

    /// The schema as a JSON document.
    #[must_use]
    pub fn document(&self) -> &Document {
        self.sources.own()
    }

    /// The dialect of the root.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// What the compiler noticed without refusing the schema.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Whether the value satisfies the schema. Stops at the first failure, and allocates nothing for
    /// schemas without reuse in alternatives and without `unevaluated*`.
    ///
    /// # Errors
    /// [`OverBudget`] when schema and value together ask for more work than
    /// [`SchemaLimits::evaluate_work`]. The value must then be treated as refused.
    pub fn is_valid(&self, value: Value<'_>) -> Result<bool, OverBudget> {
        Run::new(&self.program, &self.sources, &self.limits, value).verdict()
    }

    /// Judges the value and collects every place at which it fails.
    #[must_use]
    pub fn validate(&self, value: Value<'_>) -> Verdict {
        Run::new(&self.program, &self.sources, &self.limits, value).validate()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({} bytes, {}, {:?})", self.text().len(), self.dialect, self.program)
    }
}

/// The evaluation was stopped because it asked for too much work. Never read it as valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("judging this value against its schema takes more work than the bound")]
pub struct OverBudget;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SchemaError {
    /// Every fault found, in the order of the text; at least one.
    pub findings: Vec<Finding>,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, finding) in self.findings.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            fmt::Display::fmt(finding, f)?;
        }
        Ok(())
    }
}

/// One fault of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The place in the schema, as an RFC 6901 pointer.
    pub pointer: String,
    /// The keyword that is at fault; empty when it is the whole schema.
    pub keyword: String,
    /// What is wrong, and what would be right.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "at {place}: {} ({})", self.message, self.remedy)
    }
}

/// Something that a schema's author may not have meant, but that does not make it unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The place in the schema, as an RFC 6901 pointer.
    pub pointer: String,
    /// The keyword that the note is about.
    pub keyword: String,
    /// What was noticed.
    pub message: String,
}

#[cfg(test)]
mod tests;
