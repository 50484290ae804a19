//! The audit trail in a store: one record for each call, in a chain of hashes.
//!
//! Records are handed over to one writer a process, which commits all that are waiting in one
//! transaction and answers when they are durable. No record is ever changed; what is too old leaves at
//! the beginning of the chain, and the chain says so. Reading is separate and never writes. The gateway
//! opens trails; the command line reads them.

mod body;
mod chain;
mod column;
mod flood;
mod json;
mod queue;
mod read;
mod removal;
mod schema;
mod time;
mod trail;
mod writer;

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::time::Duration;

pub use body::{Body, Value};
pub use chain::{Break, BreakKind, Checkpoint, Head, Link, Verified, Verifier};
pub use column::{Column, Shape};
pub use json::{parse_heads, write_head, write_row};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresReader, PostgresStore, init as init_postgres};
pub use read::{Failure, Filter, Reader, Row, StoreHead, verify};
pub use removal::{Retention, judge_removal};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteReader, SqliteStore};
pub use time::{format_time, parse_time};
pub use trail::{StartError, Trail};
pub use writer::{Pruned, Store, StoreError};

/// How a trail is kept.
///
/// # Defaults
/// | option | default | why |
/// | --- | --- | --- |
/// | `on_failure` | refuse | what nobody can account for does not happen |
/// | `durability` | full | an answered call is on the disk, also when the power fails |
/// | `retention_days` | none | nothing is deleted that nobody asked to delete |
/// | `retention_bytes` | none | as above |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The name of the server that writes.
    pub server: String,
    /// Its version.
    pub server_version: String,
    /// What happens to calls while the trail cannot be written.
    pub on_failure: OnFailure,
    /// What an answered call means for its record.
    pub durability: Durability,
    /// After how many days a record may go.
    pub retention_days: Option<u32>,
    /// Beyond which size of the store the oldest records may go.
    pub retention_bytes: Option<u64>,
    /// The bounds.
    pub limits: Limits,
}

impl Options {
    /// The defaults for a server.
    #[must_use]
    pub fn new(server: impl Into<String>, server_version: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            server_version: server_version.into(),
            on_failure: OnFailure::Refuse,
            durability: Durability::Full,
            retention_days: None,
            retention_bytes: None,
            limits: Limits::default(),
        }
    }
}

/// What happens to calls while the trail cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Every call is refused.
    Refuse,
    /// Tools that change nothing go on. The hole in the trail is recorded when it can be written again.
    ServeReads,
}

/// What an answered call means for its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives the loss of power.
    Full,
    /// It survives the end of the process; the loss of power may take the last moments.
    Normal,
}

/// The bounds of a trail.
///
/// # Defaults
/// | bound | default | why |
/// | --- | --- | --- |
/// | `queue` | 4,096 records | four for each call that the gate admits; full means refused |
/// | `refusals_of_caller` | 20 a second | refusals of one caller that have a record of their own; more are counted |
/// | `refusals_of_all` | 200 a second | the same of all callers together |
/// | `refusal_callers` | 1,024 | callers, and callers by reason, that are told apart; the rest is counted together |
/// | `refusal_queue` | 2,048 records | refusals get no record of their own while so many wait, so that calls that ran have room |
/// | `refusals_every` | 10 s | how often what was counted is written |
/// | `batch` | 1,024 records | one transaction stays short |
/// | `answer` | 5 s | below the ten seconds that the gate waits for any port |
/// | `lock_wait` | 2 s | how long a writer waits for another process on the store |
/// | `probe` | 1 s | how often a store that failed is tried again |
/// | `prune_every` | 60 s | retention need not be exact |
/// | `prune_step` | 2,000 records | what one transaction deletes, so that calls wait for milliseconds |
/// | `name` | 128 characters | of a requested name; tools have no longer ones |
/// | `identity` | 256 characters | of each text about the caller |
/// | `arguments` | 4,096 bytes | of the arguments that a tool names for the trail |
/// | `detail` | 1,024 characters | of the reason |
/// | `policies` | 2,048 bytes | of the list of policy ids |
/// | `log_bytes` | 16 MiB | the log beside a SQLite file shrinks to this when a reader that made it grow is gone |
/// | `breaks` | 100 | what a verification reports before it only counts |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Records that wait to be written.
    pub queue: usize,
    /// Refusals of one caller in a second that have a record of their own.
    pub refusals_of_caller: u32,
    /// Refusals of all callers in a second that have a record of their own.
    pub refusals_of_all: u32,
    /// Callers that are told apart in one second, and callers by reason whose refusals are counted.
    pub refusal_callers: usize,
    /// Records that wait, from which on refusals are only counted.
    pub refusal_queue: usize,
    /// How often the counts of refusals are written.
    pub refusals_every: Duration,
    /// Records in one transaction.
    pub batch: usize,
    /// How long a call waits until its record is durable.
    pub answer: Duration,
    /// How long the writer waits for a lock on the store.
    pub lock_wait: Duration,
    /// How often a store that failed is tried again.
    pub probe: Duration,
    /// How often retention looks for what may go.
    pub prune_every: Duration,
    /// Records that one transaction of retention deletes.
    pub prune_step: u32,
    /// Characters of a requested name.
    pub name: usize,
    /// Characters of each text about the caller.
    pub identity: usize,
    /// Bytes of the arguments in the trail.
    pub arguments: usize,
    /// Characters of the reason.
    pub detail: usize,
    /// Bytes of the list of policy ids.
    pub policies: usize,
    /// Bytes that the log beside a SQLite file keeps.
    pub log_bytes: u32,
    /// Breaks that a verification reports one by one.
    pub breaks: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 4096,
            refusals_of_caller: 20,
            refusals_of_all: 200,
            refusal_callers: 1024,
            refusal_queue: 2048,
            refusals_every: Duration::from_secs(10),
            batch: 1024,
            answer: Duration::from_secs(5),
            lock_wait: Duration::from_secs(2),
            probe: Duration::from_secs(1),
            prune_every: Duration::from_secs(60),
            prune_step: 2000,
            name: 128,
            identity: 256,
            arguments: 4096,
            detail: 1024,
            policies: 2048,
            log_bytes: 16 << 20,
            breaks: 100,
        }
    }
}
