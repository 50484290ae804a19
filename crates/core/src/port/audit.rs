//! Evidence: one record for each call, however it ended.
//!
//! A record never holds an argument, a result or a secret.

use std::time::Duration;

use crate::contract::digest::{ContractDigest, InputDigest};
use crate::port::Transport;
use crate::principal::Principal;
use crate::receipt::{CallId, EffectStatus};
use crate::refusal::{Code, Party};

/// What is known of one call at its end.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The id that the caller's receipt quotes.
    pub call: CallId,
    /// Who called.
    pub principal: &'a Principal,
    /// Which tool.
    pub tool: &'a str,
    /// Which definition of it.
    pub contract: ContractDigest,
    /// Which arguments, by digest.
    pub input: InputDigest,
    /// Why the call was refused or failed; nothing when it was answered.
    pub code: Option<Code>,
    /// What the operator may know of the reason.
    pub detail: Option<&'a str>,
    /// What happened in the world.
    pub effect: EffectStatus,
    /// How long it took.
    pub latency: Duration,
}

impl<'a> Record<'a> {
    /// A record of a call that was answered, to be completed by its fields.
    #[must_use]
    pub fn new(
        call: CallId,
        principal: &'a Principal,
        tool: &'a str,
        contract: ContractDigest,
        input: InputDigest,
    ) -> Self {
        Self {
            call,
            principal,
            tool,
            contract,
            input,
            code: None,
            detail: None,
            effect: EffectStatus::None,
            latency: Duration::ZERO,
        }
    }
}

/// A call that was refused before it was admitted to the tool: there is no receipt, and who called may not
/// be known.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RefusedCall<'a> {
    /// The name that was asked for; anything a client may send.
    pub requested: &'a str,
    /// How the request came in.
    pub transport: Transport,
    /// Why it was refused.
    pub code: Code,
    /// What the operator may know of the reason.
    pub detail: Option<&'a str>,
}

/// Takes the record of each call.
pub trait Audit: Send + Sync {
    /// Writes one record. Called once for each reserved call, also when its caller is gone, so it must
    /// not wait.
    fn record(&self, record: &Record<'_>);

    /// Writes that a call was refused before anything was reserved. It must not wait.
    fn refused(&self, refused: &RefusedCall<'_>);
}

/// Writes records to the log, for servers without a store for them: calls as information, faults that the
/// operator has to mend as warnings.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogAudit;

/// The log target of records.
const TARGET: &str = "callgate::audit";

/// The longest requested name that is written, in characters.
const REQUESTED_MAX: usize = 128;

impl Audit for LogAudit {
    fn record(&self, record: &Record<'_>) {
        let latency = u64::try_from(record.latency.as_micros()).unwrap_or(u64::MAX);
        let tenant = record.principal.tenant.as_deref().unwrap_or("");
        // The level is part of a log statement's place, so there is one statement for each.
        macro_rules! write {
            ($level:ident) => {
                tracing::$level!(
                    target: TARGET,
                    call = %record.call,
                    principal = %record.principal.subject,
                    tenant,
                    tool = record.tool,
                    contract = %record.contract,
                    input = %record.input,
                    outcome = record.code.map_or("answered", Code::as_str),
                    detail = record.detail.unwrap_or(""),
                    effect = record.effect.as_str(),
                    latency_us = latency,
                    "call"
                )
            };
        }
        match record.code.map(Code::party) {
            None | Some(Party::Caller | Party::Policy) => write!(info),
            Some(Party::Tool | Party::Upstream | Party::Us) => write!(warn),
        }
    }

    fn refused(&self, refused: &RefusedCall<'_>) {
        let requested: String = refused.requested.chars().take(REQUESTED_MAX).collect();
        tracing::info!(
            target: TARGET,
            requested = ?requested,
            transport = ?refused.transport,
            outcome = refused.code.as_str(),
            detail = refused.detail.unwrap_or(""),
            "refused"
        );
    }
}
