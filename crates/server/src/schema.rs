//! JSON Schemas from Rust types, in the form that models and clients read best.
//!
//! It must never publish a schema that accepts what the type refuses to name. Typed tools, forms and
//! prompts call it.

mod form;

pub(crate) use form::form;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The schema of an input type: unknown members are refused, integers have the bounds of their type.
pub(crate) fn input<T: JsonSchema>() -> String {
    let mut schema = root::<T>(true);
    // What the tool is for is said by the tool, not by its input.
    schema.remove("description");
    RecursiveTransform(close).transform(&mut schema);
    if let Some(object) = schema.as_object_mut()
        && object.get("type").and_then(Value::as_str) == Some("object")
    {
        object.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    schema.as_value().to_string()
}

/// The schema of an output type.
pub(crate) fn output<T: JsonSchema>() -> String {
    root::<T>(false).as_value().to_string()
}

fn root<T: JsonSchema>(is_input: bool) -> Schema {
    let settings = if is_input {
        SchemaSettings::draft2020_12()
    } else {
        SchemaSettings::draft2020_12().for_serialize()
    };
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // 2020-12 is what a schema without `$schema` means, and the type's name says nothing to a model.
    schema.remove("$schema");
    schema.remove("title");
    RecursiveTransform(bound_integers).transform(&mut schema);
    schema
}

/// Refuses unknown members of each object whose members are all in one place.
fn close(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    let is_open = object.contains_key("properties")
        && !["additionalProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"]
            .iter()
            .any(|keyword| object.contains_key(*keyword));
    if is_open {
        object.insert("additionalProperties".into(), Value::Bool(false));
    }
}

/// Replaces the formats of Rust's integers, which JSON Schema does not know, by bounds.
fn bound_integers(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    let Some(format) = object.get("format").and_then(Value::as_str) else { return };
    let bounds = match format {
        "int8" => Some((i64::from(i8::MIN), i64::from(i8::MAX))),
        "int16" => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
        "int32" => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        "uint8" => Some((0, i64::from(u8::MAX))),
        "uint16" => Some((0, i64::from(u16::MAX))),
        "uint32" => Some((0, i64::from(u32::MAX))),
        "int64" | "int128" | "int" | "uint64" | "uint128" | "uint" | "float" | "double" => None,
        _ => return,
    };
    object.remove("format");
    if let Some((least, most)) = bounds {
        object.entry("minimum").or_insert(json!(least));
        object.entry("maximum").or_insert(json!(most));
    }
}
