//! The ledger: what is known of each effect, so that no call does one twice.
//!
//! A row stands for one intention: the tool, whose it is, and its idempotency key. The reserve step claims it
//! before anything is dispatched, the settle step says how it ended. A row of an owner that was lost is
//! unknown, never free; a ledger that is full refuses, it never forgets a row before its time. The states and
//! who may change them are in `docs/design/ledger.md`.

mod memory;

use std::time::Duration;

use callgate_protocol::json::{Document, Limits as JsonLimits, push_string};
use tokio::time::Instant;

pub use memory::{MemoryLedger, MemoryLedgerLimits};

use super::Answer;
use crate::contract::Contract;
use crate::contract::digest::{Digest, InputDigest};
use crate::principal::Principal;
use crate::receipt::CallId;
use crate::refusal::{Code, Refusal};

/// The name of one intention: a digest over tenant, tool, whose keys they are, and the idempotency key. It says
/// nothing about its parts, so it may be sent to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectKey(pub Digest);

impl std::fmt::Display for EffectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What a call asks of the ledger.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Claim<'a> {
    /// The call that asks.
    pub call: CallId,
    /// Which intention it is.
    pub key: EffectKey,
    /// What is compared between calls of one key: the arguments, and who calls where keys are not shared.
    pub input: InputDigest,
    /// Who calls.
    pub principal: &'a Principal,
    /// The tool.
    pub contract: &'a Contract,
    /// How long the row is kept, counted from now.
    pub retention: Duration,
    /// When the call is given up.
    pub deadline: Instant,
    /// Only a stored result is wanted. Where there is none, nothing may be claimed.
    pub replay_only: bool,
}

impl<'a> Claim<'a> {
    /// A claim of a call that may run its tool.
    #[must_use]
    pub const fn new(
        row: Row,
        input: InputDigest,
        principal: &'a Principal,
        contract: &'a Contract,
        retention: Duration,
        deadline: Instant,
    ) -> Self {
        let (call, key) = (row.call, row.key);
        Self { call, key, input, principal, contract, retention, deadline, replay_only: false }
    }
}

/// What the ledger says to a claim.
#[derive(Debug)]
#[must_use]
pub enum Reservation {
    /// The row is this call's: it runs the tool, and says how that ended.
    Owned,
    /// The effect is committed, or was compensated, by that call.
    Replayed(Replay),
    /// Another call owns the row and has not said how it ended.
    InFlight(CallId),
    /// Nobody knows whether the effect of that call happened.
    Unknown(CallId),
    /// The same key was used with other input, by that call.
    Conflict(CallId),
    /// Only a stored result was wanted, and there is none.
    Absent,
}

/// An effect that has happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replay {
    /// The call whose effect it was.
    pub call: CallId,
    /// The definition that was in force then.
    pub contract: Digest,
    /// True when the effect has been taken back since.
    pub compensated: bool,
    /// What the call gave, where it was kept.
    pub result: Option<StoredResult>,
}

impl Replay {
    /// The replay of a call.
    #[must_use]
    pub fn new(call: CallId, contract: Digest, compensated: bool, result: Option<StoredResult>) -> Self {
        Self { call, contract, compensated, result }
    }
}

/// A row as its owner names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Which intention it is.
    pub key: EffectKey,
    /// The call that owns it.
    pub call: CallId,
}

impl Row {
    /// The row of that intention, owned by that call.
    #[must_use]
    pub const fn new(key: EffectKey, call: CallId) -> Self {
        Self { key, call }
    }
}

/// How the run that owned a row ended.
#[derive(Clone, Copy, Debug)]
pub enum Ending<'a> {
    /// The effect happened. The result is kept for repeated calls, where it is not too large.
    Committed(Option<&'a StoredResult>),
    /// It is proven that nothing changed; the same key may be tried again.
    Failed,
    /// The tool asked its caller something and changed nothing; the row is given back.
    Released,
    /// Nobody knows.
    Unknown,
}

/// A checked result as the ledger keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredResult {
    /// Content blocks: one JSON array.
    pub content: Option<String>,
    /// The structured result: one JSON value.
    pub structured: Option<String>,
    /// More members for `_meta`: one JSON object.
    pub meta: Option<String>,
}

impl StoredResult {
    /// A result of its parts.
    #[must_use]
    pub fn new(content: Option<String>, structured: Option<String>, meta: Option<String>) -> Self {
        Self { content, structured, meta }
    }

