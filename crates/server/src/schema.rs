//! JSON Schemas from Rust types, in the form that models and clients read best.
//!
//! It must never publish a schema that accepts what the type refuses to name. Typed tools, forms and
//! prompts call it.

use callgate_core::refusal::{Code, Refusal};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

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

/// The schema of a form: a flat object of texts, numbers, booleans and choices. Source:
/// <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema>
pub(crate) fn form<T: JsonSchema>() -> Result<String, Refusal> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(bound_integers).transform(&mut schema);
    let mut form = Map::new();
    form.insert("type".into(), json!("object"));
    let mut fields = Map::new();
    let found = schema.as_object().and_then(|object| object.get("properties")).and_then(Value::as_object);
    for (name, field) in found.into_iter().flatten() {
        fields.insert(name.clone(), flat_field(field).ok_or_else(not_flat)?);
    }
    form.insert("properties".into(), Value::Object(fields));
    if let Some(required) = schema.as_object().and_then(|object| object.get("required")) {
        form.insert("required".into(), required.clone());
    }
    if found.is_none() {
        return Err(not_flat());
    }
    Ok(Value::Object(form).to_string())
}

fn not_flat() -> Refusal {
    Refusal::new(Code::Internal, "the question could not be put to the client")
        .with_detail("a form holds texts, numbers, booleans and choices only")
}

/// A field without `null`, which forms do not know: an optional field is one that is not required.
fn flat_field(field: &Value) -> Option<Value> {
    let mut field = field.as_object()?.clone();
    if let Some(Value::Array(kinds)) = field.get("type") {
        let kind = kinds.iter().find(|kind| kind.as_str() != Some("null"))?.clone();
        field.insert("type".into(), kind);
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = field.get("anyOf").cloned() {
        let mut real =
            choices.iter().filter(|choice| choice.get("type").and_then(Value::as_str) != Some("null"));
        let (only, None) = (real.next()?, real.next()) else { return None };
        let mut inner = flat_field(only)?.as_object()?.clone();
        field.remove("anyOf");
        for (name, value) in field {
            inner.entry(name).or_insert(value);
        }
        field = inner;
    }
    let is_flat = matches!(
        field.get("type").and_then(Value::as_str),
        Some("string" | "number" | "integer" | "boolean")
    );
    let is_choice = field.get("type").and_then(Value::as_str) == Some("array");
    (is_flat || is_choice).then_some(Value::Object(field))
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
