//! Artifacts in a store: one row each, and their bytes in pieces, so that any instance reads what another wrote.
//!
//! Each method is one transaction. Bytes are counted and added under one lock, so that no two instances exceed
//! a bound together. It decides nothing about who may read what; the gate's core does and is the caller.

use std::fmt;
use std::ops::Range;

use callgate_core::contract::digest::Digest;
use callgate_core::port::{Answer, ArtifactBounds, ArtifactRow, ArtifactStore, NewArtifact, Put, Timestamp};
use callgate_core::refusal::Refusal;

use super::migrate::Part;
use super::{Row, Statement, Store, kept};

/// The tables of artifacts.
pub const PART: Part = Part::new("artifacts", &[TABLES]);

const TABLES: &[&str] = &[
    "create table callgate_artifact (key {bytes} not null primary key, owner {bytes} not null, name text not null, \
     media_type text not null, bytes {integer} not null, digest {bytes}, expires_us {integer} not null){strict}",
    "create index callgate_artifact_owner on callgate_artifact (owner, expires_us, bytes)",
    "create index callgate_artifact_expires on callgate_artifact (expires_us, bytes)",
    "create table callgate_piece (key {bytes} not null, number {integer} not null, piece {bytes} not null, \
     primary key (key, number)){strict}",
];

/// Artifacts that have expired and that one transaction removes.
const PURGE: i64 = 10;
/// Names the lock of PostgreSQL under which bytes are counted.
const LOCK: i64 = 7_161_089_826_487_302;

/// Artifacts in a store. Clones are the same artifacts.
#[derive(Clone)]
pub struct StoreArtifacts(Store);

impl StoreArtifacts {
    /// The artifacts of a store that [`migrate`](super::migrate()) has made tables in.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self(store)
    }

    async fn add(&self, new: NewArtifact, bounds: ArtifactBounds, now: Timestamp) -> Result<Put, Refusal> {
        let mut statements = kept::locked(self.0.dialect, LOCK);
        let before = statements.len();
        for table in ["callgate_piece", "callgate_artifact"] {
            let sql = format!(
                "delete from {table} where key in (select key from callgate_artifact \
                 where expires_us <= $1 order by expires_us, key limit $2)"
            );
            statements.push(Statement::new(sql).bind(now.0).bind(PURGE));
        }
        statements.push(
            Statement::new(
                "insert into callgate_artifact (key, owner, name, media_type, bytes, expires_us) \
                 select cast($1 as {bytes}), cast($2 as {bytes}), cast($3 as text), cast($4 as text), 0, \
                 cast($5 as {integer}) \
                 where (select count(*) from callgate_artifact where owner = $2 and expires_us > $6) < $7 \
                 and (select coalesce(sum(bytes), 0) from callgate_artifact where owner = $2 and expires_us > $6) \
                 < cast($8 as {integer}) \
                 and (select coalesce(sum(bytes), 0) from callgate_artifact where expires_us > $6) \
                 < cast($9 as {integer}) \
                 on conflict (key) do nothing returning 1",
            )
            .bind(new.key)
            .bind(new.owner)
            .bind(new.name)
            .bind(new.media_type)
            .bind(new.abandoned.0)
            .bind(now.0)
            .bind(kept::number(bounds.of_owner))
            .bind(kept::number(bounds.of_owner_bytes))
            .bind(kept::number(bounds.total_bytes)),
        );
        statements.push(Statement::new("select 1 from callgate_artifact where key = $1").bind(new.key));
        let answers = self.0.run(statements).await.map_err(|error| kept::explained(&error))?;
        Ok(match answers.get(before + 2..) {
            Some([added, _]) if !added.is_empty() => Put::Kept,
            Some([_, there]) if !there.is_empty() => Put::Taken,
            _ => Put::Full,
        })
    }

    async fn write(
        &self,
        key: Digest,
        (number, offset): (u64, u64),
        piece: Vec<u8>,
        bounds: ArtifactBounds,
        now: Timestamp,
    ) -> Result<Put, Refusal> {
        let mut statements = kept::locked(self.0.dialect, LOCK);
        let before = statements.len();
        let (number, offset, length) =
            (kept::number(number), kept::number(offset), kept::number(piece.len()));
        statements.push(
            Statement::new(
                "insert into callgate_piece (key, number, piece) \
                 select key, cast($2 as {integer}), cast($3 as {bytes}) from callgate_artifact as held \
                 where key = $1 and digest is null and expires_us > $4 and bytes = $5 \
                 and (select sum(bytes) from callgate_artifact where owner = held.owner and expires_us > $4) \
                 + cast($6 as {integer}) <= cast($7 as {integer}) \
                 and (select sum(bytes) from callgate_artifact where expires_us > $4) + cast($6 as {integer}) \
                 <= cast($8 as {integer}) \
                 on conflict (key, number) do nothing returning 1",
            )
            .bind(key)
            .bind(number)
            .bind(piece)
            .bind(now.0)
            .bind(offset)
            .bind(length)
            .bind(kept::number(bounds.of_owner_bytes))
            .bind(kept::number(bounds.total_bytes)),
        );
        statements.push(
            Statement::new(
                "select 1 from callgate_artifact where key = $1 and digest is null and expires_us > $2 and bytes = $3",
            )
            .bind(key)
            .bind(now.0)
            .bind(offset),
        );
        // The piece is there only if it was added: at this length there was none of that number.
        statements.push(
            Statement::new(
                "update callgate_artifact set bytes = bytes + $4 where key = $1 and digest is null and bytes = $3 \
                 and exists (select 1 from callgate_piece where key = $1 and number = $2)",
            )
            .bind(key)
            .bind(number)
            .bind(offset)
            .bind(length),
        );
        let answers = self.0.run(statements).await.map_err(|error| kept::explained(&error))?;
        Ok(match answers.get(before..) {
            Some([added, ..]) if !added.is_empty() => Put::Kept,
            Some([_, waiting, _]) if !waiting.is_empty() => Put::Full,
            _ => Put::Taken,
        })
    }

    async fn close(
        &self,
        key: Digest,
        digest: Digest,
        expires: Timestamp,
        now: Timestamp,
    ) -> Result<bool, Refusal> {
        let statement = Statement::new(
            "update callgate_artifact set digest = $2, expires_us = $3 \
             where key = $1 and digest is null and expires_us > $4 returning 1",
        )
        .bind(key)
        .bind(digest)
        .bind(expires.0)
        .bind(now.0);
        let rows = self.0.one(statement).await.map_err(|error| kept::explained(&error))?;
        Ok(!rows.is_empty())
    }

    async fn remove(&self, key: Digest) -> Result<(), Refusal> {
        let delete = |sql: &'static str| Statement::new(sql).bind(key);
        let statements = vec![
            delete("delete from callgate_piece where key = $1"),
            delete("delete from callgate_artifact where key = $1"),
        ];
        self.0.run(statements).await.map(|_| ()).map_err(|error| kept::explained(&error))
    }

    async fn look(&self, key: Digest, owner: Digest, now: Timestamp) -> Result<Option<ArtifactRow>, Refusal> {
        let statement = Statement::new(
            "select name, media_type, bytes, digest, expires_us from callgate_artifact \
             where key = $1 and owner = $2 and digest is not null and expires_us > $3",
        )
        .bind(key)
        .bind(owner)
        .bind(now.0);
        let rows = self.0.one(statement).await.map_err(|error| kept::explained(&error))?;
        rows.first().map(|row| read(row).ok_or_else(kept::damaged)).transpose()
    }

    async fn read(&self, key: Digest, numbers: Range<u64>) -> Result<Vec<Vec<u8>>, Refusal> {
        let statement = Statement::new(
            "select piece from callgate_piece where key = $1 and number >= $2 and number < $3 order by number",
        )
        .bind(key)
        .bind(kept::number(numbers.start))
        .bind(kept::number(numbers.end));
        let rows = self.0.one(statement).await.map_err(|error| kept::explained(&error))?;
        rows.iter().map(|row| row.bytes(0).map(<[u8]>::to_vec).ok_or_else(kept::damaged)).collect()
    }
}

