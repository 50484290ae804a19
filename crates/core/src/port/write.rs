//! Sources that are written to: what a tool that is a list of statements needs from a store.
//!
//! The statements and the key of the effect commit together or not at all. A source must never say that nothing was
//! done unless a transaction was rolled back or never begun, never make its own table in secret, and never let a run
//! come through that was said to be over. The gateway prepares statements at load and runs them in calls.

use std::sync::Arc;

use tokio::time::Instant;

use super::query::{Bind, Prepared, QueryError, SourceError, Statement};
use super::{Answer, EffectKey};
use crate::contract::digest::InputDigest;
use crate::receipt::CallId;

/// A store that is written to.
///
/// Dropping the future of [`WriteSource::write`] rolls back what is not being committed yet.
pub trait WriteSource: Send + Sync {
    /// Whether the table of the keys is there.
    fn is_migrated(&self) -> Answer<'_, Result<bool, SourceError>>;

    /// Judges a statement: that it is one, that it changes or reads rows and nothing else, and what goes in and comes
    /// out. Parameters are written `:name`.
    fn prepare_write<'a>(&'a self, sql: &'a str) -> Answer<'a, Result<Prepared, SourceError>>;

    /// Tries the form in which the store will see a statement, without running it.
    fn check_write<'a>(&'a self, step: &'a WriteStep) -> Answer<'a, Result<(), SourceError>>;

    /// Runs the statements and keeps their key, in one transaction.
    fn write(&self, write: Write) -> Answer<'_, Result<Written, WriteError>>;

    /// Says what became of a call that tried an effect. Where it has not come through, it never will: the source keeps
    /// a mark of that call, which refuses it.
    fn settle(
        &self,
        key: EffectKey,
        call: CallId,
        deadline: Instant,
    ) -> Answer<'_, Result<Known, WriteError>>;
}

/// One statement of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStep {
    /// The statement. It has columns only where it is the last one and its rows are the result.
    pub statement: Statement,
    /// The fewest rows that it changes, or gives where it only reads.
    pub min_rows: u64,
    /// The most.
    pub max_rows: u64,
}

/// One run of a list of statements.
#[derive(Clone, Debug)]
pub struct Write {
    /// The statements in their order.
    pub steps: Arc<[WriteStep]>,
    /// A value for each parameter of the statements; one that is not here is NULL.
    pub values: Vec<(String, Bind)>,
    /// Which intention it is.
    pub key: EffectKey,
    /// The call that tries it.
    pub call: CallId,
    /// What is compared between calls of one key.
    pub input: InputDigest,
    /// Bytes of JSON that the rows may have.
    pub max_bytes: usize,
    /// When nobody waits any more.
    pub deadline: Instant,
}

/// An effect that is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The rows of the last statement: a JSON array of objects.
    pub rows: String,
    /// How many rows the statements changed.
    pub changed: u64,
    /// Whether an earlier call did it, and this one found it done.
    pub before: bool,
}

/// What a source knows of a call that tried an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is committed.
    Committed(Written),
    /// It is not, and that call cannot commit it any more.
    Withdrawn,
}

/// Why a list of statements did not commit. `detail` texts are for the log only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Nobody knows whether the transaction was committed. Every other error proves that nothing changed.
    #[error("the answer to the commit was lost: {detail}")]
    Unknown {
        /// What the store said.
        detail: String,
    },
    /// The key is that of an effect with other input.
    #[error("the key belongs to an effect with other input")]
    Conflict,
    /// It was said of this call that it did not come through, so it must not any more.
    #[error("the call was given up before it came through")]
    Withdrawn,
    /// A statement changed, or gave, fewer or more rows than it may.
    #[error("statement {statement} changed {rows} rows, and may change {min} to {max}")]
    Rows {
        /// The number of the statement, counted from 0.
        statement: usize,
        /// How many rows there were; when they were too many, at least so many.
        rows: u64,
        /// The fewest allowed.
        min: u64,
        /// The most allowed.
        max: u64,
    },
    /// The values break a rule of the data: something is there already, is referred to, or is not.
    #[error("a rule of the data refuses it: {detail}")]
    Constraint {
        /// What the store said.
        detail: String,
    },
    /// The table of the keys is not there.
    #[error("the source has no table for the keys of effects")]
    NotMigrated,
    /// A statement failed as a query can.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl WriteError {
    /// Whether it is proven that nothing changed.
    #[must_use]
    pub const fn proves_nothing_done(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }
}
