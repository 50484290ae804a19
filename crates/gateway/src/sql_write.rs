//! A tool that is a list of SQL statements: arguments in, one transaction, what it changed out.
//!
//! The source keeps the key of the effect in the same transaction, so what it says is proven. Only a lost answer to
//! the commit proves nothing; then the source is asked once more what became of the call, and keeps the call from
//! coming through late. Neither SQL nor a stored value gets into what a caller reads of a failure. The pipeline calls it.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::invocation::Invocation;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{
    Answer, Execute, Execution, Known, StoredResult, Unresolved, Verdict, Write, WriteError, WriteSource,
    WriteStep, Written,
};
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::push_string;
use tokio::time::Instant;

use crate::sql_tool::{refusal, values};

/// The most time that is kept for asking what became of a commit.
const RESERVE: Duration = Duration::from_secs(1);

/// What a tool does, as settled at load.
pub(crate) struct Plan {
    pub(crate) steps: Arc<[WriteStep]>,
    pub(crate) parameters: Vec<String>,
    /// The statements that compare the version that the caller has seen.
    pub(crate) compared: Vec<usize>,
    pub(crate) result: Form,
    /// Whether fields are masked: a result that a later call finds is then not told past the masks.
    pub(crate) masks: bool,
    pub(crate) max_bytes: usize,
}

/// What the result is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// How many rows were changed.
    Count,
    /// The one row.
    Row,
    /// The rows under a name.
    Rows(String),
}

/// A tool that is a list of statements.
pub(crate) struct SqlWrite {
    plan: Plan,
    source: Arc<dyn WriteSource>,
}

impl SqlWrite {
    pub(crate) fn new(plan: Plan, source: Arc<dyn WriteSource>) -> Self {
        Self { plan, source }
    }

    async fn run(&self, invocation: &Invocation<'_>) -> Execution {
        let values = match values(&self.plan.parameters, invocation) {
            Ok(values) => values,
            Err(refusal) => return Execution::NotDone(refusal),
        };
        let Some(key) = invocation.effect_key() else {
            let refusal = Refusal::new(Code::LedgerRequired, "the call has no place in a ledger");
            return Execution::NotDone(refusal);
        };
        let (call, end) = (invocation.call(), invocation.deadline());
        let left = end.saturating_duration_since(Instant::now());
        let write = Write {
            steps: Arc::clone(&self.plan.steps),
            values,
            key,
            call,
            input: invocation.input(),
            max_bytes: self.plan.max_bytes,
            deadline: end.checked_sub(RESERVE.min(left / 4)).unwrap_or(end),
        };
        let error = match self.source.write(write).await {
            Ok(written) => return Execution::Complete(ToolOutput::structured(self.result(&written))),
            Err(error) => error,
        };
        if error.proves_nothing_done() {
            return self.refused(error);
        }
        tracing::warn!(%call, %error, "asking the source what became of a commit");
        match self.source.settle(key, call, end).await {
            Ok(Known::Committed(written)) => {
                Execution::Complete(ToolOutput::structured(self.result(&written)))
            }
            Ok(Known::Withdrawn) => Execution::NotDone(
                Refusal::new(
                    Code::SourceUnavailable,
                    "the data source lost the transaction, and nothing was changed",
                )
                .with_detail(error.to_string()),
            ),
            Err(second) => Execution::Failed(
                Refusal::new(Code::SourceUnavailable, "the data source did not answer the commit")
                    .with_detail(format!("{error}; then {second}")),
            ),
        }
    }

    /// What a caller may know of what was rolled back; the rest goes to the log.
    fn refused(&self, error: WriteError) -> Execution {
        let detail = error.to_string();
        let refusal = match error {
            WriteError::Query(error) => return Execution::NotDone(refusal(error)),
            WriteError::Rows { statement, rows, min, .. } if rows < min => {
                if self.plan.compared.contains(&statement) {
                    Refusal::new(
                        Code::PreconditionFailed,
                        "what is to be changed is not there in the version that was given; nothing was changed",
                    )
                } else {
                    return unchanged(
                        "Nothing was changed: what is to be changed is not there, or not in a state that allows it.",
                        &detail,
                    );
                }
            }
            WriteError::Rows { .. } => {
                return unchanged(
                    "Nothing was changed: it would have changed more than the tool may.",
                    &detail,
                );
            }
            WriteError::Constraint { .. } => {
                return unchanged(
                    "Nothing was changed: a rule of the data refuses it. Something is there already, or what is \
                     referred to is not.",
                    &detail,
                );
            }
            WriteError::Conflict => Refusal::new(
                Code::IdempotencyConflict,
                "the key belongs to an earlier call with other arguments; nothing was changed",
            ),
            _ => Refusal::new(Code::SourceUnavailable, "the data source took nothing; nothing was changed"),
        };
        Execution::NotDone(refusal.with_detail(detail))
    }

    fn result(&self, written: &Written) -> String {
        match &self.plan.result {
            Form::Count => format!("{{\"changed\":{}}}", written.changed),
            // The source gave an array of exactly one object.
            Form::Row => {
                let inner = written.rows.strip_prefix('[').and_then(|rows| rows.strip_suffix(']'));
                inner.unwrap_or("{}").to_owned()
            }
            Form::Rows(items) => {
                let mut json = String::with_capacity(written.rows.len() + 64);
                json.push('{');
                push_string(&mut json, items);
                json.push(':');
                json.push_str(&written.rows);
                json.push_str(",\"truncated\":false}");
                json
            }
        }
    }
}

/// A result that says what the caller can do about it.
fn unchanged(text: &str, detail: &str) -> Execution {
    tracing::info!(detail, "a list of statements was rolled back");
    Execution::Complete(ToolOutput::text(text).as_error().as_unchanged())
}

impl Execute for SqlWrite {
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        Answer::later(self.run(invocation))
    }

    fn resolve<'a>(&'a self, effect: &'a Unresolved<'a>) -> Answer<'a, Verdict> {
        Answer::later(async move {
            match self.source.settle(effect.key, effect.call, effect.deadline).await {
                // A masked result is not kept past its masks.
                Ok(Known::Committed(written)) => Verdict::Happened(
                    (!self.plan.masks).then(|| StoredResult::new(None, Some(self.result(&written)), None)),
                ),
                Ok(Known::Withdrawn) => Verdict::DidNotHappen,
                Err(error) => {
                    tracing::warn!(call = %effect.call, %error, "the source cannot say what became of a call");
                    Verdict::CannotTell
                }
            }
        })
    }
}
