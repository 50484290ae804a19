//! Every bound of the gate in one place.
//!
//! A bound that is not named here does not exist; transports and sources have their own `Limits`
//! beside them. Registration, the pipeline and the configuration read it.

use std::time::Duration;

use callgate_protocol::json;

use crate::contract::schema::SchemaLimits;
use crate::rate::Allowance;

/// Bounds that hold for every call, whatever the transport.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bounds on one message. Default: [`json::Limits::DEFAULT`].
    pub message: json::Limits,
    /// Bounds on compiling and evaluating schemas. Default: [`SchemaLimits::DEFAULT`].
    pub schema: SchemaLimits,
    /// What one principal may use: calls in flight and their rate. Default: 256 in flight, a quarter of the
    /// process, so that one cannot use it up; no rate, because nobody knows what is too much but the operator.
    pub principal: Allowance,
    /// What all principals of one tenant may use together. Default: no bound.
    pub tenant: Allowance,
    /// Principals, tenants and tools, each counted on its own, that have something in use at one time. Default:
    /// 65,536, some 8 MiB; new ones beyond it are refused as busy.
    pub keys: usize,
    /// Calls in flight in the whole process. Default: 1,024; beyond it a call is refused as busy.
    pub calls_in_flight: usize,
    /// How long one call may run when its contract says nothing. Default: 30 seconds.
    pub call_timeout: Duration,
    /// The longest time a contract may ask for. Default: 10 minutes.
    pub call_timeout_max: Duration,
    /// How long a port of the gate may take to answer: who calls, what the policy says, whether there is an
    /// approval, a row in the ledger, a record in the trail. Default: 10 seconds.
    pub port_timeout: Duration,
    /// The largest result, in bytes of JSON text. Default: 1 MiB, more than a model can use.
    pub output_bytes: usize,
    /// Failing pointers shown in one answer. Default: 32; the answer says when there were more.
    pub violations_shown: usize,
    /// The longest description of a tool, in bytes. Default: 8,192.
    pub description_bytes: usize,
    /// Questions that one call may put to the client in one round. Default: 16.
    pub questions: usize,
    /// The largest state that a tool may seal between rounds, in bytes. Default: 16 KiB.
    pub state_bytes: usize,
    /// How long sealed state stays valid. Default: 10 minutes.
    pub state_lifetime: Duration,
    /// The longest idempotency key, in bytes. Default: 256.
    pub idempotency_key_bytes: usize,
    /// The longest time for which a contract may ask that repeated calls are recognised. Default: 366 days.
    pub key_retention_max: Duration,
    /// Handles that are kept at one time. Default: 100,000; more are refused, none is pushed out.
    pub handles: usize,
    /// Handles of one principal. Default: 1,000.
    pub handles_of_principal: usize,
    /// What a handle may stand for, in bytes. Default: 4 KiB; a handle names something and does not hold it.
    pub handle_bytes: usize,
    /// The longest life of a handle. Default: 24 hours.
    pub handle_lifetime: Duration,
    /// Used states that are remembered at one time, each as long as it could still be sent again. Default:
    /// 100,000; where no more can be remembered, none is taken.
    pub spent: usize,
    /// Used states of one principal. Default: 10,000.
    pub spent_of_principal: usize,
    /// The largest artifact, in bytes. Default: 16 MiB.
    pub artifact_bytes: u64,
    /// Artifacts of one principal. Default: 1,000.
    pub artifacts_of_principal: usize,
    /// Bytes of all artifacts of one principal. Default: 64 MiB; more are refused, none is pushed out.
    pub artifact_bytes_of_principal: u64,
    /// Bytes of all artifacts. Default: 256 MiB, which without a store are memory of the process.
    pub artifact_bytes_total: u64,
    /// How long an artifact can be read. Default: 24 hours.
    pub artifact_lifetime: Duration,
    /// Bytes of an artifact in one answer. Default: 256 KiB; the answer says where the next part is.
    pub artifact_part_bytes: usize,
    /// How long an approval that people decide waits, and how long a granted one can be used. Default: 1 hour.
    pub approval_lifetime: Duration,
    /// Approvals that wait, or stand granted or denied, at one time. Default: 1,000; more are refused, none is
    /// pushed out.
    pub approvals: usize,
    /// Those of one principal. Default: 20, more than a person reads.
    pub approvals_of_principal: usize,
    /// The longest question that a caller is asked in its call, in bytes. Default: 4 KiB; a longer one goes to
    /// people, who can scroll.
    pub approval_question_bytes: usize,
    /// The longest text that people are shown of a call that waits. Default: 64 KiB; a longer one is refused,
    /// never cut.
    pub approval_text_bytes: usize,
    /// Masked fields of one tool. Default: 64.
    pub masked_fields: usize,
    /// Last characters of a masked field that may stay visible. Default: 8; more would be the field.
    pub masked_tail: usize,
    /// Tools in one catalogue. Default: 10,000.
    pub tools: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: json::Limits::DEFAULT,
            schema: SchemaLimits::DEFAULT,
            principal: Allowance::unbounded().with_concurrency(256),
            tenant: Allowance::unbounded(),
            keys: 65_536,
            calls_in_flight: 1024,
            call_timeout: Duration::from_secs(30),
            call_timeout_max: Duration::from_secs(600),
            port_timeout: Duration::from_secs(10),
            output_bytes: 1 << 20,
            violations_shown: 32,
            description_bytes: 8192,
            questions: 16,
            state_bytes: 16 << 10,
            state_lifetime: Duration::from_secs(600),
            idempotency_key_bytes: 256,
            key_retention_max: Duration::from_secs(366 * 24 * 60 * 60),
            handles: 100_000,
            handles_of_principal: 1000,
            handle_bytes: 4 << 10,
            handle_lifetime: Duration::from_secs(86_400),
            spent: 100_000,
            spent_of_principal: 10_000,
            artifact_bytes: 16 << 20,
            artifacts_of_principal: 1000,
            artifact_bytes_of_principal: 64 << 20,
            artifact_bytes_total: 256 << 20,
            artifact_lifetime: Duration::from_secs(86_400),
            artifact_part_bytes: 256 << 10,
            approval_lifetime: Duration::from_secs(3600),
            approvals: 1000,
            approvals_of_principal: 20,
            approval_question_bytes: 4 << 10,
            approval_text_bytes: 64 << 10,
            masked_fields: 64,
            masked_tail: 8,
            tools: 10_000,
        }
    }
}
