//! The tables of the ledger, and the statements on them.
//!
//! Each statement says itself from which states it may lead away; run twice it does the same as run once.

use std::fmt;

use callgate_core::contract::digest::Digest;
use callgate_core::port::{Claim, EffectKey, Ending, Row};
use callgate_core::receipt::CallId;
use tokio::time::Instant;

use crate::store::{Row as Read, Rows, Statement};

/// Characters of each text about a call.
const TEXT: usize = 256;

/// What makes the tables.
pub(super) const TABLES: &[&str] = &[
    "create table callgate_instance (id text not null primary key, about text not null, \
     started_us {integer} not null, beat_us {integer} not null, lost_us {integer} not null){strict}",
    "create table callgate_effect (key {bytes} not null primary key, state text not null, call text not null, \
     owner text not null, input {bytes} not null, contract {bytes} not null, tool text not null, tenant text, \
     principal text not null, resolution text, claimed_us {integer} not null, expires_us {integer} not null, \
     settled_us {integer}, result text, resolved_by text, reason text){strict}",
    "create index callgate_effect_owned on callgate_effect (owner) where state = 'executing'",
    "create index callgate_effect_unsettled on callgate_effect (claimed_us) where state in ('executing', 'unknown')",
    "create index callgate_effect_expires on callgate_effect (expires_us) \
     where state in ('committed', 'failed', 'compensated')",
    "create index callgate_effect_call on callgate_effect (call)",
];

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum State {
    Executing,
    Committed,
    Failed,
    Compensated,
    Unknown,
}

impl State {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Executing => "executing",
            Self::Committed => "committed",
            Self::Failed => "failed",
            Self::Compensated => "compensated",
            Self::Unknown => "unknown",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::Executing, Self::Committed, Self::Failed, Self::Compensated, Self::Unknown]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// What a claim writes.
pub(super) struct NewRow {
    input: Digest,
    contract: Digest,
    tool: String,
    tenant: Option<String>,
    principal: String,
    resolution: Option<&'static str>,
    retention_us: i64,
}

impl NewRow {
    pub(super) fn of(claim: &Claim<'_>) -> Self {
        Self {
            input: claim.input.0,
            contract: claim.contract.digest().0,
            tool: bounded(claim.contract.name().as_str()),
            tenant: claim.principal.tenant.as_deref().map(bounded),
            principal: bounded(&claim.principal.subject),
            resolution: claim.contract.resolution().map(|resolution| resolution.as_str()),
            retention_us: i64::try_from(claim.retention.as_micros())
                .unwrap_or(i64::MAX / 4)
                .min(i64::MAX / 4),
        }
    }

    /// Takes the row if there is none, if nothing was changed under it, or if its time is over.
    pub(super) fn statement(&self, row: Row, owner: &str) -> Statement {
        Statement::new(
            "insert into callgate_effect as held (key, state, call, owner, input, contract, tool, tenant, principal, \
             resolution, claimed_us, expires_us) values ($1, 'executing', $2, $3, $4, $5, $6, $7, $8, $9, {now}, \
             {now} + $10) on conflict (key) do update set state = 'executing', call = excluded.call, \
             owner = excluded.owner, input = excluded.input, contract = excluded.contract, tool = excluded.tool, \
             tenant = excluded.tenant, principal = excluded.principal, resolution = excluded.resolution, \
             claimed_us = excluded.claimed_us, expires_us = excluded.expires_us, settled_us = null, result = null, \
             resolved_by = null, reason = null \
             where held.state = 'failed' or (held.state in ('committed', 'compensated') and held.expires_us <= {now}) \
             returning 1",
        )
        .bind(row.key.0)
        .bind(row.call.to_string())
        .bind(owner)
        .bind(self.input)
        .bind(self.contract)
        .bind(self.tool.as_str())
        .bind(self.tenant.clone())
        .bind(self.principal.as_str())
        .bind(self.resolution)
        .bind(self.retention_us)
    }
}

/// A row as it stands.
pub(super) struct Found {
    pub(super) state: State,
    pub(super) call: CallId,
    pub(super) input: Digest,
    pub(super) contract: Digest,
    pub(super) result: Option<String>,
    pub(super) expired: bool,
    /// Whether the instance that owns it was heard of lately.
    pub(super) alive: bool,
}

/// Whether the owner of a row `held` was heard of lately.
pub(super) const ALIVE: &str = "exists (select 1 from callgate_instance as alive where alive.id = held.owner and \
                                alive.beat_us + alive.lost_us > {now})";

