//! The schema of a form from a Rust type: a flat object of texts, numbers, booleans and choices.
//!
//! It must never send a client what the specification does not allow in a form: a type that has more is
//! refused. `Context::elicit` calls it. Source:
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema>

use callgate_core::refusal::{Code, Refusal};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde_json::{Map, Value, json};

use super::bound_integers;

/// The formats of texts that forms know.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// The schema of a form whose fields are those of `T`.
pub(crate) fn form<T: JsonSchema>() -> Result<String, Refusal> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(bound_integers).transform(&mut schema);
    let root = schema.as_object().ok_or_else(not_flat)?;
    let found = root.get("properties").and_then(Value::as_object).ok_or_else(not_flat)?;
    let mut fields = Map::new();
    for (name, field) in found {
        fields.insert(name.clone(), Value::Object(field_of(field).ok_or_else(not_flat)?));
    }
    let mut form = Map::new();
    form.insert("type".into(), json!("object"));
    form.insert("properties".into(), Value::Object(fields));
    if let Some(required) = root.get("required") {
        form.insert("required".into(), required.clone());
    }
    Ok(Value::Object(form).to_string())
}

fn not_flat() -> Refusal {
    Refusal::new(Code::Internal, "the question could not be put to the client")
        .with_detail("a form holds texts, numbers, booleans and choices only")
}

/// A field as forms know it: without `null`, which stands for a field that is not required.
fn field_of(field: &Value) -> Option<Map<String, Value>> {
    let mut field = field.as_object()?.clone();
    if let Some(Value::Array(kinds)) = field.get("type") {
        let kind = kinds.iter().find(|kind| kind.as_str() != Some("null"))?.clone();
        field.insert("type".into(), kind);
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(alternatives) = field.remove("anyOf") {
        // An optional choice: the choice itself, or null.
        let is_real = |choice: &&Value| choice.get("type").and_then(Value::as_str) != Some("null");
        let mut real = alternatives.as_array()?.iter().filter(is_real);
        let (only, None) = (real.next()?, real.next()) else { return None };
        let mut inner = field_of(only)?;
        for (name, value) in field {
            inner.entry(name).or_insert(value);
        }
        return Some(inner);
    }
    if let Some(choices) = field.remove("oneOf") {
        let choices: Option<Vec<_>> = choices.as_array()?.iter().map(titled).collect();
        field.insert("type".into(), json!("string"));
        field.insert("oneOf".into(), choices?.concat().into());
        return Some(field);
    }
    match field.get("type")?.as_str()? {
        "string" => {
            let is_known = |format: &Value| format.as_str().is_some_and(|format| FORMATS.contains(&format));
            if field.get("format").is_some_and(|format| !is_known(format)) {
                field.remove("format");
            }
        }
        "number" | "integer" | "boolean" => {}
        "array" => {
            let items = field_of(field.get("items")?)?;
            if items.get("enum").is_none() && items.get("oneOf").is_none() {
                return None;
            }
            // Several of one set of choices: titled ones are alternatives there.
            let items = match items.get("oneOf") {
                Some(choices) => json!({ "anyOf": choices }),
                None => Value::Object(items),
            };
            field.insert("items".into(), items);
        }
        _ => return None,
    }
    Some(field)
}

/// The choices that one variant, or one group of variants without a text of their own, stands for.
fn titled(variant: &Value) -> Option<Vec<Value>> {
    let title = variant.get("title").or(variant.get("description"));
    if let Some(value) = variant.get("const") {
        let value = value.as_str()?;
        return Some(vec![
            json!({ "const": value, "title": title.and_then(Value::as_str).unwrap_or(value) }),
        ]);
    }
    let values = variant.get("enum")?.as_array()?.iter();
    values.map(|value| Some(json!({ "const": value.as_str()?, "title": value.as_str()? }))).collect()
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::form;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    #[serde(rename_all = "lowercase")]
    enum Plain {
        Low,
        High,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    #[serde(rename_all = "lowercase")]
    enum Titled {
        /// Within an hour
        Now,
        /// Within a week
        Later,
        Never,
    }

    #[test]
    fn every_kind_of_field_is_flat_and_keeps_its_order() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Everything {
            /// Who asks
            name: String,
            age: Option<u8>,
            score: f64,
            agreed: bool,
            #[schemars(extend("format" = "uuid"))]
            id: String,
            #[schemars(email)]
            mail: Option<String>,
            plain: Plain,
            maybe: Option<Plain>,
            titled: Titled,
            several: Vec<Plain>,
            several_titled: Option<Vec<Titled>>,
        }
        insta::assert_snapshot!(form::<Everything>().unwrap());
    }

    #[test]
    fn what_is_not_flat_is_refused() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Nested {
            inner: Inner,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Inner {
            name: String,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Free {
            texts: Vec<String>,
        }
        assert!(form::<Nested>().is_err());
        assert!(form::<Free>().is_err());
        assert!(form::<String>().is_err());
    }
}
