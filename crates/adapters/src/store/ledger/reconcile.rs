//! Effects that nobody knows the outcome of: listing them, and saying what became of one.
//!
//! It must never settle a row whose owner may still say so itself. `callgate audit reconcile` is the caller.

use callgate_core::contract::digest::Digest;
use callgate_core::port::EffectKey;
use callgate_core::receipt::CallId;

use super::row::{ALIVE, State, bounded};
use crate::store::{Row, Statement, Store, StoreError, first};

/// An effect in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effect {
    /// Which intention it is.
    pub key: EffectKey,
    /// The call that owned it last.
    pub call: CallId,
    /// `executing`, `committed`, `failed`, `compensated` or `unknown`.
    pub state: &'static str,
    /// The tool.
    pub tool: String,
    /// Its definition.
    pub contract: Digest,
    /// On whose data.
    pub tenant: Option<String>,
    /// Who called.
    pub principal: String,
    /// How its outcome becomes known: `backend` or `person`.
    pub resolution: Option<String>,
    /// When it was claimed, in microseconds since 1970.
    pub claimed_us: i64,
    /// Who resolved it.
    pub resolved_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// What became of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It happened; perhaps with a result for repeated calls, as [`callgate_core::port::StoredResult::to_json`]
    /// writes it.
    Committed(Option<String>),
    /// It did not happen; the key may be tried again.
    Failed,
    /// It happened and was taken back.
    Compensated,
}

impl Outcome {
    fn state(&self) -> State {
        match self {
            Self::Committed(_) => State::Committed,
            Self::Failed => State::Failed,
            Self::Compensated => State::Compensated,
        }
    }

    /// The name in the trail.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.state().as_str()
    }
}

/// Whether a row was resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// It was.
    Done,
    /// It is not unknown any more, or another call owns it.
    Changed,
}

const COLUMNS: &str = "held.key, held.call, held.state, held.tool, held.contract, held.tenant, held.principal, \
                       held.resolution, held.claimed_us, held.resolved_by, held.reason";

/// The effects whose outcome nobody knows, the oldest first.
///
/// # Errors
/// The store cannot be read.
pub fn unsettled(store: &Store, most: u32) -> Result<Vec<Effect>, StoreError> {
    let statement = Statement::new(format!(
        "select {COLUMNS} from callgate_effect as held where held.state in ('executing', 'unknown') and (held.state = \
         'unknown' or not {ALIVE}) order by held.claimed_us limit $1"
    ))
    .bind(i64::from(most));
    let rows = first(store.run_blocking(vec![statement])?);
    rows.iter().map(effect).collect()
}

/// The effect of a call.
///
/// # Errors
/// The store cannot be read.
pub fn find(store: &Store, call: CallId) -> Result<Option<Effect>, StoreError> {
    let statement =
        Statement::new(format!("select {COLUMNS} from callgate_effect as held where held.call = $1"))
            .bind(call.to_string());
    first(store.run_blocking(vec![statement])?).first().map(effect).transpose()
}

/// Says what became of an effect whose outcome is unknown. That it was taken back can also be said of one that is
/// known to have happened.
///
/// # Errors
/// The store cannot be written.
pub fn resolve(
    store: &Store,
    effect: &Effect,
    outcome: &Outcome,
    by: &str,
    reason: &str,
) -> Result<Resolved, StoreError> {
    let committed = match outcome {
        Outcome::Compensated => "or held.state = 'committed'",
        Outcome::Committed(_) | Outcome::Failed => "",
    };
    let result = match outcome {
        Outcome::Committed(result) => result.clone(),
        Outcome::Failed | Outcome::Compensated => None,
    };
    let statement = Statement::new(format!(
        "update callgate_effect as held set state = $3, result = $4, resolved_by = $5, reason = $6, settled_us = \
         {{now}}, expires_us = case when $3 = 'failed' then expires_us else {{now}} + (expires_us - claimed_us) end \
         where held.key = $1 and held.call = $2 and (held.state = 'unknown' or (held.state = 'executing' and \
         not {ALIVE}) {committed}) returning 1"
    ))
    .bind(effect.key.0)
    .bind(effect.call.to_string())
    .bind(outcome.as_str())
    .bind(result)
    .bind(bounded(by))
    .bind(bounded(reason));
    let rows = first(store.run_blocking(vec![statement])?);
    Ok(if rows.is_empty() { Resolved::Changed } else { Resolved::Done })
}

fn effect(row: &Row) -> Result<Effect, StoreError> {
    let read = || {
        Some(Effect {
            key: EffectKey(row.digest(0)?),
            call: row.text(1)?.parse().ok()?,
            state: State::parse(row.text(2)?)?.as_str(),
            tool: row.text(3)?.to_owned(),
            contract: row.digest(4)?,
            tenant: row.text(5).map(str::to_owned),
            principal: row.text(6)?.to_owned(),
            resolution: row.text(7).map(str::to_owned),
            claimed_us: row.integer(8)?,
            resolved_by: row.text(9).map(str::to_owned),
            reason: row.text(10).map(str::to_owned),
        })
    };
    read().ok_or_else(|| {
        StoreError::refused("a row of the ledger is damaged", "keep the store, and restore a copy")
    })
}
