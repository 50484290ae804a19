//! Step 9: whether the result may leave: masked fields, schema, size, hidden characters, questions.
//!
//! It must never repair a result, and never let one leave before its masked fields are. What does not fit the contract is replaced by a refusal that names
//! the place and not the value. An error that the tool reports is passed on as it is: the output schema
//! describes results, not failures.

use callgate_protocol::json::Document;

use super::execute::Executed;
use super::reserve::Reserved;
use super::validate::state_binding;
use crate::contract::Contract;
use crate::contract::mask::Masks;
use crate::contract::schema::{Schema, Verdict};
use crate::invocation::Noted;
use crate::outcome::{CheckedOutput, Outcome, Questions, ToolOutput};
use crate::port::{Clock, Entropy, Execution};
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

pub(crate) mod hidden;

/// Evidence: what is in here may leave.
#[derive(Debug)]
#[must_use]
pub struct Checked<'r> {
    reserved: Reserved<'r>,
    outcome: Outcome,
}

impl<'r> Checked<'r> {
    pub(in crate::stage) fn into_parts(self) -> (Reserved<'r>, Outcome) {
        (self.reserved, self.outcome)
    }
}

/// Checks what the tool left.
pub fn check<'r>(
    snapshot: &Snapshot,
    executed: Executed<'r>,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Checked<'r> {
    let (reserved, execution, noted) = executed.into_parts();
    let contract = reserved.validated().resolved().contract();
    let outcome = match execution {
        Execution::Complete(output) => check_output(snapshot, contract, output).map(Outcome::Complete),
        Execution::Asks => questions(snapshot, &reserved, noted, clock, entropy).map(Outcome::InputRequired),
        Execution::Failed(refusal) => Err(refusal),
    };
    Checked { outcome: outcome.unwrap_or_else(Outcome::Failed), reserved }
}

fn check_output(
    snapshot: &Snapshot,
    contract: &Contract,
    output: ToolOutput,
) -> Result<CheckedOutput, Refusal> {
    let size =
        output.content.as_deref().map_or(0, str::len) + output.structured.as_deref().map_or(0, str::len);
    if size > contract.output_bytes {
        return Err(too_large(size, contract));
    }
    let mut structured = match output.structured {
        None => None,
        Some(text) => Some(parse(snapshot, text)?),
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
        structured = structured.map(|document| mask(snapshot, contract, masks, document)).transpose()?;
    }
    if let (Some(schema), false) = (&contract.output, output.is_error) {
        check_schema(schema, structured.as_ref())?;
    }
    if output.content.is_none() && structured.is_none() && !output.is_error && contract.output.is_some() {
        return Err(Refusal::new(Code::OutputInvalid, "the tool gave no result"));
    }
    let hidden_text = output.content.as_deref().is_some_and(hidden::has_hidden_text)
        || structured.as_ref().is_some_and(|document| hidden::has_hidden_text(document.text()));
    Ok(CheckedOutput {
        content: output.content,
        structured,
        is_error: output.is_error,
        meta: output.meta,
        hidden_text,
    })
}

fn parse(snapshot: &Snapshot, text: String) -> Result<Document, Refusal> {
    Document::parse(text, &snapshot.limits.message).map_err(|error| {
        Refusal::new(Code::OutputInvalid, "the tool gave a result that is not valid JSON").with_detail(error)
    })
}

/// What leaves is parsed again, so that everything after this judges nothing else.
fn mask(
    snapshot: &Snapshot,
    contract: &Contract,
    masks: &Masks,
    document: Document,
) -> Result<Document, Refusal> {
    let masked = masks.apply(&document).map_err(|_unmaskable| {
        Refusal::new(Code::OutputInvalid, "the tool gave something other than a string in a masked field")
    })?;
    match masked {
        None => Ok(document),
        Some(text) if text.len() > contract.output_bytes => Err(too_large(text.len(), contract)),
        Some(text) => parse(snapshot, text),
    }
}

fn too_large(size: usize, contract: &Contract) -> Refusal {
    Refusal::new(Code::OutputTooLarge, "the result is larger than the limit of this tool")
        .with_detail(format_args!("{size} bytes, at most {}", contract.output_bytes))
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
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<Questions, Refusal> {
    let limits = &snapshot.limits;
    if noted.questions.is_empty() && noted.state.is_none() {
        return Err(Refusal::new(Code::ToolFailed, "the tool ended without a result and without a question"));
    }
    let state = match noted.state {
        None => None,
        Some(state) if state.len() > limits.state_bytes => {
            return Err(Refusal::new(Code::ToolFailed, "the tool kept more state than the limit allows"));
        }
        Some(state) => {
            let validated = reserved.validated();
            let resolved = validated.resolved();
            let binding = state_binding(resolved.principal(), resolved.contract(), validated.input());
            let sealed = snapshot.keys.seal(&binding, &state, limits.state_lifetime, clock, entropy);
            Some(sealed.map_err(|error| {
                Refusal::new(Code::Internal, "the state of the call could not be sealed").with_detail(error)
            })?)
        }
    };
    Ok(Questions { requests: noted.questions, state })
}
