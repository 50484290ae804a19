//! What a tool says that is one request to a service.
//!
//! Only the words are read here; whether values, schemas and the source fit together is checked by the build step.
//! The tool is the caller.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::Spanned;
use toml::de::DeValue;

use crate::config::finding::Finding;
use crate::config::json::{Places, pointer, push_toml};
use crate::config::located::Located;
use crate::config::reader::{Reading, Table, in_file_order};
use crate::config::secret::HeaderText;
use crate::config::shape::Shape;
use crate::config::template::Template;

/// One request to a service.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(extend("required" = ["description", "request"]))]
pub struct Request {
    /// What is sent.
    pub request: Option<RequestTable>,
    /// What of the response is the result.
    pub response: Option<ResponseTable>,
    /// How the service is asked about an effect whose outcome is unknown, for a tool with `unknown = "backend"`.
    pub reconcile: Option<ReconcileTable>,
    /// The name of the array of rows in the output, for a response with `rows`. Default: `rows`.
    pub items: Option<Located<String>>,
    /// The input: a table of properties, a JSON Schema, or the name of a `.json` file that holds one.
    pub input: Option<Shape>,
    /// The result, or a row of it: a table of fields, a JSON Schema, or the name of a `.json` file that holds one.
    /// What is not in it never leaves. Without it the result is empty.
    pub output: Option<Shape>,
}

