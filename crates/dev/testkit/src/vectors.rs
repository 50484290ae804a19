//! The specification's schemas and examples, which the repository carries in `vectors/mcp`.
//!
//! The texts are compiled in, so that a test finds them wherever it runs.

use std::fs;
use std::path::PathBuf;

use callgate_protocol::Revision;

/// The `schema.json` of a revision.
#[must_use]
pub fn schema(revision: Revision) -> &'static str {
    match revision {
        Revision::V2024_11_05 => include_str!("../../../../vectors/mcp/2024-11-05/schema.json"),
        Revision::V2025_03_26 => include_str!("../../../../vectors/mcp/2025-03-26/schema.json"),
        Revision::V2025_06_18 => include_str!("../../../../vectors/mcp/2025-06-18/schema.json"),
        Revision::V2025_11_25 => include_str!("../../../../vectors/mcp/2025-11-25/schema.json"),
        Revision::V2026_07_28 => include_str!("../../../../vectors/mcp/2026-07-28/schema.json"),
        _ => panic!("no schema is kept for {revision}"),
    }
}

/// The folder of vectors in the repository.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../vectors"))
}

/// An example value of the 2026-07-28 specification.
#[derive(Clone, Debug)]
pub struct Example {
    /// The definition in the schema.
    pub definition: String,
    /// The file's name.
    pub name: String,
    /// The text.
    pub text: String,
}

/// Every example, in the order of their names.
///
/// # Panics
/// When the folder cannot be read.
#[must_use]
#[expect(clippy::expect_used, reason = "a test without its vectors must stop")]
pub fn examples() -> Vec<Example> {
    let root = folder().join("mcp/2026-07-28/examples");
    let mut found = Vec::new();
    for definition in fs::read_dir(root).expect("the examples are in the repository") {
        let definition = definition.expect("a folder of examples");
        for file in fs::read_dir(definition.path()).expect("a folder of examples") {
            let file = file.expect("an example");
            found.push(Example {
                definition: definition.file_name().to_string_lossy().into_owned(),
                name: file.file_name().to_string_lossy().into_owned(),
                text: fs::read_to_string(file.path()).expect("an example is text"),
            });
        }
    }
    found.sort_by(|one, other| (&one.definition, &one.name).cmp(&(&other.definition, &other.name)));
    found
}
