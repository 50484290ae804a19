//! A tool that is one request: what is sent, what of the response is the result, and how they fit the schemas.
//!
//! The service is not asked anything. Where values stand is settled here; what may stand there is checked for each
//! call. The judge of tools calls it.

use std::sync::Arc;

use callgate_adapters::http::Statuses;
use callgate_core::contract::Mask;
use callgate_core::snapshot::Tool as GateTool;
use callgate_protocol::json::{Document, Limits as JsonLimits};
use http::Method;

use super::{Judge, Judged, MAX_ROWS};
use crate::build::contract::{Origins, Schemas, compile};
use crate::build::shapes;
use crate::build::sources::http::{Remote, header_name};
use crate::config::{
    Effect, Finding, Located, ObjectSchema, Property, Request, RequestTable, ResponseTable, Tool, listed,
    meant,
};
use crate::http_tool::{Field, HttpTool, Plan, Projection, Rows, Selection, Source};

mod parts;
mod reconcile;
mod values;

use values::Scope;

/// The name of the array of rows where nothing is said.
const ROWS: &str = "rows";

impl Judge<'_> {
    /// Judges a tool that is one request.
    pub(super) fn request(
        &self,
        tool: &Tool,
        request: &Request,
        remote: Option<Remote>,
        judged: &mut Judged,
    ) {
        let empty = || ObjectSchema::empty(tool.name.place().clone());
        let input = match &request.input {
            None => Some(empty()),
            Some(shape) => self.shape(shape, judged),
        };
        let output = match &request.output {
            None => Some(empty()),
            Some(shape) => self.shape(shape, judged),
        };
        let Some(table) = &request.request else { return };
        let whole = input.is_some();
        let (input, mut output) = (input.unwrap_or_else(empty), output.unwrap_or_else(empty));
        check_method(tool, table, &mut judged.findings);
        reconcile::check(tool, request, table, remote.as_ref(), &mut judged.findings);
        check_confirmed(tool, &input, whole, &mut judged.findings);
        input.refuse_masks(&mut judged.findings);
        let masks = output.take_masks(&mut judged.findings);
        let mut scope = Scope::new(&input, whole);
        let path = parts::path(table, &mut scope, &mut judged.findings);
        let query = parts::query(table, &mut scope, &mut judged.findings);
        let headers = parts::headers(table, self.directory, &mut scope, judged);
        let body = table.body.as_ref().map(|body| parts::body(body, &mut scope, &mut judged.findings));
        let forwards = table.forward_mirrored.as_ref().is_some_and(|flag| **flag);
        scope.finish(tool, table, remote.as_ref(), forwards, &mut judged.findings);
        self.check_tenant(&scope, table, &mut judged.findings);
        let idempotency = idempotency(tool, table, &mut judged.findings);
        let response = request.response.clone().unwrap_or_default();
        let items = items(request, &response, &mut judged.findings);
        let (max_rows, max_bytes) = self.bounds(tool, MAX_ROWS);
        let rendered = match &response.rows {
            Some(_) => shapes::output(&items, &output, max_rows, false),
            None => output.text.clone(),
        };
        let mut definition = self.definition(tool, &input.text, rendered, max_bytes);
        definition.masked = masks
            .iter()
            .map(|mask| match &response.rows {
                Some(_) => shapes::mask(&items, mask),
                None => Mask::new(mask.path.clone(), mask.keep_last),
            })
            .collect();
        if let (Some(error), false) = (&response.error, masks.is_empty()) {
            let message = "a tool that masks fields cannot show what the service says of a failure";
            let remedy = "remove `error`, because nobody knows what stands in such a text, or the masks";
            judged.findings.push(Finding::error("conflict", message, remedy).at(error.place().clone()));
        }
        let selection =
            selection(&response, &output, items.clone(), max_rows, max_bytes, &mut judged.findings);
        let error = response.error.as_ref().and_then(|error| pointer(error, &mut judged.findings));
        let statuses = Statuses { refused: numbers(&response.refused), unknown: numbers(&response.unknown) };
        check_statuses(&response, &mut judged.findings);
        let plan = Plan {
            method: table
                .method
                .as_ref()
                .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
                .unwrap_or(Method::GET),
            path,
            query,
            headers,
            body,
            forward_mirrored: forwards,
            trace: remote.as_ref().is_some_and(|remote| remote.trace),
            idempotency,
            delegated: remote.as_ref().is_some_and(|remote| remote.service.delegate().is_some()),
            success: numbers(&response.success),
            nothing: numbers(&response.nothing),
            statuses,
            selection,
            error,
            reconcile: request.reconcile.as_ref().map(|table| reconcile::plan(table, &mut judged.findings)),
        };
        definition.implementation = Some(self.request_implementation(tool, table, &plan));
        let schemas = Schemas { items: &items, input: &input, output: &output };
        let origins = Origins { tool, schemas: Some(schemas) };
        let contract = compile(&definition, &origins, self.gate, &mut judged.findings);
        let (Some(contract), Some(remote)) = (contract, remote) else { return };
        if judged.has_errors() {
            return;
        }
        let delegate = remote.service.delegate();
        let made = GateTool::new(contract, HttpTool::new(plan, Arc::clone(&remote.service)));
        judged.tool = Some(match delegate {
            Some(delegate) => made.with_delegate(delegate),
            None => made,
        });
    }

    /// What carries the tool out: a receipt names it, and an approval is one of it. Secrets are named by where they
    /// are found.
    fn request_implementation(&self, tool: &Tool, table: &RequestTable, plan: &Plan) -> String {
        let secrets = parts::secrets(table);
        let source = self.place_of_data(tool);
        // The debug form of texts quotes and escapes them, so that no two implementations share one.
        format!("{plan:?} {secrets:?} {source:?}")
    }

    /// Nobody could call a tool that needs a tenant where no caller has one.
    fn check_tenant(&self, scope: &Scope<'_>, table: &RequestTable, findings: &mut Vec<Finding>) {
        let auth = self.config.auth.as_ref();
        let has_callers = auth.is_some_and(|auth| auth.local.is_some() || auth.has_credentials());
        if scope.uses_tenant() && !has_callers {
            let finding = Finding::warning(
                "tenant_unknown",
                "the request sends `{tenant}`, and no caller has a tenant",
                "say who calls: `[auth.local]`, `[auth.oauth]` or `[auth.token]`; until then every call is refused",
            );
            let place = table.path.as_ref().map(|path| path.text.place().clone());
            findings.push(place.map_or(finding.clone(), |place| finding.at(place)));
        }
    }
}