/// What is sent. `{name}` is the value of an input, `{tenant}` and `{principal}` are the caller's.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RequestTable {
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`.
    #[schemars(required, with = "Option<MethodWord>")]
    pub method: Option<Located<&'static str>>,
    /// The path below the URL of the source, as in `/tickets/{id}`. A value stays inside its segment.
    #[schemars(required, with = "Option<String>")]
    pub path: Option<Template>,
    /// Parameters of the query. One whose value is absent is left out; an array gives one for each item.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub query: Vec<(Located<String>, Template)>,
    /// Headers: a text with values, or `env:NAME` or `file:PATH` for a secret.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub headers: Vec<(Located<String>, HeaderValue)>,
    /// The JSON body. A string that is one `{name}` becomes that value as it was sent; one that is absent is left
    /// out.
    #[schemars(with = "Option<BodyForm>")]
    pub body: Option<Body>,
    /// True when inputs with `x-mcp-header` are sent on in their `Mcp-Param-` headers. Default: false.
    pub forward_mirrored: Option<Located<bool>>,
    /// The header in which the service takes a key, by which it does one thing once. It gets a digest that is the
    /// same for each try of one call.
    pub idempotency_header: Option<Located<String>>,
}

/// A `GET` that shows whether an effect happened. `{key}` is the key that the service got, `{tenant}` the caller's.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReconcileTable {
    /// The path below the URL of the source, as in `/tickets/by-key/{key}`.
    #[schemars(required, with = "Option<String>")]
    pub path: Option<Template>,
    /// Parameters of the query.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub query: Vec<(Located<String>, Template)>,
    /// The statuses with which the service says that it happened. Default: 200.
    pub happened: Option<Located<Vec<Located<u64>>>>,
    /// The statuses with which it says that it did not happen and never will: a request with that key that comes late
    /// is then refused. Default: none, so that a person decides.
    pub absent: Option<Located<Vec<Located<u64>>>>,
}

/// The value of a header.
#[derive(Clone, Debug)]
pub enum HeaderValue {
    /// A text with places for values.
    Template(Template),
    /// A secret.
    Secret(Located<HeaderText>),
}

/// A JSON body with places for values.
#[derive(Clone, Debug)]
pub enum Body {
    /// A value as it is sent.
    Literal(String),
    /// A string with values in it, or one value.
    Text(Template),
    /// An array.
    Items(Vec<Self>),
    /// An object.
    Members(Vec<(String, Self)>),
}

/// What of a response is the result.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ResponseTable {
    /// Where in the body the result is, as a JSON Pointer. Default: the whole body.
    pub select: Option<Located<String>>,
    /// Where in the body the array of rows is, as a JSON Pointer; `""` for the whole body. The output is then that
    /// of one row.
    pub rows: Option<Located<String>>,
    /// Where the fields of the output are, as JSON Pointers from the result or row, or `header:NAME`. Default: the
    /// member of the same name.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub fields: Vec<(Located<String>, Located<String>)>,
    /// The statuses with which the service says that it is done. Default: 200 to 299.
    pub success: Option<Located<Vec<Located<u64>>>>,
    /// The statuses with which it says that there is nothing. The result of a tool with `rows` is then empty.
    pub nothing: Option<Located<Vec<Located<u64>>>>,
    /// Statuses with which this service has done nothing, beyond those that the protocol defines so.
    pub refused: Option<Located<Vec<Located<u64>>>>,
    /// Statuses after which nobody knows whether this service did it, although the protocol defines them otherwise.
    pub unknown: Option<Located<Vec<Located<u64>>>>,
    /// Where in the body of a failure its message is, as a JSON Pointer. Without it no word of the service reaches
    /// the model.
    pub error: Option<Located<String>>,
}

const METHODS: &[(&str, &str)] = &[
    ("GET", "GET"),
    ("HEAD", "HEAD"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
];

/// What only a query has.
const OF_QUERIES: [&str; 2] = ["sql", "page"];

impl Request {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        for key in OF_QUERIES {
            let Some(value) = table.foreign(key) else { continue };
            let finding = Finding::error(
                "conflicting_keys",
                format!("{} has `{key}` beside `request`", table.name()),
                "remove one of them: a tool is one query or one request",
            );
            table.reading().report(value.span(), finding);
        }
        let request_name = format!("`request` of {}", table.name());
        let reconcile_name = format!("`reconcile` of {}", table.name());
        let response_name = format!("`response` of {}", table.name());
        Self {
            request: table.table("request", request_name).map(RequestTable::read),
            response: table.table("response", response_name).map(ResponseTable::read),
            reconcile: table.table("reconcile", reconcile_name).map(ReconcileTable::read),
            items: table.string("items"),
            input: Shape::read(table, "input"),
            output: Shape::read(table, "output"),
        }
    }
}

impl RequestTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        let reading = table.reading();
        if table.value("method").is_none() {
            table.missing("method", "\"GET\"");
        }
        let method = table.choice("method", METHODS);
        let path = table.required_string("path", "\"/tickets/{id}\"");
        let query = table.named_strings("query").unwrap_or_default();
        let query = query.into_iter().filter_map(|(name, text)| Some((name, Template::read(text, reading)?)));
        let headers = HeaderText::read_all(&mut table, "headers").into_iter().filter_map(|(name, value)| {
            let read = match &*value {
                HeaderText::Secret(_) => HeaderValue::Secret(value),
                HeaderText::Plain(text) => {
                    let text = Located::new(text.clone(), value.place().clone());
                    HeaderValue::Template(Template::read(text, reading)?)
                }
            };
            Some((name, read))
        });
        let request = Self {
            method,
            path: path.and_then(|path| Template::read(path, reading)),
            query: query.collect(),
            headers: headers.collect(),
            body: table.value("body").and_then(|value| Body::read(reading, value, "")),
            forward_mirrored: table.boolean("forward_mirrored"),
            idempotency_header: table.string("idempotency_header"),
        };
        table.finish();
        request
    }
}

impl ReconcileTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        let reading = table.reading();
        let path = table.required_string("path", "\"/tickets/by-key/{key}\"");
        let query = table.named_strings("query").unwrap_or_default();
        let query = query.into_iter().filter_map(|(name, text)| Some((name, Template::read(text, reading)?)));
        let reconcile = Self {
            path: path.and_then(|path| Template::read(path, reading)),
            query: query.collect(),
            happened: table.integers("happened", 100..=599),
            absent: table.integers("absent", 100..=599),
        };
        table.finish();
        reconcile
    }
}

impl ResponseTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        let response = Self {
            select: table.string("select"),
            rows: table.string("rows"),
            fields: table.named_strings("fields").unwrap_or_default(),
            success: table.integers("success", 100..=599),
            nothing: table.integers("nothing", 100..=599),
            refused: table.integers("refused", 100..=599),
            unknown: table.integers("unknown", 100..=599),
            error: table.string("error"),
        };
        table.finish();
        response
    }
}

impl Body {
    fn read(reading: &Reading, value: &Spanned<DeValue<'_>>, at: &str) -> Option<Self> {
        let span: Range<usize> = value.span();
        match value.get_ref() {
            DeValue::String(text) => {
                Template::read(reading.located(span, text.to_string()), reading).map(Self::Text)
            }
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                let read =
                    items.map(|(index, item)| Self::read(reading, item, &pointer(at, &index.to_string())));
                Some(Self::Items(read.collect::<Option<_>>()?))
            }
            DeValue::Table(table) => {
                let mut members = Vec::with_capacity(table.len());
                for (name, member) in in_file_order(table) {
                    let read = Self::read(reading, member, &pointer(at, name.get_ref()))?;
                    members.push((name.get_ref().to_string(), read));
                }
                Some(Self::Members(members))
            }
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
                let mut text = String::new();
                push_toml(reading, value, at, &mut Places::new(), &mut text);
                Some(Self::Literal(text))
            }
        }
    }
}

/// Stands for the words of `method` in the generated schema.
struct MethodWord;

impl JsonSchema for MethodWord {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MethodWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": METHODS.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
    }
}

/// Stands for the body in the generated schema.
struct BodyForm;

impl JsonSchema for BodyForm {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "BodyForm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["object", "array", "string"], "description": "JSON with places for values." })
    }
}
