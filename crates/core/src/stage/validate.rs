//! Step 4: whether the request fits the contract: mirrored headers, arguments, sealed state.
//!
//! It must never change an argument; what was judged is what the tool gets.

use callgate_protocol::header;
use callgate_protocol::json::{Kind, Value};

use super::resolve::Resolved;
use super::round::Carried;
use crate::call::{Call, Header};
use crate::contract::digest::{Digest, DigestBuilder, InputDigest};
use crate::contract::schema::{OverBudget, Verdict};
use crate::contract::{Contract, IDEMPOTENCY_KEY, KeyScope, KeySource, MirroredParameter};
use crate::port::{Clock, EffectKey, Timestamp};
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};
use crate::seal::Binding;
use crate::snapshot::Snapshot;

/// Evidence: the arguments fit the input schema, and the sealed state is ours.
///
/// Boxed, because every later step moves it into its own evidence.
#[derive(Debug)]
#[must_use]
pub struct Validated<'r>(Box<Parts<'r>>);

#[derive(Debug)]
struct Parts<'r> {
    resolved: Resolved,
    arguments: Value<'r>,
    input: InputDigest,
    responses: Option<Value<'r>>,
    state: Option<OpenState>,
    intention: Option<Intention>,
}

/// A state that was opened.
#[derive(Debug)]
struct OpenState {
    carried: Carried,
    /// The one text that opens to it.
    text: Digest,
    expires: Timestamp,
}

impl<'r> Validated<'r> {
    pub(crate) fn resolved(&self) -> &Resolved {
        &self.0.resolved
    }

    pub(crate) fn arguments(&self) -> Value<'r> {
        self.0.arguments
    }

    pub(crate) fn input(&self) -> InputDigest {
        self.0.input
    }

    /// Which intention the call carries out, where its tool changes something.
    pub(in crate::stage) fn effect_key(&self) -> Option<EffectKey> {
        self.0.intention.map(|intention| intention.key)
    }

    /// What is compared between calls of one intention.
    pub(in crate::stage) fn compared(&self) -> Option<InputDigest> {
        self.0.intention.map(|intention| intention.input)
    }

    pub(in crate::stage) fn responses(&self) -> Option<Value<'r>> {
        self.0.responses
    }

    /// What the round before left, of an approval and of the tool.
    pub(in crate::stage) fn carried(&self) -> Option<&Carried> {
        self.0.state.as_ref().map(|state| &state.carried)
    }

    pub(in crate::stage) fn state(&self) -> Option<&[u8]> {
        self.carried().and_then(Carried::state)
    }

    /// What names the state of this call among all others, and when it could not be used any more.
    pub(in crate::stage) fn state_use(&self) -> Option<(Digest, Timestamp)> {
        self.0.state.as_ref().map(|state| (state.text, state.expires))
    }
}

/// Checks the request against the contract.
pub fn validate<'r>(
    snapshot: &Snapshot,
    resolved: Resolved,
    call: &Call<'r>,
    clock: &dyn Clock,
) -> Result<Validated<'r>, Refusal> {
    let contract = resolved.contract();
    if call.arguments.kind() != Kind::Object {
        return Err(Refusal::new(Code::MalformedCall, "arguments must be an object"));
    }
    if let Some(responses) = call.input_responses
        && responses.kind() != Kind::Object
    {
        return Err(Refusal::new(Code::MalformedCall, "inputResponses must be an object"));
    }
    if let Some(headers) = call.headers {
        for parameter in &contract.mirrored {
            check_mirrored(parameter, headers.header(&parameter.header), call.arguments)?;
        }
    }
    check_arguments(contract, call.arguments)?;
    let principal = resolved.principal();
    let input = input_digest(contract, Some(&principal.subject), principal.tenant.as_deref(), call.arguments);
    let state = match call.request_state {
        None => None,
        Some(sealed) => {
            let binding = state_binding(resolved.principal(), contract, input);
            let opened = snapshot.keys.open_until(&binding, sealed, clock);
            let (payload, expires) = opened.map_err(|_| invalid_state())?;
            let carried = Carried::decode(&payload).ok_or_else(invalid_state)?;
            Some(OpenState { carried, text: Digest::of_bytes(sealed.as_bytes()), expires })
        }
    };
    let intention = intention(snapshot, &resolved, call, input)?;
    let (arguments, responses) = (call.arguments, call.input_responses);
    let parts = Parts { arguments, input, responses, state, intention, resolved };
    Ok(Validated(Box::new(parts)))
}

/// The one refusal of every state that is not good here.
pub(in crate::stage) fn invalid_state() -> Refusal {
    Refusal::new(Code::InvalidState, "requestState is not valid for this request")
}

/// The name of what the caller wants done, and what it consists of.
#[derive(Clone, Copy, Debug)]
struct Intention {
    key: EffectKey,
    input: InputDigest,
}

