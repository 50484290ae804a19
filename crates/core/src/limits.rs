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
            masked_fields: 64,
            masked_tail: 8,
            tools: 10_000,
        }
    }
}
