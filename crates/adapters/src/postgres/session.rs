//! One transaction on a connection of the pool, and stopping it midway.
//!
//! A session that is dropped before its end cancels the running statement in the database and throws
//! the connection away: nobody knows what state it is in. The source makes sessions.

use std::time::Duration;

use callgate_core::port::QueryError;
use deadpool_postgres::{Object, Pool, PoolError, TimeoutType, Timeouts};
use tokio_postgres::NoTls;

use super::fault::failure;

/// How long a cancellation may take before it is given up.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reading.
    Read,
    /// Reading and changing rows.
    Write,
}

/// A connection in a transaction.
pub(super) struct Session {
    client: Option<Object>,
}

impl Session {
    /// Begins a transaction on a connection that comes free within `wait`; its statements end after
    /// `timeout`.
    pub(super) async fn begin(
        pool: &Pool,
        access: Access,
        wait: Duration,
        timeout: Duration,
    ) -> Result<Self, QueryError> {
        let timeouts = Timeouts { wait: Some(wait), ..pool.timeouts() };
        let client = pool.timeout_get(&timeouts).await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => QueryError::Busy,
            other => QueryError::Unavailable { detail: super::fault::pool_reason(&other) },
        })?;
        let session = Self { client: Some(client) };
        // Zero would mean no limit at all.
        let timeout = timeout.as_millis().max(1);
        // The settings fix the text of values, whatever the role or the database prefers.
        let begin = match access {
            Access::Read => "begin read only".to_owned(),
            // The transaction of a caller that is gone must not keep its locks.
            Access::Write => {
                format!("begin read write; set local idle_in_transaction_session_timeout = {timeout}")
            }
        };
        let begin = format!(
            "{begin}; set local statement_timeout = {timeout}; set local timezone = 'UTC'; \
             set local datestyle = 'ISO, YMD'; set local intervalstyle = 'iso_8601'; \
             set local bytea_output = 'hex'; set local extra_float_digits = 1; \
             set local standard_conforming_strings = on"
        );
        session.client()?.batch_execute(&begin).await.map_err(|error| failure(&error))?;
        Ok(session)
    }

    pub(super) fn client(&self) -> Result<&Object, QueryError> {
        let gone = || QueryError::Failed { detail: "the session has ended".to_owned() };
        self.client.as_ref().ok_or_else(gone)
    }

    /// Commits the transaction. After an error the connection is not used again.
    pub(super) async fn commit(mut self) -> Result<(), tokio_postgres::Error> {
        let Some(client) = self.client.as_ref() else { return Ok(()) };
        let committed = client.batch_execute("commit").await;
        if let Some(client) = self.client.take()
            && committed.is_err()
        {
            drop(Object::take(client));
        }
        committed
    }

    /// Ends the transaction. A connection on which something failed is not used again, unless what
    /// failed was a value of the caller.
    pub(super) async fn end(mut self, error: Option<&QueryError>) {
        let kept = match error {
            None
            | Some(
                QueryError::Value { .. }
                | QueryError::Form { .. }
                | QueryError::RowTooLarge
                | QueryError::KeyNotUnique,
            ) => true,
            Some(_) => false,
        };
        let Some(client) = self.client.as_ref() else { return };
        let ended = client.batch_execute("rollback").await.is_ok();
        if let Some(client) = self.client.take()
            && !(kept && ended)
        {
            drop(Object::take(client));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let token = client.cancel_token();
        let client = Object::take(client);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let cancelled = tokio::time::timeout(CANCEL_TIMEOUT, token.cancel_query(NoTls)).await;
                if !matches!(cancelled, Ok(Ok(()))) {
                    tracing::warn!("a statement could not be cancelled; its own timeout ends it");
                }
                drop(client);
            });
        }
    }
}
