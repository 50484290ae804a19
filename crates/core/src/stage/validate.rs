//! Step 4: whether the request fits the contract: mirrored headers, arguments, sealed state.
//!
//! It must never change an argument; what was judged is what the tool gets.

use callgate_protocol::header;
use callgate_protocol::json::{Kind, Value};

use super::resolve::Resolved;
use crate::call::{Call, Header};
use crate::contract::digest::InputDigest;
use crate::contract::schema::{OverBudget, Verdict};
use crate::contract::{Contract, MirroredParameter};
use crate::port::Clock;
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
    state: Option<Vec<u8>>,
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

    pub(in crate::stage) fn responses(&self) -> Option<Value<'r>> {
        self.0.responses
    }

    pub(in crate::stage) fn state(&self) -> Option<&[u8]> {
        self.0.state.as_deref()
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
    let input = input_digest(contract, resolved.principal(), call.arguments);
    let state = match call.request_state {
        None => None,
        Some(sealed) => {
            let binding = state_binding(resolved.principal(), contract, input);
            let opened = snapshot.keys.open(&binding, sealed, clock);
            Some(opened.map_err(|_| {
                Refusal::new(Code::InvalidState, "requestState is not valid for this request")
            })?)
        }
    };
    let parts = Parts { arguments: call.arguments, input, responses: call.input_responses, state, resolved };
    Ok(Validated(Box::new(parts)))
}

/// What the state of a tool is bound to.
pub(in crate::stage) fn state_binding<'b>(
    principal: &'b Principal,
    contract: &'b Contract,
    input: InputDigest,
) -> Binding<'b> {
    Binding {
        purpose: "state",
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

fn input_digest(contract: &Contract, principal: &Principal, arguments: Value<'_>) -> InputDigest {
    // What all calls of the tool have in common was hashed when the contract was made.
    let mut builder = contract.input_prefix.clone();
    builder.field("p", &principal.subject);
    if let Some(tenant) = &principal.tenant {
        builder.field("t", tenant);
    }
    builder.json("a", arguments);
    InputDigest(builder.finish())
}
