//! Finds the parameters of an input schema that are mirrored into headers, by `x-mcp-header`.
//!
//! It must never guess: an annotation in a place that a client could not follow makes the definition
//! invalid. Servers call it when a tool is registered, clients and gateways when one is listed.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{is_safe_integer, is_token_byte};
use crate::json::{Kind, Value};

/// The annotation in a property's schema.
const ANNOTATION: &str = "x-mcp-header";

/// The type of a mirrored parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirroredKind {
    /// A string, sent as it is or as Base64.
    String,
    /// An integer within ±(2^53−1), sent in decimal.
    Integer,
    /// A boolean, sent as `true` or `false`.
    Boolean,
}

/// A parameter that a client repeats in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirroredParameter {
    /// The property names from the root of the arguments to the value.
    pub path: Vec<String>,
    /// The whole header name, `Mcp-Param-` included, in the case of the definition.
    pub header: String,
    /// The declared type.
    pub kind: MirroredKind,
}

impl MirroredParameter {
    /// The value in the arguments of a call. Nothing when it is absent or null, and then no header is
    /// sent or expected.
    #[must_use]
    pub fn value<'d>(&self, arguments: Value<'d>) -> Option<Value<'d>> {
        arguments.path(self.path.iter().map(String::as_str)).filter(|value| !value.is_null())
    }
}

/// A rule about `x-mcp-header` that a definition breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderRule {
    /// The annotation is no string.
    #[error("`x-mcp-header` must be a string")]
    NotAString,
    /// XH-03: the name is empty.
    #[error("`x-mcp-header` must not be empty")]
    Empty,
    /// XH-04 and XH-05: the name is no token.
    #[error("`x-mcp-header` must be an HTTP token: letters, digits and !#$%&'*+-.^_`|~")]
    Token,
    /// XH-06: another parameter has the same name without regard to case.
    #[error("`x-mcp-header` must be unique in the schema without regard to case")]
    Duplicate,
    /// XH-07: the type is not one of the three.
    #[error("`x-mcp-header` stands only on `type` \"string\", \"integer\" or \"boolean\"")]
    Type,
    /// XH-08: the declared values go beyond what every implementation keeps exactly.
    #[error("an integer with `x-mcp-header` must stay within ±(2^53−1)")]
    Range,
    /// XH-09 and XH-10: the way from the root does not consist of `properties` alone.
    #[error("`x-mcp-header` stands only where `properties` alone lead from the root")]
    Unreachable,
}

/// A fault of a definition, with its place in the schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{rule} (at {pointer:?})")]
#[non_exhaustive]
pub struct HeaderDefinitionFault {
    /// The JSON Pointer of the schema that carries the annotation.
    pub pointer: String,
    /// The rule that it breaks.
    pub rule: HeaderRule,
}

/// Keywords whose value is a schema or an array of schemas.
const SCHEMA_KEYWORDS: [&str; 18] = [
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "extends",
    "disallow",
];

/// Keywords other than `properties` whose value is an object of schemas.
const MAP_KEYWORDS: [&str; 5] =
    ["patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];

/// A schema to be looked at.
struct Visit<'d> {
    schema: Value<'d>,
    pointer: String,
    /// The property names that lead here, or nothing where something else is on the way.
    path: Option<Vec<String>>,
}

