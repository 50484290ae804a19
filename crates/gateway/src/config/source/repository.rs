//! `[source.*]` of kind `repository`: directories of source code, by the names of their projects.
//!
//! Whether the directories are there is checked by the build step. The source is the caller.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::Kind;
use crate::config::finding::Finding;
use crate::config::located::Located;
use crate::config::reader::Table;

/// Projects of one source: each is a value that a model chooses among.
const PROJECTS_MAX: usize = 200;

/// Directories of source code, in which tools search and read.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RepositorySource {
    /// `repository`
    #[schemars(with = "RepositoryKind")]
    pub kind: Located<Kind>,
    /// The root directory of each project, relative to the directory of `callgate.toml`. Nothing outside
    /// a root is ever opened.
    #[schemars(required, with = "std::collections::BTreeMap<String, String>")]
    pub projects: Vec<(Located<String>, Located<String>)>,
    /// Files that are never shown, in the syntax of `.gitignore`, from the root of each project. Ignored
    /// and hidden files are never shown anyway.
    pub exclude: Option<Located<Vec<Located<String>>>>,
    /// How large a file may be that is searched and read, in bytes. Default: 1,048,576.
    #[schemars(range(min = 1_024, max = 67_108_864))]
    pub max_file_bytes: Option<Located<u64>>,
    /// How many files one search may open before it gives a page. Default: 20,000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_files: Option<Located<u64>>,
    /// How many bytes one search may read before it gives a page. Default: 268,435,456.
    #[schemars(range(min = 1_024, max = 17_179_869_184_u64))]
    pub max_scan_bytes: Option<Located<u64>>,
    /// How many calls work at the same time. Default: 4.
    #[schemars(range(min = 1, max = 64))]
    pub concurrency: Option<Located<u64>>,
}

impl RepositorySource {
    pub(super) fn read(kind: Located<Kind>, table: &mut Table<'_, '_>) -> Self {
        let example = "{ billing = \"../billing\" }";
        let projects = match table.value("projects") {
            None => {
                table.missing("projects", example);
                Vec::new()
            }
            Some(value) => {
                let projects = table.named_strings("projects").unwrap_or_default();
                let message = match projects.len() {
                    0 => Some(format!("`projects` of {} names no directory", table.name())),
                    count if count > PROJECTS_MAX => {
                        Some(format!("`projects` of {} has more than {PROJECTS_MAX} entries", table.name()))
                    }
                    _ => None,
                };
                if let Some(message) = message.filter(|_| value.get_ref().is_table()) {
                    let remedy =
                        format!("name 1 to {PROJECTS_MAX} directories, for example `projects = {example}`");
                    table.reading().report(value.span(), Finding::error("out_of_range", message, remedy));
                }
                projects
            }
        };
        for (name, _) in &projects {
            check_name(name, table);
        }
        Self {
            kind,
            projects,
            exclude: table.strings("exclude"),
            max_file_bytes: table.integer("max_file_bytes", 1024..=67_108_864),
            max_files: table.integer("max_files", 1..=1_000_000),
            max_scan_bytes: table.integer("max_scan_bytes", 1024..=17_179_869_184),
            concurrency: table.integer("concurrency", 1..=64),
        }
    }

    /// What the source shows, as the file says it.
    pub(crate) fn place_of_data(&self) -> String {
        let projects: Vec<_> =
            self.projects.iter().map(|(name, root)| (name.as_str(), root.as_str())).collect();
        let exclude: Vec<_> =
            self.exclude.iter().flat_map(|all| all.iter()).map(|glob| glob.as_str()).collect();
        // The debug form of texts quotes and escapes them, so that no two sources share one.
        format!("repository:{projects:?} {exclude:?}")
    }
}

fn check_name(name: &Located<String>, table: &Table<'_, '_>) {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        let finding = Finding::error(
            "invalid_name",
            format!("a project cannot be named {:?}", name.as_str()),
            "use 1 to 64 of the characters A-Z a-z 0-9 _ - .",
        );
        table.reading().report(name.place().span(), finding);
    }
}

/// Stands for the word `repository` in the generated schema.
pub(super) struct RepositoryKind;

impl JsonSchema for RepositoryKind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RepositoryKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": "repository" })
    }
}
