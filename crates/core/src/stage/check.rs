//! Step 9: whether the result may leave: masked fields, schema, size, hidden characters, questions.
//!
//! It must never repair a result, and never let one leave before its masked fields are. What does not fit the contract is replaced by a refusal that names
//! the place and not the value. An error that the tool reports is passed on as it is: the output schema
//! describes results, not failures.

use callgate_protocol::json::{Document, Limits as JsonLimits};

use super::execute::Executed;
use super::reserve::{Place, Reserved};
use super::round::Carried;
use super::validate::state_binding;
use crate::contract::mask::Masks;
use crate::contract::schema::{Schema, Verdict};
use crate::contract::{Contract, Delivery};
use crate::invocation::Noted;
use crate::outcome::{CheckedOutput, Outcome, Questions, ToolOutput};
use crate::port::{Clock, Entropy, Execution};
use crate::receipt::CallId;
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

pub(crate) mod hidden;

/// Evidence: what is in here may leave.
#[derive(Debug)]
#[must_use]
pub struct Checked<'r> {
    reserved: Reserved<'r>,
    outcome: Outcome,
    proof: Proof,
    /// The result is larger than its contract allows in a message.
    oversize: bool,
}

impl<'r> Checked<'r> {
    pub(in crate::stage) fn is_oversize(&self) -> bool {
        self.oversize
    }

    /// The evidence of the deliver step, which put a link in the place of the result.
    pub(in crate::stage) fn delivered(reserved: Reserved<'r>, outcome: Outcome, proof: Proof) -> Self {
        Self { reserved, outcome, proof, oversize: false }
    }

    pub(in crate::stage) fn into_parts(self) -> (Reserved<'r>, Outcome, Proof) {
        (self.reserved, self.outcome, self.proof)
    }
}

/// What the end of a run proves of its effect, where the tool has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stage) enum Proof {
    /// It happened.
    Committed,
    /// Nothing changed.
    Unchanged,
    /// Nothing changed yet: the tool asked its caller something.
    Asked,
    /// Nothing.
    None,
}

impl Proof {
    /// An error proves nothing unless whoever ran the tool says so: a lost answer is not a rollback.
    fn of(execution: &Execution) -> Self {
        match execution {
            Execution::Complete(output) if output.is_error && output.unchanged => Self::Unchanged,
            Execution::Complete(output) if output.is_error => Self::None,
            Execution::Complete(_) | Execution::Done(_) => Self::Committed,
            Execution::Asks => Self::Asked,
            Execution::NotDone(_) => Self::Unchanged,
            Execution::Failed(_) => Self::None,
        }
    }
}

/// Checks what the tool left.
pub fn check<'r>(
    snapshot: &Snapshot,
    executed: Executed<'r>,
    call: CallId,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Checked<'r> {
    let (reserved, execution, noted) = executed.into_parts();
    let contract = reserved.validated().resolved().contract();
    let mut proof = execution.as_ref().map_or(Proof::Committed, Proof::of);
    let mut oversize = false;
    let outcome = match execution {
        Some(Execution::Complete(output)) => {
            check_output(snapshot, contract, output).map(|(output, size)| {
                oversize = size > contract.output_bytes;
                Outcome::Complete(output)
            })
        }
        Some(Execution::Asks) => {
            questions(snapshot, &reserved, noted, call, clock, entropy).map(Outcome::InputRequired)
        }
        Some(Execution::Failed(refusal) | Execution::NotDone(refusal) | Execution::Done(refusal)) => {
            Err(refusal)
        }
        None => kept(snapshot, contract, reserved.place()).map(Outcome::Complete),
    };
    if proof == Proof::Asked && outcome.is_err() {
        proof = Proof::Unchanged;
    }
    Checked { outcome: outcome.unwrap_or_else(Outcome::Failed), reserved, proof, oversize }
}

/// The stored result of an earlier call. It was checked when it was stored, by the definition of that time.
fn kept(snapshot: &Snapshot, contract: &Contract, place: &Place<'_>) -> Result<CheckedOutput, Refusal> {
    let Place::Replayed(replay) = place else {
        return Err(Refusal::new(Code::Internal, "the tool did not run").with_detail("no row and no replay"));
    };
    let gone = |why: &'static str| {
        let message = format!("this was done by the call {}, whose result {why}", replay.call);
        Refusal::new(Code::ResultNotKept, message)
    };
    if replay.compensated {
        return Err(gone("was taken back afterwards"));
    }
    if replay.contract != contract.digest.0 {
        return Err(gone("was made by another definition of the tool"));
    }
    let result = replay.result.as_ref().ok_or_else(|| gone("is not kept"))?;
    let structured = result
        .structured
        .clone()
        .map(|text| Bounds::of(snapshot, contract, false).parse(text))
        .transpose()?;
    let hidden_text = has_hidden_text(result.content.as_deref(), structured.as_ref());
    let (content, meta) = (result.content.clone(), result.meta.clone());
    Ok(CheckedOutput { content, structured, is_error: false, meta, hidden_text })
}

fn has_hidden_text(content: Option<&str>, structured: Option<&Document>) -> bool {
    content.is_some_and(hidden::has_hidden_text)
        || structured.is_some_and(|document| hidden::has_hidden_text(document.text()))
}

