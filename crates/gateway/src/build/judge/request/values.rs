//! The values that a request may send, where each may stand, and which were sent.
//!
//! What a model must not choose is never an input; an input that goes nowhere is a mistake. The judge of requests
//! calls it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use callgate_protocol::json::{Document, Kind, Limits, Value};

use crate::build::sources::http::Remote;
use crate::config::{Finding, ObjectSchema, Part, Property, RequestTable, Template, Tool, meant};
use crate::http_tool::{Piece, is_nullable};

/// Values that are the caller's and never the model's.
const BOUND: [&str; 2] = ["tenant", "principal"];

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a segment of the path.
    Path,
    /// A whole parameter of the query.
    Parameter,
    /// A part of a text: of a parameter, a header, a string of the body.
    Text,
    /// A whole value of the body.
    Json,
}

/// What an input can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Scalar,
    Scalars,
    Other,
}

/// The values of a request.
pub(super) struct Scope<'i> {
    input: &'i ObjectSchema,
    /// Whether the input could be read; what it lacks is not known otherwise.
    whole: bool,
    used: RefCell<BTreeSet<String>>,
}

impl<'i> Scope<'i> {
    pub(super) fn new(input: &'i ObjectSchema, whole: bool) -> Self {
        Self { input, whole, used: RefCell::default() }
    }

    pub(super) fn uses_tenant(&self) -> bool {
        self.used.borrow().contains("tenant")
    }

    /// The pieces of a template, with its literals as they are sent.
    pub(super) fn pieces(
        &mut self,
        template: &Template,
        place: Place,
        literal: impl Fn(&str) -> String,
        findings: &mut Vec<Finding>,
    ) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(template.parts.len());
        for part in &template.parts {
            pieces.push(match part {
                Part::Literal(text) => Piece::Literal(literal(text)),
                Part::Value { name, at } => {
                    self.used.borrow_mut().insert(name.clone());
                    match name.as_str() {
                        "tenant" => Piece::Tenant,
                        "principal" => Piece::Principal,
                        name => {
                            if let Some(finding) = self.judge(name, place) {
                                findings.push(finding.at(template.text.place_within(at.clone())));
                            }
                            Piece::Argument(name.to_owned())
                        }
                    }
                }
            });
        }
        pieces
    }

    fn judge(&self, name: &str, place: Place) -> Option<Finding> {
        let Some(property) = self.input.property(name) else {
            let known: Vec<&str> =
                self.input.properties.iter().map(|property| property.name.as_str()).collect();
            return self.whole.then(|| {
                Finding::error(
                    "unknown_parameter",
                    format!("the value `{{{name}}}` is no property of the input{}", meant(name, &known)),
                    "add it to the input of the tool, or use `{tenant}` or `{principal}`",
                )
            });
        };
        let (form, nullable) = form(property);
        let (message, remedy) = match place {
            Place::Path if form != Form::Scalar || !property.required || nullable => (
                format!("`{name}` stands in the path, and it can be absent or is no single value"),
                "declare it with one of the types `string`, `integer`, `number` and `boolean`, and as required",
            ),
            Place::Parameter if form == Form::Other => (
                format!("`{name}` is a parameter of the query, and its values have no form there"),
                "declare it with a scalar type or as an array of one; send anything else in the body",
            ),
            Place::Text if form != Form::Scalar => (
                format!("`{name}` stands in a text, and it is no single value"),
                "declare it with one of the types `string`, `integer`, `number` and `boolean`",
            ),
            _ => return None,
        };
        Some(Finding::error("value_place", message, remedy))
    }

    /// Reports inputs that are the caller's, and those that go nowhere.
    pub(super) fn finish(
        &self,
        tool: &Tool,
        table: &RequestTable,
        remote: Option<&Remote>,
        forwards: bool,
        findings: &mut Vec<Finding>,
    ) {
        let used = self.used.borrow();
        for property in &self.input.properties {
            let mirrored = forwards && property.text.contains("x-mcp-header");
            let (code, message, remedy) = if BOUND.contains(&property.name.as_str()) {
                (
                    "reserved_input",
                    format!("`{}` comes from the caller's identity and cannot be an input", property.name),
                    format!("remove it from the input; `{{{}}}` is sent without it", property.name),
                )
            } else if !used.contains(&property.name) && !mirrored && !tool.has_key(&property.name) {
                (
                    "unused_input",
                    format!("the request never sends the input `{}`", property.name),
                    format!("use it as `{{{}}}` in the request, or remove it from the input", property.name),
                )
            } else {
                continue;
            };
            findings.push(Finding::error(code, message, remedy).at(property.place.clone()));
        }
        if remote.is_some_and(|remote| remote.tenant_scoped) && !used.contains("tenant") {
            let finding = Finding::error(
                "tenant_unbound",
                "the source is tenant_scoped, and the request does not send `{tenant}`",
                "name the caller's tenant to the service, for example `path = \"/tenants/{tenant}/tickets\"`",
            );
            let place = table.path.as_ref().map_or(tool.name.place(), |path| path.text.place());
            findings.push(finding.at(place.clone()));
        }
    }
}

/// What the schema of an input admits, and whether null is among it.
fn form(property: &Property) -> (Form, bool) {
    let Ok(document) = Document::parse(property.text.as_str(), &Limits::default()) else {
        return (Form::Other, false);
    };
    let schema = document.root();
    let nullable = is_nullable(schema);
    let form = match &types(schema)[..] {
        [one] if is_scalar(one) => Form::Scalar,
        [one] if one == "array" => match schema.get("items").map(types) {
            Some(items) if !items.is_empty() && items.iter().all(|name| is_scalar(name)) => Form::Scalars,
            _ => Form::Other,
        },
        _ => Form::Other,
    };
    (form, nullable)
}

/// The types of a schema but null.
fn types(schema: Value<'_>) -> Vec<String> {
    let Some(kind) = schema.get("type") else { return Vec::new() };
    let names: Vec<String> = match kind.kind() {
        Kind::Array => kind.items().filter_map(|name| name.as_str().map(Into::into)).collect(),
        _ => kind.as_str().map(Into::into).into_iter().collect(),
    };
    names.into_iter().filter(|name| name != "null").collect()
}

fn is_scalar(name: &str) -> bool {
    matches!(name, "string" | "integer" | "number" | "boolean")
}
