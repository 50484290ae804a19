//! Evidence: one record for each call that was admitted, however it ended.
//!
//! A record never holds an argument, a result or a secret.

use std::time::Duration;

use crate::contract::digest::{ContractDigest, InputDigest};
use crate::principal::Principal;
use crate::receipt::{CallId, EffectStatus};
use crate::refusal::Code;

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

/// Takes the record of each call.
pub trait Audit: Send + Sync {
    /// Writes one record. Called once for each reserved call, also when its caller is gone, so it must
    /// not wait.
    fn record(&self, record: &Record<'_>);
}

/// Writes records to the log, for servers without a store for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogAudit;

impl Audit for LogAudit {
    fn record(&self, record: &Record<'_>) {
        tracing::info!(
            target: "callgate::audit",
            call = %record.call,
            principal = %record.principal.subject,
            tenant = record.principal.tenant.as_deref().unwrap_or(""),
            tool = record.tool,
            contract = %record.contract,
            input = %record.input,
            outcome = record.code.map_or("answered", Code::as_str),
            detail = record.detail.unwrap_or(""),
            effect = record.effect.as_str(),
            latency_us = u64::try_from(record.latency.as_micros()).unwrap_or(u64::MAX),
            "call"
        );
    }
}
