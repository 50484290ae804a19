//! Bodies of the fuzz targets, replayed over the kept corpus by a test on every run.
//!
//! They must never do anything but panic on a broken promise. Fuzz targets and tests call them.

use callgate_protocol::json::{Document, Limits};

use super::{Formats, Schema, SchemaOptions, Verdict};

/// Compiles the text before the first NUL byte as a schema and judges the text after it.
///
/// # Panics
/// When the quick verdict and the collected one disagree, or a violation lacks its place.
#[expect(clippy::expect_used, reason = "a panic is how a fuzz target reports a broken promise")]
pub fn fuzz_schema(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (schema, instance) = text.split_once('\0').unwrap_or((text, "null"));
    let Ok(instance) = Document::parse(instance, &Limits::DEFAULT) else { return };
    for formats in [Formats::Asserted, Formats::Annotated] {
        let options = SchemaOptions { formats, ..SchemaOptions::default() };
        let schema = match Schema::compile_with(schema, &options) {
            Ok(schema) => schema,
            Err(error) => {
                assert!(!error.findings.is_empty(), "a refused schema has findings");
                return;
            }
        };
        let quick = schema.is_valid(instance.root());
        match schema.validate(instance.root()) {
            Verdict::Valid => assert!(quick != Ok(false), "valid, but the quick verdict refuses"),
            Verdict::Invalid(violations) => {
                assert!(quick != Ok(true), "invalid, but the quick verdict accepts");
                assert!(!violations.list.is_empty(), "an invalid value has violations");
                let longest = violations.list.iter().map(|violation| violation.expected.len()).max();
                assert!(longest.expect("there is one") < 16 << 10, "messages are bounded");
            }
            Verdict::OverBudget => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    #[test]
    fn schemas_hold_their_properties_over_the_corpus() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/schema");
        let mut inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty());
        for input in inputs {
            super::fuzz_schema(&fs::read(input).unwrap());
        }
    }
}
