//! The operation `search`: lines of the files of one project that match, page by page.

use callgate_adapters::repository::{Case, Found, Position, Search, Syntax};
use callgate_core::invocation::Invocation;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{Answer, Execute, Execution, KeyValue};
use callgate_core::refusal::Refusal;
use callgate_protocol::json::{Value, push_string};

use super::{Plan, number, push_raw, push_text, refusal, text};
use crate::cursor;

/// A tool that searches.
pub(crate) struct SearchTool(pub(crate) Plan);

impl SearchTool {
    async fn run(&self, invocation: &Invocation<'_>) -> Result<ToolOutput, Refusal> {
        let plan = &self.0;
        let project = plan.project(invocation)?;
        let mut search = Search::new(text(invocation, "query").unwrap_or_default(), invocation.deadline());
        if invocation.arguments().get("regex").and_then(Value::as_bool).unwrap_or_default() {
            search.syntax = Syntax::Regex;
        }
        search.case = match text(invocation, "case").as_deref() {
            Some("insensitive") => Case::Insensitive,
            Some("smart") => Case::Smart,
            _ => Case::Sensitive,
        };
        search.path = text(invocation, "path");
        search.context = number(invocation, "context").and_then(|lines| lines.try_into().ok()).unwrap_or(0);
        search.after = self.after(invocation)?;
        search.max_matches = plan.max_rows;
        search.max_bytes = plan.max_bytes;
        let searched_at = plan.now();
        let found = plan.repository.search(project, search).await.map_err(refusal)?;
        self.output(invocation, project, &searched_at, &found)
    }

    fn after(&self, invocation: &Invocation<'_>) -> Result<Option<Position>, Refusal> {
        let Some(place) = self.0.seals.open(invocation)? else { return Ok(None) };
        match <[KeyValue; 2]>::try_from(place) {
            Ok([KeyValue::Text(path), KeyValue::Integer(line)]) => {
                let line = u64::try_from(line).map_err(|_| cursor::invalid())?;
                Ok(Some(Position::new(path, line)))
            }
            _ => Err(cursor::invalid()),
        }
    }

    fn output(
        &self,
        invocation: &Invocation<'_>,
        project: &str,
        searched_at: &str,
        found: &Found,
    ) -> Result<ToolOutput, Refusal> {
        let mut json = String::with_capacity(found.json.len() + 512);
        json.push_str("{\"project\":");
        push_string(&mut json, project);
        if let Some(revision) = &found.revision {
            push_text(&mut json, "revision", revision);
        }
        push_text(&mut json, "searchedAt", searched_at);
        push_raw(&mut json, "matches", &found.json);
        push_raw(&mut json, "filesSearched", &found.files.to_string());
        push_raw(&mut json, "filesSkipped", &found.skipped.to_string());
        if let Some(next) = &found.next {
            let line = i64::try_from(next.line).unwrap_or(i64::MAX);
            let place = [KeyValue::Text(next.path.clone()), KeyValue::Integer(line)];
            let sealed = self.0.seals.seal(invocation, &place, self.0.cursor_lifetime)?;
            push_text(&mut json, "nextCursor", &sealed);
        }
        push_raw(&mut json, "truncated", if found.cut.is_some() { "true" } else { "false" });
        if let Some(bound) = found.cut {
            push_text(&mut json, "truncatedBy", bound.as_str());
        }
        json.push('}');
        Ok(ToolOutput::structured(json))
    }
}

impl Execute for SearchTool {
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        Answer::later(async move {
            match self.run(invocation).await {
                Ok(output) => Execution::Complete(output),
                Err(refusal) => Execution::Failed(refusal),
            }
        })
    }
}
