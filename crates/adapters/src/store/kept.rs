//! What handles and artifacts in a store have in common: their locks, numbers and refusals.

use callgate_core::refusal::{Code, Refusal};

use super::statement::Dialect;
use super::{Statement, StoreError};

/// The beginning of a transaction in which rows are counted before one is added. SQLite has one writer; in
/// PostgreSQL two would count at once.
pub(super) fn locked(dialect: Dialect, lock: i64) -> Vec<Statement> {
    match dialect {
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => {
            // The one writer is the lock.
            let _ = lock;
            Vec::new()
        }
        #[cfg(feature = "postgres")]
        Dialect::Postgres => vec![Statement::new("select pg_advisory_xact_lock($1)::text").bind(lock)],
    }
}

/// A number as a store keeps it.
pub(super) fn number<N: TryInto<i64>>(number: N) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

pub(super) fn explained(error: &StoreError) -> Refusal {
    Refusal::new(Code::GateUnavailable, "the store does not answer now")
        .with_detail(format_args!("{error}; {}", error.remedy()))
}

pub(super) fn damaged() -> Refusal {
    Refusal::new(Code::GateUnavailable, "the store does not answer now")
        .with_detail("a row of the store is damaged; restore a copy of the store")
}
