//! Handles in a store, so that every instance knows what any of them gave out or used up.
//!
//! Each method is one transaction. Rows are counted and added under one lock, so that no two instances exceed
//! a bound together. It decides nothing about who may use what; the gate's core does and is the caller.

use std::fmt;

use callgate_core::contract::digest::Digest;
use callgate_core::port::{Answer, HandleKind, HandleRow, HandleStore, Put, RowBounds, Timestamp};
use callgate_core::refusal::Refusal;

use super::migrate::Part;
use super::{Row, Statement, Store, kept};

/// The tables of handles.
pub const PART: Part = Part::new("handles", &[TABLES]);

const TABLES: &[&str] = &[
    "create table callgate_handle (kind text not null, key {bytes} not null, owner {bytes} not null, \
     scope {bytes} not null, expires_us {integer} not null, payload {bytes} not null, primary key (kind, key)){strict}",
    "create index callgate_handle_owner on callgate_handle (kind, owner, expires_us)",
    "create index callgate_handle_expires on callgate_handle (kind, expires_us)",
];

/// Rows that have expired and that one transaction removes.
const PURGE: i64 = 100;
/// Names the lock of PostgreSQL under which rows are counted.
const LOCK: i64 = 7_161_089_826_487_301;

/// Handles in a store. Clones are the same handles.
#[derive(Clone)]
pub struct StoreHandles(Store);

impl StoreHandles {
    /// The handles of a store that [`migrate`](super::migrate()) has made tables in.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self(store)
    }

    async fn add(&self, row: HandleRow, bounds: RowBounds, now: Timestamp) -> Result<Put, Refusal> {
        let kind = row.kind.as_str();
        let mut statements = kept::locked(self.0.dialect, LOCK);
        let before = statements.len();
        statements.push(
            Statement::new(
                "delete from callgate_handle where kind = $1 and key in (select key from callgate_handle \
                 where kind = $1 and expires_us <= $2 order by expires_us limit $3)",
            )
            .bind(kind)
            .bind(now.0)
            .bind(PURGE),
        );
        statements.push(
            Statement::new("delete from callgate_handle where kind = $1 and key = $2 and expires_us <= $3")
                .bind(kind)
                .bind(row.key)
                .bind(now.0),
        );
        statements.push(
            Statement::new(
                "insert into callgate_handle (kind, key, owner, scope, expires_us, payload) \
                 select cast($1 as text), cast($2 as {bytes}), cast($3 as {bytes}), cast($4 as {bytes}), \
                 cast($5 as {integer}), cast($6 as {bytes}) \
                 where (select count(*) from callgate_handle where kind = $1 and owner = $3 and expires_us > $7) < $8 \
                 and (select count(*) from callgate_handle where kind = $1 and expires_us > $7) < $9 \
                 on conflict (kind, key) do nothing returning 1",
            )
            .bind(kind)
            .bind(row.key)
            .bind(row.owner)
            .bind(row.scope)
            .bind(row.expires.0)
            .bind(row.payload)
            .bind(now.0)
            .bind(kept::number(bounds.of_owner))
            .bind(kept::number(bounds.total)),
        );
        statements.push(
            Statement::new("select 1 from callgate_handle where kind = $1 and key = $2")
                .bind(kind)
                .bind(row.key),
        );
        let answers = self.0.run(statements).await.map_err(|error| kept::explained(&error))?;
        Ok(match answers.get(before + 2..) {
            Some([added, _]) if !added.is_empty() => Put::Kept,
            Some([_, there]) if !there.is_empty() => Put::Taken,
            _ => Put::Full,
        })
    }

    async fn find(
        &self,
        kind: HandleKind,
        key: Digest,
        now: Timestamp,
    ) -> Result<Option<HandleRow>, Refusal> {
        let statement = Statement::new(
            "select owner, scope, expires_us, payload from callgate_handle \
             where kind = $1 and key = $2 and expires_us > $3",
        )
        .bind(kind.as_str())
        .bind(key)
        .bind(now.0);
        let rows = self.0.one(statement).await.map_err(|error| kept::explained(&error))?;
        rows.first().map(|row| read(kind, key, row).ok_or_else(kept::damaged)).transpose()
    }

    async fn take(
        &self,
        kind: HandleKind,
        key: Digest,
        scope: Digest,
        now: Timestamp,
    ) -> Result<bool, Refusal> {
        let statement = Statement::new(
            "delete from callgate_handle where kind = $1 and key = $2 and scope = $3 and expires_us > $4 returning 1",
        )
        .bind(kind.as_str())
        .bind(key)
        .bind(scope)
        .bind(now.0);
        let rows = self.0.one(statement).await.map_err(|error| kept::explained(&error))?;
        Ok(!rows.is_empty())
    }
}

fn read(kind: HandleKind, key: Digest, row: &Row) -> Option<HandleRow> {
    Some(HandleRow {
        kind,
        key,
        owner: row.digest(0)?,
        scope: row.digest(1)?,
        expires: Timestamp(row.integer(2)?),
        payload: row.bytes(3)?.to_vec(),
    })
}

impl HandleStore for StoreHandles {
    fn put(&self, row: HandleRow, bounds: RowBounds, now: Timestamp) -> Answer<'_, Result<Put, Refusal>> {
        Answer::later(self.add(row, bounds, now))
    }

    fn get(
        &self,
        kind: HandleKind,
        key: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<Option<HandleRow>, Refusal>> {
        Answer::later(self.find(kind, key, now))
    }

    fn remove(
        &self,
        kind: HandleKind,
        key: Digest,
        scope: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<bool, Refusal>> {
        Answer::later(self.take(kind, key, scope, now))
    }
}

impl fmt::Debug for StoreHandles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreHandles").field(&self.0).finish()
    }
}
