//! Patterns: ECMA-262 regular expressions on an engine whose time is linear in the text.
//!
//! A pattern is read by our own parser, because the syntax of the engine differs from ECMA-262 in
//! small ways that change meanings (`\d`, `\s`, `$`). It must never run a pattern that needs
//! backtracking: look-around and back-references are refused by name. The compiler calls it, and the
//! evaluator matches.

use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use thiserror::Error;

use super::SchemaLimits;

mod class;
mod parse;
mod simple;

pub(super) use parse::is_regular_expression;

use simple::Simple;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    source: Box<str>,
    engine: Engine,
    /// Steps charged for each byte of text.
    weight: u64,
}

/// What runs a pattern.
#[derive(Debug)]
enum Engine {
    /// A run of counted characters.
    Simple(Simple),
    /// Everything else.
    Automaton(meta::Regex),
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum PatternError {
    /// The source does not follow the grammar of ECMA-262.
    #[error("not a regular expression: {what} at byte {at}")]
    Syntax { what: &'static str, at: usize },
    /// The pattern asks for what a linear-time engine cannot do, or for what JSON Schema lacks.
    #[error("{what} at byte {at} is not supported, because patterns must run in linear time")]
    Unsupported { what: &'static str, at: usize },
    /// The pattern exceeds a bound.
    #[error("the pattern is larger than the bound on {what}")]
    TooLarge { what: &'static str },
}

/// Memory of the engine that stands for one more step for each byte of text, in bytes. The engine
/// usually spends one step on a byte; a crafted pattern makes it visit all of its states.
const WEIGHT_BYTES: usize = 2048;

/// Memory of the engine that stands for one step of compiling, in bytes.
pub(super) const COMPILED_BYTES: usize = 4;

impl Pattern {
    pub(super) fn compile(source: &str, limits: &SchemaLimits) -> Result<Self, PatternError> {
        if source.len() > limits.pattern_bytes {
            return Err(PatternError::TooLarge { what: "the bytes of its source" });
        }
        let expression = parse::parse(source, limits)?;
        if let Some(simple) = Simple::of(&expression) {
            return Ok(Self { source: source.into(), engine: Engine::Simple(simple), weight: 1 });
        }
        let config = meta::Config::new()
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(limits.pattern_program_bytes))
            .hybrid_cache_capacity(limits.pattern_program_bytes)
            .dfa(false)
            .onepass(false);
        let engine = meta::Builder::new()
            .configure(config)
            .build_from_hir(&expression)
            .map_err(|_| PatternError::TooLarge { what: "the memory of a compiled pattern" })?;
        let weight = 1 + (engine.memory_usage() / WEIGHT_BYTES) as u64;
        Ok(Self { source: source.into(), engine: Engine::Automaton(engine), weight })
    }

    /// Steps that [`Pattern::matches`] takes at most for that many bytes, in the currency of the budget.
    #[inline]
    pub(super) fn cost(&self, bytes: usize) -> u64 {
        1 + bytes as u64 * self.weight
    }

    /// As [`Pattern::matches`] for the bytes of a text.
    #[inline]
    pub(super) fn matches_bytes(&self, text: &[u8]) -> bool {
        match &self.engine {
            Engine::Simple(simple) => simple.matches(text),
            Engine::Automaton(engine) => engine.is_match(text),
        }
    }

    /// Steps that compiling took, in the currency of the budget.
    pub(super) fn steps_to_compile(&self) -> u64 {
        match &self.engine {
            Engine::Simple(_) => 0,
            Engine::Automaton(engine) => (engine.memory_usage() / COMPILED_BYTES) as u64,
        }
    }

    /// Whether the pattern is found anywhere in the text.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.matches_bytes(text.as_bytes())
    }

    /// The pattern as the schema has it.
    pub(super) fn source(&self) -> &str {
        &self.source
    }
}

#[cfg(test)]
mod tests;
