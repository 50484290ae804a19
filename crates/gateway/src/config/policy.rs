//! `[policy]`: which files say who may do what.
//!
//! Whether the files are there and what they say is checked when they are loaded. The loader reads it.

use schemars::JsonSchema;

use super::finding::Finding;
use super::located::Located;
use super::reader::Table;

/// Who may do what. With this table nothing is permitted that no policy permits.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyTable {
    /// Files with Cedar policies, beside this file. A `*` in the name of a file stands for any characters:
    /// `["policies/*.cedar"]`.
    #[schemars(required)]
    pub files: Option<Located<Vec<Located<String>>>>,
}

impl PolicyTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        if table.value("files").is_none() {
            table.missing("files", "[\"policies/*.cedar\"]");
        }
        let files = table.strings("files");
        if let Some(files) = files.as_ref().filter(|files| files.is_empty()) {
            let finding = Finding::error(
                "empty_value",
                "`files` of [policy] is empty, so nothing is permitted",
                "name at least one file of policies, or remove the table to permit reads to local callers",
            );
            table.reading().report(files.place().span(), finding);
        }
        table.finish();
        Self { files }
    }
}
