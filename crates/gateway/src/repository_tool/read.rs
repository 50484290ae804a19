//! The operation `read`: lines of one file of one project, with the digest of the whole file.

use callgate_adapters::repository::{Excerpt, Read, date_time};
use callgate_core::invocation::Invocation;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{Answer, Execute, Execution};
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::push_string;

use super::{Plan, number, push_raw, push_text, refusal, text};

/// A tool that reads.
pub(crate) struct ReadTool(pub(crate) Plan);

impl ReadTool {
    async fn run(&self, invocation: &Invocation<'_>) -> Result<ToolOutput, Refusal> {
        let plan = &self.0;
        let project = plan.project(invocation)?;
        let path = text(invocation, "path").unwrap_or_default();
        let mut read = Read::new(path.as_str(), invocation.deadline());
        read.start_line = number(invocation, "start_line").unwrap_or(1);
        read.end_line = number(invocation, "end_line");
        if read.end_line.is_some_and(|end| end < read.start_line) {
            let message = "`end_line` is smaller than `start_line`, which is 1 if it is not given";
            return Err(Refusal::new(Code::InvalidArguments, message));
        }
        read.max_lines = plan.max_rows;
        read.max_bytes = plan.max_bytes;
        let read_at = plan.now();
        let excerpt = plan.repository.read(project, read).await.map_err(refusal)?;
        Ok(output(project, &path, &read_at, &excerpt))
    }
}

fn output(project: &str, path: &str, read_at: &str, excerpt: &Excerpt) -> ToolOutput {
    let mut json = String::with_capacity(excerpt.text.len() + 512);
    json.push_str("{\"project\":");
    push_string(&mut json, project);
    push_text(&mut json, "path", path);
    if let Some(revision) = &excerpt.revision {
        push_text(&mut json, "revision", revision);
    }
    push_text(&mut json, "readAt", read_at);
    if let Some(time) = excerpt.modified.and_then(date_time) {
        push_text(&mut json, "modifiedAt", &time);
    }
    for (name, value) in [
        ("startLine", excerpt.start_line),
        ("endLine", excerpt.end_line),
        ("totalLines", excerpt.total_lines),
        ("size", excerpt.size),
    ] {
        push_raw(&mut json, name, &value.to_string());
    }
    push_text(&mut json, "digest", &excerpt.digest.to_string());
    push_text(&mut json, "text", &excerpt.text);
    for (name, mark) in [
        ("lineCut", excerpt.line_cut),
        ("invalidUtf8", excerpt.replaced),
        ("changedWhileRead", excerpt.changed),
    ] {
        if mark {
            push_raw(&mut json, name, "true");
        }
    }
    push_raw(&mut json, "truncated", if excerpt.cut.is_some() { "true" } else { "false" });
    if let Some(bound) = excerpt.cut {
        push_text(&mut json, "truncatedBy", bound.as_str());
    }
    json.push('}');
    ToolOutput::structured(json)
}

impl Execute for ReadTool {
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        Answer::later(async move {
            match self.run(invocation).await {
                Ok(output) => Execution::Complete(output),
                Err(refusal) => Execution::Failed(refusal),
            }
        })
    }
}