/// The statuses of a list.
fn numbers(list: &Option<Located<Vec<Located<u64>>>>) -> Vec<u16> {
    let all = list.iter().flat_map(|list| list.iter());
    all.filter_map(|number| u16::try_from(**number).ok()).collect()
}

/// A method says of itself whether it may change something; a tool may not say otherwise.
fn check_method(tool: &Tool, table: &RequestTable, findings: &mut Vec<Finding>) {
    let (Some(method), Some(effect)) = (&table.method, &tool.effect) else { return };
    let changes = **effect > Effect::Preview;
    let (message, remedy) = match **method {
        "GET" | "HEAD" if changes => (
            format!(
                "the method {} changes nothing by its definition, and what stands between repeats it",
                **method
            ),
            "use the method with which the service changes something, or declare what only reads as a reading tool",
        ),
        "PUT" | "PATCH" | "DELETE" if !changes => (
            format!("the method {} changes something, and the effect says that the tool does not", **method),
            "declare the effect that the tool has: `append`, `update` or `destructive`",
        ),
        _ => return,
    };
    findings.push(Finding::error("wrong_effect", message, remedy).at(method.place().clone()));
}

/// An input that is to be shown and is none would be missing where a person decides.
pub(super) fn check_confirmed(tool: &Tool, input: &ObjectSchema, whole: bool, findings: &mut Vec<Finding>) {
    let known: Vec<&str> = input.properties.iter().map(|property| property.name.as_str()).collect();
    for name in tool.confirm.iter().flat_map(|names| names.iter()) {
        if whole && input.property(name).is_none() {
            let message =
                format!("`{}` is to be confirmed and is no input{}", name.as_str(), meant(name, &known));
            let remedy = "name inputs of the tool, or remove `confirm`: a person then sees all of them";
            findings.push(Finding::error("unknown_parameter", message, remedy).at(name.place().clone()));
        }
    }
}

/// A status that is said to mean two things.
fn check_statuses(response: &ResponseTable, findings: &mut Vec<Finding>) {
    let lists = [&response.success, &response.nothing, &response.refused, &response.unknown];
    let all: Vec<&Located<u64>> = lists.into_iter().flatten().flat_map(|list| list.iter()).collect();
    for (index, status) in all.iter().enumerate() {
        if all.iter().take(index).any(|other| ***other == ***status) {
            let message = format!("the status {} is named twice", ***status);
            let finding = Finding::error("conflict", message, "say once what it means");
            findings.push(finding.at(status.place().clone()));
        }
    }
    if let (Some(nothing), None) = (&response.nothing, &response.rows) {
        let finding = Finding::error(
            "conflict",
            "a result without rows cannot be empty",
            "remove `nothing`: such a status is then told as a failure; or name the array of rows with `rows`",
        );
        findings.push(finding.at(nothing.place().clone()));
    }
}

