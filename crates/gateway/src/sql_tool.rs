//! A tool that is one query: arguments in, rows out, page by page.
//!
//! What a call may do was settled at load; here values are bound and rows passed on. `:tenant` and
//! `:principal` come from the caller's identity, never from arguments. Neither SQL nor a path nor a
//! stored value gets into what a caller reads of a failure. The pipeline calls it.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::invocation::Invocation;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{
    Answer, Bind, Cut, Execute, Execution, KeyValue, Query, QueryError, QuerySource, Rows, Statement,
};
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{Kind, Value, push_string};

use crate::cursor::{self, Seals};

mod deliver;
mod table;

pub(crate) use deliver::Delivered;
pub(crate) use table::{Format, Formulas};

/// What a tool does, as settled at load.
pub(crate) struct Plan {
    pub(crate) statement: Arc<Statement>,
    pub(crate) parameters: Vec<String>,
    /// The name of the array of rows.
    pub(crate) items: String,
    pub(crate) max_rows: usize,
    pub(crate) max_bytes: usize,
    pub(crate) paged: bool,
    /// How the rows become a file, where they do.
    pub(crate) delivered: Option<Delivered>,
    pub(crate) cursor_lifetime: Duration,
}

/// A tool that is one query.
pub(crate) struct SqlTool {
    plan: Plan,
    source: Arc<dyn QuerySource>,
    seals: Arc<Seals>,
}

impl SqlTool {
    pub(crate) fn new(plan: Plan, source: Arc<dyn QuerySource>, seals: Arc<Seals>) -> Self {
        Self { plan, source, seals }
    }

    async fn run(&self, invocation: &Invocation<'_>) -> Result<ToolOutput, Refusal> {
        let query = Query {
            statement: Arc::clone(&self.plan.statement),
            values: values(&self.plan.parameters, invocation)?,
            after: self.open_cursor(invocation)?,
            max_rows: self.plan.max_rows,
            max_bytes: self.plan.max_bytes,
            deadline: invocation.deadline(),
        };
        if let Some(delivered) = &self.plan.delivered {
            return deliver::deliver(delivered, &*self.source, query, invocation).await;
        }
        let rows = self.source.query(query).await.map_err(refusal)?;
        self.output(invocation, &rows)
    }

    fn open_cursor(&self, invocation: &Invocation<'_>) -> Result<Option<Vec<KeyValue>>, Refusal> {
        if !self.plan.paged {
            return Ok(None);
        }
        let key = self.seals.open(invocation)?;
        match key {
            Some(key) if key.len() != self.plan.statement.key.len() => Err(cursor::invalid()),
            key => Ok(key),
        }
    }

    fn output(&self, invocation: &Invocation<'_>, rows: &Rows) -> Result<ToolOutput, Refusal> {
        let mut json = String::with_capacity(rows.json.len() + 64);
        json.push('{');
        push_string(&mut json, &self.plan.items);
        json.push(':');
        json.push_str(&rows.json);
        if let Some(key) = &rows.last {
            let sealed = self.seals.seal(invocation, key, self.plan.cursor_lifetime)?;
            json.push_str(",\"nextCursor\":");
            push_string(&mut json, &sealed);
        }
        // A page that ends where a page ends leaves nothing out: the cursor goes on from there.
        let truncated = match rows.cut {
            Cut::Whole => false,
            Cut::Rows => !self.plan.paged,
            Cut::Bytes => true,
        };
        json.push_str(if truncated { ",\"truncated\":true}" } else { ",\"truncated\":false}" });
        Ok(ToolOutput::structured(json))
    }
}

impl Execute for SqlTool {
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        Answer::later(async move {
            match self.run(invocation).await {
                Ok(output) => Execution::Complete(output),
                Err(refusal) => Execution::Failed(refusal),
            }
        })
    }
}

/// The values of parameters: the caller's identity, and the arguments.
pub(crate) fn values(
    parameters: &[String],
    invocation: &Invocation<'_>,
) -> Result<Vec<(String, Bind)>, Refusal> {
    let principal = invocation.principal();
    let mut values = Vec::with_capacity(parameters.len());
    for name in parameters {
        let value = match name.as_str() {
            "principal" => Bind::Text(principal.subject.to_string()),
            "tenant" => match &principal.tenant {
                Some(tenant) => Bind::Text(tenant.to_string()),
                // NULL could match what belongs to nobody.
                None => {
                    return Err(Refusal::new(Code::Forbidden, "the tool needs a caller with a tenant"));
                }
            },
            name => invocation.arguments().get(name).map_or(Bind::Null, bind),
        };
        values.push((name.clone(), value));
    }
    Ok(values)
}

fn bind(value: Value<'_>) -> Bind {
    match value.kind() {
        Kind::Null => Bind::Null,
        Kind::Boolean => Bind::Boolean(value.as_bool().unwrap_or_default()),
        Kind::Number => Bind::Number(value.raw().to_owned()),
        Kind::String => Bind::Text(value.as_str().unwrap_or_default().into_owned()),
        Kind::Array | Kind::Object => Bind::Json(value.raw().to_owned()),
    }
}

/// What a caller may know of a failure; the rest goes to the log.
pub(crate) fn refusal(error: QueryError) -> Refusal {
    let detail = error.to_string();
    let refusal = match error {
        QueryError::Unavailable { .. } => {
            Refusal::new(Code::SourceUnavailable, "the data source is not available")
        }
        QueryError::Busy => Refusal::new(Code::Busy, "all connections to the data source are in use"),
        QueryError::TimedOut => Refusal::new(Code::Timeout, "the query did not finish in time"),
        QueryError::Value { parameter: Some(name), .. } => {
            Refusal::new(Code::InvalidArguments, format!("the value of `{name}` cannot be looked up"))
        }
        QueryError::Value { parameter: None, .. } => {
            Refusal::new(Code::InvalidArguments, "a value cannot be looked up; check ids, dates and numbers")
        }
        QueryError::Form { .. } => {
            Refusal::new(Code::OutputInvalid, "a stored value does not fit the declared output")
        }
        QueryError::KeyNotUnique => {
            Refusal::new(Code::OutputInvalid, "the pages of this tool do not line up")
        }
        QueryError::RowTooLarge => {
            Refusal::new(Code::OutputTooLarge, "one row is larger than this tool may return")
        }
        _ => Refusal::new(Code::ToolFailed, "the query failed"),
    };
    refusal.with_detail(detail)
}

#[cfg(test)]
mod tests {
    use callgate_core::port::QueryError;
    use callgate_core::refusal::{Code, Retry};

    #[test]
    fn a_source_whose_connections_are_all_in_use_is_called_again_later() {
        let refusal = super::refusal(QueryError::Busy);
        assert_eq!(refusal.code(), Code::Busy);
        assert!(matches!(refusal.code().retry(), Retry::After(_)), "{:?}", refusal.code().retry());
        assert!(refusal.public().contains("in use"), "{}", refusal.public());
    }
}
