//! The keywords of JSON Schema, so that a misspelt one in `callgate.toml` is an error.
//!
//! JSON Schema ignores what it does not know, which turns a typo into a missing check. Schemas in
//! `.json` files come from other tools and keep that freedom. Shapes are the caller.

use toml::de::{DeTable, DeValue};

use super::finding::Finding;
use super::reader::{Reading, in_file_order, meant};

/// Keywords whose value is a schema.
pub(super) const SCHEMA: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is an array of schemas; `items` may be one in draft-07.
pub(super) const SCHEMAS: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];

/// Keywords whose value is a table of schemas.
pub(super) const NAMED_SCHEMAS: &[&str] =
    &["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// All other keywords.
const OTHER: &[&str] = &[
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    // Not of JSON Schema: the judge of tools takes it out of outputs and refuses it in inputs.
    "mask",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
];

/// Reports every member of a schema that is no keyword. Members that start with `x-` are extensions.
pub(crate) fn check_keywords(reading: &Reading, schema: &DeTable<'_>) {
    for (key, value) in in_file_order(schema) {
        let name = key.get_ref().as_ref();
        let known = [SCHEMA, SCHEMAS, NAMED_SCHEMAS, OTHER];
        if !name.starts_with("x-") && !known.iter().any(|names| names.contains(&name)) {
            let all: Vec<&str> = known.concat();
            let finding = Finding::error(
                "unknown_key",
                format!("`{name}` is no keyword of JSON Schema{}", meant(name, &all)),
                "correct it, or start its name with `x-` if it is meant for other programs",
            );
            reading.report(key.span(), finding);
        }
        match value.get_ref() {
            DeValue::Table(table) if SCHEMA.contains(&name) => check_keywords(reading, table),
            DeValue::Table(table) if NAMED_SCHEMAS.contains(&name) => {
                for (_, member) in in_file_order(table) {
                    if let DeValue::Table(member) = member.get_ref() {
                        check_keywords(reading, member);
                    }
                }
            }
            DeValue::Array(items) if SCHEMAS.contains(&name) => {
                for item in items.iter() {
                    if let DeValue::Table(item) = item.get_ref() {
                        check_keywords(reading, item);
                    }
                }
            }
            _ => {}
        }
    }
}
