//! Records as log lines, for servers without a store for them.
//!
//! It must never refuse: the log is not a trail, and says so in the manual.

use super::{Audit, Record};
use crate::contract::Contract;
use crate::port::{Answer, Decision};
use crate::refusal::{Code, Party, Refusal};

/// Writes records to the log: calls as information, faults that the operator has to mend as warnings.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogAudit;

/// The log target of records.
const TARGET: &str = "callgate::audit";

/// The longest requested name that is written, in characters.
const REQUESTED_MAX: usize = 128;

impl Audit for LogAudit {
    fn ready(&self, _contract: &Contract) -> Result<(), Refusal> {
        Ok(())
    }

    fn record<'a>(&'a self, record: &Record<'_>) -> Answer<'a, Result<(), Refusal>> {
        // The level is part of a log statement's place, so there is one statement for each. What is written in
        // it is made only where somebody reads the log.
        macro_rules! write {
            ($level:ident) => {
                tracing::$level!(
                    target: TARGET,
                    call = %record.call,
                    transport = ?record.transport,
                    principal = record.principal.map_or("", |principal| &principal.subject),
                    tenant = record.principal.and_then(|principal| principal.tenant.as_deref()).unwrap_or(""),
                    tool = ?tool(record),
                    contract = record.contract.map(|contract| contract.digest().to_string()).unwrap_or_default(),
                    input = record.input.map(|input| input.to_string()).unwrap_or_default(),
                    decision = record.decision.map_or("", Decision::as_str),
                    result = record.result.as_str(),
                    outcome = record.code.map_or("answered", Code::as_str),
                    detail = record.detail.unwrap_or(""),
                    effect = record.effect.as_str(),
                    latency_us = u64::try_from(record.latency.as_micros()).unwrap_or(u64::MAX),
                    "call"
                )
            };
        }
        match record.code.map(Code::party) {
            None | Some(Party::Caller | Party::Policy) => write!(info),
            Some(Party::Tool | Party::Upstream | Party::Us) => write!(warn),
        }
        Answer::now(Ok(()))
    }
}

/// The name of the tool. One that nobody resolved is whatever a client sent.
fn tool(record: &Record<'_>) -> String {
    match record.contract {
        Some(contract) => contract.name().to_string(),
        None => record.requested.chars().take(REQUESTED_MAX).collect(),
    }
}