    /// The length of its parts, which is what limits count.
    #[must_use]
    pub fn size(&self) -> usize {
        [&self.content, &self.structured, &self.meta].into_iter().flatten().map(String::len).sum()
    }

    /// One JSON object, as a store keeps it. Each part is kept as text, so that no digit changes.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(self.size() + 64);
        out.push('{');
        for (name, part) in
            [("content", &self.content), ("structured", &self.structured), ("meta", &self.meta)]
        {
            if let Some(part) = part {
                if out.len() > 1 {
                    out.push(',');
                }
                push_string(&mut out, name);
                out.push(':');
                push_string(&mut out, part);
            }
        }
        out.push('}');
        out
    }

    /// Reads what [`StoredResult::to_json`] wrote; nothing for any other text.
    #[must_use]
    pub fn from_json(text: &str, limits: &JsonLimits) -> Option<Self> {
        let document = Document::parse(text.to_owned(), limits).ok()?;
        let part = |name: &str| match document.root().get(name) {
            None => Some(None),
            Some(value) => value.as_str().map(|text| Some(text.into_owned())),
        };
        Some(Self { content: part("content")?, structured: part("structured")?, meta: part("meta")? })
    }
}

/// Keeps the rows.
pub trait Ledger: Send + Sync {
    /// Whether an effect of this tool could be recorded now. Asked before an approval is used up; it must not
    /// wait.
    ///
    /// # Errors
    /// [`Code::LedgerRequired`] where there is no ledger, [`Code::GateUnavailable`] where it cannot be reached.
    fn ready(&self, contract: &Contract) -> Result<(), Refusal>;

    /// Whether the effect of a claim is committed already, so that a repeated call needs no approval. It claims
    /// nothing.
    ///
    /// # Errors
    /// [`Code::GateUnavailable`] when the store did not answer.
    fn is_settled<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Result<bool, Refusal>>;

    /// Claims a row.
    ///
    /// A row that was claimed stays until its call settles or abandons it. When the answer is dropped before it was
    /// taken, nothing was dispatched: the implementation gives such a row back.
    ///
    /// # Errors
    /// [`Code::LedgerFull`] at a bound; [`Code::GateUnavailable`] when the store did not answer.
    fn reserve<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Result<Reservation, Refusal>>;

    /// Comes back when the row may have changed, at the latest after a time that the implementation chooses.
    fn changed(&self, key: EffectKey) -> Answer<'_, ()>;

    /// Says how the run that owns the row ended. It is handed over when the method is called; dropping the
    /// answer takes nothing back.
    ///
    /// # Errors
    /// [`Code::GateUnavailable`] when it could not be written. The implementation goes on trying to write it,
    /// and until then the row says that the call is in flight.
    fn settle<'a>(&'a self, row: Row, ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>>;

    /// Says what became of an effect that another call left unknown, as its backend shows it. It must not touch a row
    /// whose owner may still say so itself.
    ///
    /// # Errors
    /// [`Code::GateUnavailable`] when it could not be written.
    fn resolve<'a>(&'a self, row: Row, ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>>;

    /// Gives a row up whose call is gone: nobody knows how it ended. It must not wait.
    fn abandon(&self, row: Row);
}

/// No ledger is configured: reads pass, effects are refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLedger;

impl NoLedger {
    fn refusal() -> Refusal {
        Refusal::new(Code::LedgerRequired, "this tool changes something, and no ledger is configured")
    }
}

impl Ledger for NoLedger {
    fn ready(&self, contract: &Contract) -> Result<(), Refusal> {
        if contract.effect().changes_something() { Err(Self::refusal()) } else { Ok(()) }
    }

    fn is_settled<'a>(&'a self, _claim: Claim<'a>) -> Answer<'a, Result<bool, Refusal>> {
        Answer::now(Ok(false))
    }

    fn reserve<'a>(&'a self, _claim: Claim<'a>) -> Answer<'a, Result<Reservation, Refusal>> {
        Answer::now(Err(Self::refusal()))
    }

    fn changed(&self, _key: EffectKey) -> Answer<'_, ()> {
        Answer::now(())
    }

    fn settle<'a>(&'a self, _row: Row, _ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>> {
        Answer::now(Err(Self::refusal()))
    }

    fn resolve<'a>(&'a self, _row: Row, _ending: Ending<'_>) -> Answer<'a, Result<(), Refusal>> {
        Answer::now(Err(Self::refusal()))
    }

    fn abandon(&self, _row: Row) {}
}
