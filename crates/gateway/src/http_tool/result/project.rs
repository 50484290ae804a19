//! What of a value gets through: the members that its schema declares.
//!
//! It must never let an undeclared member of a declared object through; a schema that says more than `properties`
//! and `items` lets its value through whole, and the pipeline judges it. The result calls it.

use callgate_protocol::json::{Kind, Value, push_string};

/// What of a value gets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Projection {
    /// All of it.
    Whole,
    /// These members of an object.
    Members(Vec<Member>),
    /// This of each item of an array.
    Items(Box<Self>),
}

/// A member of an object that gets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    name: String,
    nullable: bool,
    projection: Projection,
}

/// Keywords by which a schema declares members in another way than by `properties`.
const OTHER: [&str; 13] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "not",
    "patternProperties",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "contains",
];

impl Projection {
    /// The projection of a schema.
    pub(crate) fn of(schema: Value<'_>) -> Self {
        if OTHER.iter().any(|keyword| schema.get(keyword).is_some()) {
            return Self::Whole;
        }
        if let Some(properties) = schema.get("properties") {
            let more = schema.get("additionalProperties");
            if more.is_some_and(|more| more.as_bool() != Some(false)) {
                return Self::Whole;
            }
            return Self::Members(
                properties
                    .members()
                    .map(|(name, schema)| Member::of(&name.as_str().unwrap_or_default(), schema))
                    .collect(),
            );
        }
        match schema.get("items") {
            Some(items) if items.kind() == Kind::Object => Self::Items(Box::new(Self::of(items))),
            _ => Self::Whole,
        }
    }

    /// Appends what of a value gets through. A value of another kind than the schema's is left to the pipeline.
    pub(crate) fn push(&self, value: Value<'_>, json: &mut String) {
        match (self, value.kind()) {
            (Self::Members(members), Kind::Object) => {
                json.push('{');
                let start = json.len();
                for member in members {
                    let found = value.get(&member.name).filter(|value| member.nullable || !value.is_null());
                    let Some(found) = found else { continue };
                    if json.len() > start {
                        json.push(',');
                    }
                    push_string(json, &member.name);
                    json.push(':');
                    member.projection.push(found, json);
                }
                json.push('}');
            }
            (Self::Items(projection), Kind::Array) => {
                json.push('[');
                for (index, item) in value.items().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    projection.push(item, json);
                }
                json.push(']');
            }
            _ => json.push_str(value.raw()),
        }
    }
}

impl Member {
    fn of(name: &str, schema: Value<'_>) -> Self {
        Self { name: name.to_owned(), nullable: is_nullable(schema), projection: Projection::of(schema) }
    }
}

/// Whether a schema admits null.
pub(crate) fn is_nullable(schema: Value<'_>) -> bool {
    match schema.get("type") {
        None => true,
        Some(kind) if kind.kind() == Kind::Array => kind.items().any(|name| name.is_str("null")),
        Some(kind) => kind.is_str("null"),
    }
}