/// The mirrored parameters of an input schema, in the order of the schema.
///
/// # Errors
/// Every fault, not just the first.
pub fn mirrored_parameters(
    input_schema: Value<'_>,
) -> Result<Vec<MirroredParameter>, Vec<HeaderDefinitionFault>> {
    let mut parameters = Vec::new();
    let mut faults = Vec::new();
    // Nearly every schema is without the annotation, and then one scan of its text is enough. An
    // escaped spelling still has to be looked for.
    if !input_schema.raw().contains(ANNOTATION) && !input_schema.raw().contains('\\') {
        return Ok(parameters);
    }
    let mut seen = BTreeSet::new();
    let mut open = vec![Visit { schema: input_schema, pointer: String::new(), path: Some(Vec::new()) }];
    while let Some(visit) = open.pop() {
        if let Some(annotation) = visit.schema.get(ANNOTATION) {
            match judge(&visit, annotation, &mut seen) {
                Ok(parameter) => parameters.push(parameter),
                Err(rule) => faults.push(HeaderDefinitionFault { pointer: visit.pointer.clone(), rule }),
            }
        }
        let from = open.len();
        push_subschemas(&visit, &mut open);
        // The stack gives back the last first; the order of the schema is wanted.
        if let Some(pushed) = open.get_mut(from..) {
            pushed.reverse();
        }
    }
    if faults.is_empty() { Ok(parameters) } else { Err(faults) }
}

fn judge(
    visit: &Visit<'_>,
    annotation: Value<'_>,
    seen: &mut BTreeSet<String>,
) -> Result<MirroredParameter, HeaderRule> {
    let name = annotation.as_str().ok_or(HeaderRule::NotAString)?;
    if name.is_empty() {
        return Err(HeaderRule::Empty);
    }
    if !name.bytes().all(is_token_byte) {
        return Err(HeaderRule::Token);
    }
    if !seen.insert(name.to_ascii_lowercase()) {
        return Err(HeaderRule::Duplicate);
    }
    let path = visit.path.clone().ok_or(HeaderRule::Unreachable)?;
    let kind = match visit.schema.get("type").and_then(Value::as_str).as_deref() {
        Some("string") => MirroredKind::String,
        Some("integer") => MirroredKind::Integer,
        Some("boolean") => MirroredKind::Boolean,
        _ => return Err(HeaderRule::Type),
    };
    if path.is_empty() {
        // The root of the arguments is always an object.
        return Err(HeaderRule::Type);
    }
    if kind == MirroredKind::Integer && !stays_safe(visit.schema) {
        return Err(HeaderRule::Range);
    }
    Ok(MirroredParameter { path, header: format!("Mcp-Param-{name}"), kind })
}

/// False when the schema itself names an integer beyond ±(2^53−1). One that sets no bounds is judged
/// by the value of each call.
fn stays_safe(schema: Value<'_>) -> bool {
    let named = ["const", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let single = named.into_iter().filter_map(|keyword| schema.get(keyword));
    let listed = schema.get("enum").into_iter().flat_map(Value::items);
    single
        .chain(listed)
        .filter_map(Value::as_number)
        .all(|number| !number.is_integer() || is_safe_integer(number))
}

fn push_subschemas<'d>(visit: &Visit<'d>, open: &mut Vec<Visit<'d>>) {
    for (keyword, value) in visit.schema.members() {
        let keyword = keyword.as_str().unwrap_or_default();
        let at = format!("{}/{}", visit.pointer, escape(&keyword));
        if keyword == "properties" {
            for (name, schema) in value.members() {
                let name = name.as_str().unwrap_or_default();
                let path = visit.path.as_ref().map(|path| {
                    let mut path = path.clone();
                    path.push(name.clone().into_owned());
                    path
                });
                open.push(Visit { schema, pointer: format!("{at}/{}", escape(&name)), path });
            }
        } else if MAP_KEYWORDS.contains(&&*keyword) {
            for (name, schema) in value.members() {
                let name = name.as_str().unwrap_or_default();
                open.push(Visit { schema, pointer: format!("{at}/{}", escape(&name)), path: None });
            }
        } else if SCHEMA_KEYWORDS.contains(&&*keyword) {
            match value.kind() {
                Kind::Object => open.push(Visit { schema: value, pointer: at, path: None }),
                Kind::Array => {
                    for (index, schema) in value.items().enumerate() {
                        open.push(Visit { schema, pointer: format!("{at}/{index}"), path: None });
                    }
                }
                _ => {}
            }
        }
    }
}

/// A member name as a part of a JSON Pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