fn read(row: &Row) -> Option<ArtifactRow> {
    Some(ArtifactRow {
        name: row.text(0)?.to_owned(),
        media_type: row.text(1)?.to_owned(),
        bytes: u64::try_from(row.integer(2)?).ok()?,
        digest: row.digest(3)?,
        expires: Timestamp(row.integer(4)?),
    })
}

impl ArtifactStore for StoreArtifacts {
    fn begin(
        &self,
        artifact: NewArtifact,
        bounds: ArtifactBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Put, Refusal>> {
        Answer::later(self.add(artifact, bounds, now))
    }

    fn append(
        &self,
        key: Digest,
        at: (u64, u64),
        piece: Vec<u8>,
        bounds: ArtifactBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Put, Refusal>> {
        Answer::later(self.write(key, at, piece, bounds, now))
    }

    fn finish(
        &self,
        key: Digest,
        digest: Digest,
        expires: Timestamp,
        now: Timestamp,
    ) -> Answer<'_, Result<bool, Refusal>> {
        Answer::later(self.close(key, digest, expires, now))
    }

    fn discard(&self, key: Digest) -> Answer<'_, Result<(), Refusal>> {
        Answer::later(self.remove(key))
    }

    fn find(
        &self,
        key: Digest,
        owner: Digest,
        now: Timestamp,
    ) -> Answer<'_, Result<Option<ArtifactRow>, Refusal>> {
        Answer::later(self.look(key, owner, now))
    }

    fn pieces(&self, key: Digest, numbers: Range<u64>) -> Answer<'_, Result<Vec<Vec<u8>>, Refusal>> {
        Answer::later(self.read(key, numbers))
    }
}

impl fmt::Debug for StoreArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreArtifacts").field(&self.0).finish()
    }
}