/// Makes the key under which the ledger knows the call. Equal keys of two tools, tenants or, where keys are not
/// shared, principals are two keys.
fn intention(
    snapshot: &Snapshot,
    resolved: &Resolved,
    call: &Call<'_>,
    input: InputDigest,
) -> Result<Option<Intention>, Refusal> {
    let (contract, principal) = (resolved.contract(), resolved.principal());
    let Some(idempotency) = &contract.idempotency else { return Ok(None) };
    // Whoever shares keys shares intentions: then it does not matter who of them calls.
    let (input, owner) = match idempotency.scope {
        KeyScope::Principal => (input, Some(&*principal.subject)),
        KeyScope::Tenant => (input_digest(contract, None, principal.tenant.as_deref(), call.arguments), None),
    };
    let mut builder = DigestBuilder::new("callgate/key/1");
    builder.field("tool", contract.name.as_str());
    if let Some(tenant) = &principal.tenant {
        builder.field("t", tenant);
    }
    if let Some(owner) = owner {
        builder.field("p", owner);
    }
    match &idempotency.key {
        KeySource::Input => builder.field("input", &input.0.to_string()),
        KeySource::Argument(name) => {
            // The schema has been asked: it is a required string.
            let key = call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
            builder.field("argument", bounded(snapshot, &key)?)
        }
        KeySource::Request => {
            let missing = || {
                let message = "this tool needs a string in `_meta` under \"dev.callgate/idempotencyKey\"";
                Refusal::new(Code::IdempotencyKeyRequired, message)
            };
            let key = call.meta.and_then(|meta| meta.get(IDEMPOTENCY_KEY)).ok_or_else(missing)?;
            let key = key.as_str().ok_or_else(missing)?;
            builder.field("request", bounded(snapshot, &key)?)
        }
    };
    Ok(Some(Intention { key: EffectKey(builder.finish()), input }))
}

fn bounded<'k>(snapshot: &Snapshot, key: &'k str) -> Result<&'k str, Refusal> {
    let longest = snapshot.limits.idempotency_key_bytes;
    if key.is_empty() || key.len() > longest {
        let message = format!("an idempotency key is a string of 1 to {longest} bytes");
        return Err(Refusal::new(Code::IdempotencyKeyRequired, message));
    }
    Ok(key)
}

/// What the state of a tool is bound to.
pub(in crate::stage) fn state_binding<'b>(
    principal: &'b Principal,
    contract: &'b Contract,
    input: InputDigest,
) -> Binding<'b> {
    Binding {
        purpose: "round",
        principal,
        subject: contract.name.as_str(),
        contract: Some(contract.digest),
        input: Some(input.0),
    }
}

/// "Servers … MUST validate that encoded header values … match the corresponding values in the request
/// body" and answer a mismatch with HeaderMismatch:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers>
fn check_mirrored(
    parameter: &MirroredParameter,
    found: Header<'_>,
    arguments: Value<'_>,
) -> Result<(), Refusal> {
    let body = arguments.path(parameter.path.iter().map(String::as_str)).filter(|value| !value.is_null());
    let agrees = match (found, body) {
        (Header::Absent, None) => true,
        (Header::One(bytes), Some(value)) => {
            header::decode_value(bytes).is_ok_and(|decoded| header::matches(&decoded, value))
        }
        (Header::Absent, Some(_)) | (Header::One(_), None) | (Header::Several, _) => false,
    };
    if agrees {
        return Ok(());
    }
    let header = &parameter.header;
    Err(Refusal::new(Code::HeaderMismatch, format!("the header {header} and the body of the request differ")))
}

fn check_arguments(contract: &Contract, arguments: Value<'_>) -> Result<(), Refusal> {
    match contract.input.is_valid(arguments) {
        Ok(true) => Ok(()),
        // Only a failing call pays for the list of its faults.
        Ok(false) => match contract.input.validate(arguments) {
            Verdict::Invalid(violations) => {
                Err(Refusal::new(Code::InvalidArguments, "the arguments do not fit the input schema")
                    .with_violations(violations.list, violations.truncated))
            }
            Verdict::OverBudget => Err(too_costly()),
            Verdict::Valid => Err(Refusal::new(Code::Internal, "the arguments could not be checked")
                .with_detail("two evaluations of one schema disagree")),
        },
        Err(OverBudget) => Err(too_costly()),
    }
}

fn too_costly() -> Refusal {
    Refusal::new(Code::ArgumentsTooCostly, "checking the arguments takes more work than the limit allows")
}

fn input_digest(
    contract: &Contract,
    subject: Option<&str>,
    tenant: Option<&str>,
    arguments: Value<'_>,
) -> InputDigest {
    // What all calls of the tool have in common was hashed when the contract was made.
    let mut builder = contract.input_prefix.clone();
    for (name, part) in [("p", subject), ("t", tenant)] {
        if let Some(part) = part {
            builder.field(name, part);
        }
    }
    builder.json("a", arguments);
    InputDigest(builder.finish())
}