/// Asks for one row.
pub(super) fn look(key: EffectKey) -> Statement {
    Statement::new(format!(
        "select held.state, held.call, held.input, held.contract, held.result, case when held.expires_us <= {{now}} \
         then 1 else 0 end, case when {ALIVE} then 1 else 0 end from callgate_effect as held where held.key = $1"
    ))
    .bind(key.0)
}

impl Found {
    pub(super) fn of(row: &Read) -> Option<Self> {
        Some(Self {
            state: State::parse(row.text(0)?)?,
            call: row.text(1)?.parse().ok()?,
            input: row.digest(2)?,
            contract: row.digest(3)?,
            result: row.text(4).map(str::to_owned),
            expired: row.integer(5)? != 0,
            alive: row.integer(6)? != 0,
        })
    }
}

/// How a run ended, for as long as it takes to write it.
pub(super) struct Owned {
    pub(super) row: Row,
    /// Nothing where the row goes.
    state: Option<State>,
    result: Option<String>,
    /// Until when it is written again although it was written: the claim may still be on its way.
    pub(super) until: Option<Instant>,
    foreign: bool,
}

impl Owned {
    pub(super) fn of(row: Row, ending: Ending<'_>, result_bytes: usize) -> Self {
        let (state, result) = match ending {
            Ending::Committed(result) => {
                let kept = result.filter(|result| result.size() <= result_bytes);
                (Some(State::Committed), kept.map(callgate_core::port::StoredResult::to_json))
            }
            Ending::Failed => (Some(State::Failed), None),
            Ending::Unknown => (Some(State::Unknown), None),
            Ending::Released => (None, None),
        };
        Self { row, state, result, until: None, foreign: false }
    }

    /// The row goes: nothing was dispatched under it. Where nobody knows whether the claim was written, it goes
    /// again and again until a claim that was cut off cannot come through any more.
    pub(super) fn released(row: Row, until: Option<Instant>) -> Self {
        Self { row, state: None, result: None, until, foreign: false }
    }

    /// Whether it was written for the last time.
    pub(super) fn is_done(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    /// The row of another call, which is ended only when its owner cannot say so itself any more.
    pub(super) fn foreign(mut self) -> Self {
        self.foreign = true;
        self
    }

    pub(super) fn statement(&self) -> Statement {
        let open = match self.foreign {
            false => "held.state in ('executing', 'unknown')".to_owned(),
            true => format!("(held.state = 'unknown' or (held.state = 'executing' and not {ALIVE}))"),
        };
        let statement = match self.state {
            None => Statement::new(format!(
                "delete from callgate_effect as held where key = $1 and call = $2 and {open} returning 1"
            )),
            // What happened is recognised for its whole time from when it is known, however late that is.
            Some(_) => Statement::new(format!(
                "update callgate_effect as held set state = $3, result = $4, settled_us = {{now}}, expires_us = case \
                 when $3 = 'committed' then {{now}} + (expires_us - claimed_us) else expires_us end \
                 where key = $1 and call = $2 and {open} returning 1"
            )),
        };
        let statement = statement.bind(self.row.key.0).bind(self.row.call.to_string());
        match self.state {
            None => statement,
            Some(state) => statement.bind(state.as_str()).bind(self.result.clone()),
        }
    }

    /// Says so when the row was not this call's any more, which only a person can have done.
    pub(super) fn judge(&self, answers: &[Rows]) {
        let written = answers.first().is_some_and(|rows| !rows.is_empty());
        if !written && self.state.is_some() {
            tracing::warn!(call = %self.row.call, state = self.state.map_or("released", State::as_str),
                "the end of an effect found its row settled before");
        }
    }
}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").field("row", &self.row).field("state", &self.state).finish_non_exhaustive()
    }
}

/// Deletes rows whose time is over and that say how their effect ended.
pub(super) fn purge(most: u32) -> Statement {
    Statement::new(
        "delete from callgate_effect where key in (select key from callgate_effect where state in ('committed', \
         'failed', 'compensated') and expires_us <= {now} order by expires_us limit $1)",
    )
    .bind(i64::from(most))
}

/// Counts all rows.
pub(super) fn count() -> Statement {
    Statement::new("select count(*) from callgate_effect")
}

/// A text of bounded length without what PostgreSQL does not keep.
pub(super) fn bounded(text: &str) -> String {
    text.chars().take(TEXT).map(|character| if character == '\0' { '\u{FFFD}' } else { character }).collect()
}
