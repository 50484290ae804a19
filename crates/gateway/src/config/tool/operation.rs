//! What a tool says that is one operation of its source.
//!
//! The operation brings its input and output, so none is written here. Whether the source has the
//! operation and the projects is checked by the build step. The tool is the caller.

use schemars::JsonSchema;

use crate::config::finding::Finding;
use crate::config::located::Located;
use crate::config::reader::Table;

/// One operation of a repository.
#[derive(Clone, Debug, JsonSchema)]
pub struct Operation {
    /// What is done: `search` finds lines in the files of a project, `read` gives the lines of one file.
    #[schemars(required)]
    pub operation: Option<Located<OperationKind>>,
    /// The projects of the source that this tool may be used on. Default: all.
    pub projects: Option<Located<Vec<Located<String>>>>,
    /// Whether the input names the projects. If not, an unknown project and one that the policy does not
    /// permit look the same. Default: true.
    pub list_projects: Option<Located<bool>>,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum OperationKind {
    /// Finds lines in the files of a project.
    Search,
    /// Gives the lines of one file of a project.
    Read,
}

const OPERATIONS: &[(&str, OperationKind)] =
    &[("search", OperationKind::Search), ("read", OperationKind::Read)];

/// What only a query or a request has.
const OF_OTHERS: [&str; 8] = ["sql", "page", "items", "input", "output", "request", "response", "reconcile"];

impl Operation {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        for key in OF_OTHERS {
            let Some(value) = table.foreign(key) else { continue };
            let finding = Finding::error(
                "conflicting_keys",
                format!("{} has `{key}` beside `operation`", table.name()),
                "remove one of them: an operation brings its own input, output and pages, a query or a request has no operation",
            );
            table.reading().report(value.span(), finding);
        }
        Self {
            operation: table.choice("operation", OPERATIONS),
            projects: table.strings("projects"),
            list_projects: table.boolean("list_projects"),
        }
    }
}