fn idempotency(tool: &Tool, table: &RequestTable, findings: &mut Vec<Finding>) -> Option<http::HeaderName> {
    let header = table.idempotency_header.as_ref()?;
    if tool.effect.as_ref().is_some_and(|effect| **effect <= Effect::Preview) {
        let message = "a tool that changes nothing has no key to send";
        let finding = Finding::error("conflict", message, "remove `idempotency_header`");
        findings.push(finding.at(header.place().clone()));
    }
    header_name(header, findings)
}

fn items(request: &Request, response: &ResponseTable, findings: &mut Vec<Finding>) -> String {
    let Some(items) = &request.items else { return ROWS.to_owned() };
    if response.rows.is_none() {
        let message = "the result has no rows that could be named";
        let remedy = "say with `rows` under `response` where in the body they are, or remove `items`";
        findings.push(Finding::error("conflict", message, remedy).at(items.place().clone()));
    } else if items.is_empty() || items.as_str() == "truncated" {
        let finding = Finding::error(
            "invalid_name",
            format!("the array of rows cannot be named {:?}", items.as_str()),
            "name it after what a row is, for example `items = \"tickets\"`",
        );
        findings.push(finding.at(items.place().clone()));
        return ROWS.to_owned();
    }
    items.to_string()
}

fn selection(
    response: &ResponseTable,
    output: &ObjectSchema,
    items: String,
    max_rows: usize,
    max_bytes: usize,
    findings: &mut Vec<Finding>,
) -> Selection {
    let place = |text: &Option<Located<String>>, findings: &mut Vec<Finding>| {
        text.as_ref().map(|text| pointer(text, findings).unwrap_or_default())
    };
    let select = place(&response.select, findings).unwrap_or_default();
    let rows = place(&response.rows, findings).map(|pointer| Rows { pointer, items, max_rows, max_bytes });
    let known: Vec<&str> = output.properties.iter().map(|property| property.name.as_str()).collect();
    for (name, _) in &response.fields {
        if output.property(name).is_none() {
            let finding = Finding::error(
                "unknown_field",
                format!("the output has no field `{}`{}", name.as_str(), meant(name, &known)),
                format!("declare it in the output, or use one of {}", listed(&known)),
            );
            findings.push(finding.at(name.place().clone()));
        }
    }
    let fields = output.properties.iter().map(|property| {
        let written = response.fields.iter().find(|(name, _)| name.as_str() == property.name);
        field(property, written.map(|(_, source)| source), findings)
    });
    Selection { select, rows, fields: fields.collect(), limits: JsonLimits::DEFAULT.with_bytes(64 << 20) }
}

fn field(property: &Property, written: Option<&Located<String>>, findings: &mut Vec<Finding>) -> Field {
    let source = match written {
        None => Source::Body(vec![property.name.clone()]),
        Some(text) => match text.strip_prefix("header:") {
            Some(name) => {
                let name = Located::new(name.to_owned(), text.place().clone());
                let parsed = name.parse::<http::HeaderName>();
                parsed.map_or_else(
                    |_| {
                        let message = format!("{:?} is no name of a header", name.as_str());
                        let finding =
                            Finding::error("invalid_header", message, "write it as in `header:ETag`");
                        findings.push(finding.at(name.place().clone()));
                        Source::Body(Vec::new())
                    },
                    Source::Header,
                )
            }
            None => Source::Body(pointer(text, findings).unwrap_or_default()),
        },
    };
    let document = Document::parse(property.text.as_str(), &JsonLimits::default()).ok();
    let schema = document.as_ref().map(Document::root);
    Field {
        name: property.name.clone(),
        source,
        nullable: schema.is_none_or(crate::http_tool::is_nullable),
        projection: schema.map_or(Projection::Whole, Projection::of),
    }
}

/// The parts of a JSON Pointer.
fn pointer(text: &Located<String>, findings: &mut Vec<Finding>) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let parts = text.strip_prefix('/').map(|rest| {
        rest.split('/').map(|part| {
            let escapes = part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
            escapes.then(|| part.replace("~1", "/").replace("~0", "~"))
        })
    });
    let parts = parts.and_then(|parts| parts.collect::<Option<Vec<_>>>());
    if parts.is_none() {
        let finding = Finding::error(
            "invalid_pointer",
            format!("{:?} is no JSON Pointer", text.as_str()),
            "write the names of members, each after a slash, as in `/data/items`, or `\"\"` for the whole",
        );
        findings.push(finding.at(text.place().clone()));
    }
    parts
}