/// The checked result and its size.
fn check_output(
    snapshot: &Snapshot,
    contract: &Contract,
    output: ToolOutput,
) -> Result<(CheckedOutput, usize), Refusal> {
    let bounds = Bounds::of(snapshot, contract, output.is_error);
    let content = output.content.as_deref().map_or(0, str::len);
    bounds.check(content + output.structured.as_deref().map_or(0, str::len))?;
    let mut structured = match output.structured {
        None => None,
        Some(text) => Some(bounds.parse(text)?),
    };
    if let Some(masks) = &contract.masks {
        // An error is judged by no schema, so nobody knows in which of its members such a field stands.
        let is_unknown = output.is_error && structured.is_some();
        if output.content.is_some() || output.meta.is_some() || is_unknown {
            return Err(Refusal::new(
                Code::OutputInvalid,
                "the tool masks fields of its result and gave parts in which they cannot be masked",
            ));
        }
        structured = structured.map(|document| bounds.mask(masks, document)).transpose()?;
    }
    if let (Some(schema), false) = (&contract.output, output.is_error) {
        check_schema(schema, structured.as_ref())?;
    }
    if output.content.is_none() && structured.is_none() && !output.is_error && contract.output.is_some() {
        return Err(Refusal::new(Code::OutputInvalid, "the tool gave no result"));
    }
    let hidden_text = has_hidden_text(output.content.as_deref(), structured.as_ref());
    let size = content + structured.as_ref().map_or(0, |document| document.text().len());
    let checked = CheckedOutput {
        content: output.content,
        structured,
        is_error: output.is_error,
        meta: output.meta,
        hidden_text,
    };
    Ok((checked, size))
}

/// How large a result may be: as a message, or where it may become a link, as an artifact.
struct Bounds {
    bytes: usize,
    json: JsonLimits,
}

impl Bounds {
    fn of(snapshot: &Snapshot, contract: &Contract, is_error: bool) -> Self {
        let (limits, message) = (&snapshot.limits, snapshot.limits.message);
        // A model must be able to read an error.
        if contract.delivery != Delivery::Overflow || is_error {
            return Self { bytes: contract.output_bytes, json: message };
        }
        let bytes = usize::try_from(limits.artifact_bytes).unwrap_or(usize::MAX).max(contract.output_bytes);
        let bytes_to_nodes = message.bytes.max(1) / message.nodes.max(1);
        let nodes = message.nodes.max(bytes / bytes_to_nodes.max(1));
        Self { bytes, json: message.with_bytes(bytes.max(message.bytes)).with_nodes(nodes) }
    }

    fn check(&self, size: usize) -> Result<(), Refusal> {
        if size <= self.bytes {
            return Ok(());
        }
        Err(Refusal::new(Code::OutputTooLarge, "the result is larger than the limit of this tool")
            .with_detail(format_args!("{size} bytes, at most {}", self.bytes)))
    }

    fn parse(&self, text: String) -> Result<Document, Refusal> {
        Document::parse(text, &self.json).map_err(|error| {
            Refusal::new(Code::OutputInvalid, "the tool gave a result that is not valid JSON")
                .with_detail(error)
        })
    }

    /// What leaves is parsed again, so that everything after this judges nothing else.
    fn mask(&self, masks: &Masks, document: Document) -> Result<Document, Refusal> {
        let masked = masks.apply(&document).map_err(|_unmaskable| {
            Refusal::new(Code::OutputInvalid, "the tool gave something other than a string in a masked field")
        })?;
        match masked {
            None => Ok(document),
            Some(text) => {
                self.check(text.len())?;
                self.parse(text)
            }
        }
    }
}

/// "Servers MUST provide structured results that conform to this schema":
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#output-schema>
fn check_schema(schema: &Schema, structured: Option<&Document>) -> Result<(), Refusal> {
    let Some(document) = structured else {
        return Err(Refusal::new(
            Code::OutputInvalid,
            "the tool gave no structured result, which its contract promises",
        ));
    };
    if schema.is_valid(document.root()) == Ok(true) {
        return Ok(());
    }
    match schema.validate(document.root()) {
        Verdict::Invalid(violations) => {
            Err(Refusal::new(Code::OutputInvalid, "the result of the tool does not fit its output schema")
                .with_violations(violations.list, violations.truncated))
        }
        Verdict::OverBudget | Verdict::Valid => Err(Refusal::new(
            Code::OutputInvalid,
            "checking the result takes more work than the limit allows",
        )),
    }
}

fn questions(
    snapshot: &Snapshot,
    reserved: &Reserved<'_>,
    noted: Noted,
    call: CallId,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<Questions, Refusal> {
    let limits = &snapshot.limits;
    if noted.questions.is_empty() && noted.state.is_none() {
        return Err(Refusal::new(Code::ToolFailed, "the tool ended without a result and without a question"));
    }
    if noted.state.as_ref().is_some_and(|state| state.len() > limits.state_bytes) {
        return Err(Refusal::new(Code::ToolFailed, "the tool kept more state than the limit allows"));
    }
    // What was approved once stays approved for the rest of the call.
    let ticket = reserved.ticket(call, snapshot.policy_revision);
    let carried = match (ticket, noted.state) {
        (Some(ticket), state) => Some(Carried::Approved(ticket, state)),
        (None, Some(state)) => Some(Carried::Plain(state)),
        (None, None) => None,
    };
    let state = match carried {
        None => None,
        Some(carried) => {
            let validated = reserved.validated();
            let resolved = validated.resolved();
            let binding = state_binding(resolved.principal(), resolved.contract(), validated.input());
            let sealed =
                snapshot.keys.seal(&binding, &carried.encode(), limits.state_lifetime, clock, entropy);
            Some(sealed.map_err(|error| {
                Refusal::new(Code::Internal, "the state of the call could not be sealed").with_detail(error)
            })?)
        }
    };
    Ok(Questions { requests: noted.questions, state })
}
