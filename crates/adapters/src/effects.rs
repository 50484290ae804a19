//! The table of keys that stands beside the data of a source, so that an effect and its key commit together.
//!
//! A row with the key of an effect is there exactly when the effect is; a row of a call that was given up refuses that
//! call for ever. Nothing but `callgate migrate` makes the table. Both sources use it, each in its own dialect.

use callgate_core::contract::digest::InputDigest;
use callgate_core::port::{EffectKey, Fault, Known, WriteError, Written};
use callgate_core::receipt::CallId;

/// The name of the table; no statement of a tool may contain it.
pub(crate) const TABLE: &str = "callgate_effects";

/// A state of a row: the effect is there.
pub(crate) const COMMITTED: &str = "committed";

/// A state of a row: its call was given up.
pub(crate) const WITHDRAWN: &str = "withdrawn";

/// A statement that finds out whether the table is there and has its columns.
pub(crate) const LOOK: &str =
    "select key, call, input, state, changed, result, made_us from callgate_effects where 1 = 0";

/// How often a transaction is tried that was rolled back because of another one.
pub(crate) const TRIES: u32 = 5;

/// How long a list of statements waits before it is tried again, for the first time.
pub(crate) const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// A row as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) key: String,
    pub(crate) call: String,
    pub(crate) input: String,
    pub(crate) state: String,
    pub(crate) changed: i64,
    pub(crate) result: String,
}

impl Kept {
    fn written(&self, before: bool) -> Written {
        let changed = u64::try_from(self.changed).unwrap_or_default();
        Written { rows: self.result.clone(), changed, before }
    }
}

/// The primary key of a row that only refuses a call. No key of an effect has this form.
pub(crate) fn withdrawn_key(call: CallId) -> String {
    format!("{WITHDRAWN}:{call}")
}

/// What the rows with a key or call mean for a call that could not insert its own.
pub(crate) fn taken(
    rows: &[Kept],
    key: EffectKey,
    call: CallId,
    input: InputDigest,
) -> Result<Written, WriteError> {
    let (key, call, input) = (key.to_string(), call.to_string(), input.to_string());
    if rows.iter().any(|row| row.call == call && row.state == WITHDRAWN) {
        return Err(WriteError::Withdrawn);
    }
    match rows.iter().find(|row| row.key == key) {
        Some(row) if row.input == input => Ok(row.written(true)),
        _ => Err(WriteError::Conflict),
    }
}

/// What became of a call, by the row that has it; nothing when none has.
pub(crate) fn known(rows: &[Kept], call: CallId) -> Option<Known> {
    let call = call.to_string();
    let row = rows.iter().find(|row| row.call == call)?;
    Some(if row.state == COMMITTED { Known::Committed(row.written(true)) } else { Known::Withdrawn })
}

/// That a statement of a tool names the table, which would let it forge what was done.
pub(crate) fn touches(sql: &str) -> Option<Fault> {
    let start = sql.to_ascii_lowercase().find(TABLE)?;
    Some(Fault {
        code: "sql_table",
        message: format!("`{TABLE}` is not allowed: it says which effects are there"),
        remedy: "change tables of your own".to_owned(),
        at: Some(start..start + TABLE.len()),
    })
}

/// The statements that make the table.
pub(crate) fn tables(integer: &str, end: &str) -> [String; 1] {
    [format!(
        "create table {TABLE} (key text not null primary key, call text not null unique, input text not null, \
         state text not null check (state in ('{COMMITTED}', '{WITHDRAWN}')), changed {integer} not null, \
         result text not null, made_us {integer} not null){end}"
    )]
}

/// The time now, in microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
