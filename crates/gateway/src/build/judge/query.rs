//! A tool that is one query: its statement, its schemas and how they fit together.
//!
//! The store itself judges the statement. The judge of tools calls it.

use std::sync::Arc;

use callgate_adapters::sql::{directions, without_end};
use callgate_core::artifact::link_result_schema;
use callgate_core::contract::schema::Schema;
use callgate_core::contract::{Contract, Definition, Delivery};
use callgate_core::port::{Prepared, SortKey, SourceError, Statement};
use callgate_core::snapshot::Tool as GateTool;

use super::{Judge, Judged, MAX_ROWS};
use crate::build::contract::{Origins, Schemas, compile};
use crate::build::sources::{Database, unreachable};
use crate::build::{columns, shapes};
use crate::config::{
    self, Deliver, Direction, FieldMask, Finding, Located, ObjectSchema, Query, Shape, Tool, listed, meant,
    read_file,
};
use crate::files::FileState;
use crate::sql_tool::{Delivered, Format, Formulas, Plan, SqlTool};

/// Parameters that are the caller's and never the model's.
pub(super) const BOUND: [&str; 2] = ["tenant", "principal"];
/// Bytes of a result that is a link.
const LINK_BYTES: usize = 64 << 10;
/// Rows of a file where nothing is said.
const FILE_ROWS: usize = 100_000;
/// The name of the array of rows where nothing is said.
const ROWS: &str = "rows";

impl Judge<'_> {
    /// Judges a tool that is one query.
    pub(super) async fn query(
        &self,
        tool: &Tool,
        query: &Query,
        ready: Option<Database>,
        judged: &mut Judged,
    ) {
        let input = match &query.input {
            None => Some(ObjectSchema::empty(tool.name.place().clone())),
            Some(shape) => self.shape(shape, judged),
        };
        let output = query.output.as_ref().and_then(|shape| self.shape(shape, judged));
        let prepared = match (&ready, &query.sql) {
            (Some(ready), Some(sql)) => self.prepare(ready, sql, &mut judged.findings).await,
            _ => None,
        };
        if let (Some(prepared), Some(input), Some(ready)) = (&prepared, &input, &ready) {
            self.check_parameters(tool, query, prepared, input, ready, &mut judged.findings);
        }
        // A shape that could not be read was reported; the other one is judged all the same.
        let empty = || ObjectSchema::empty(tool.name.place().clone());
        let (input, mut output) = (input.unwrap_or_else(empty), output.unwrap_or_else(empty));
        input.refuse_masks(&mut judged.findings);
        let masks = output.take_masks(&mut judged.findings);
        output.require(|property| columns::form(property).1);
        let items = items(query, &mut judged.findings);
        let (max_rows, max_bytes) = self.page_bounds(tool, query, &mut judged.findings);
        let deliver = query.deliver.as_ref().map(|deliver| **deliver);
        // What the query may give; a message may hold less.
        let query_bytes = match deliver {
            // Around the rows stand their name and whether they are all.
            Some(Deliver::Overflow) => {
                usize::try_from(self.gate.artifact_bytes).unwrap_or(usize::MAX).saturating_sub(1 << 10)
            }
            _ => max_bytes,
        };
        let paged = query.page.is_some();
        let input = if paged { shapes::with_cursor(input) } else { input };
        let rendered = shapes::output(&items, &output, max_rows, paged);
        let mut definition = self.definition(tool, &input.text, rendered, max_bytes);
        definition.implementation = Some(self.implementation(tool, query));
        definition.masked = masks.iter().map(|mask| shapes::mask(&items, mask)).collect();
        let schemas = Schemas { items: &items, input: &input, output: &output };
        let origins = Origins { tool, schemas: Some(schemas) };
        if deliver == Some(Deliver::Overflow) {
            definition.delivery = Delivery::Overflow;
            // Around the rows stand their name and whether they are all; there is no cursor.
            definition.output_bytes = Some(max_bytes.saturating_add(items.len()).saturating_add(64));
        }
        let mut contract = compile(&definition, &origins, self.gate, &mut judged.findings);
        let mut delivered = None;
        if let Some(format) = format(query) {
            refuse_masks(&masks, tool, &mut judged.findings);
            // The rows were judged as those of a message are; what leaves is a link to them.
            delivered = self.delivered(format, &output);
            contract = self.link(definition, format);
        }
        let (Some(prepared), Some(ready), Some(sql)) = (prepared, ready, &query.sql) else { return };
        let statement = Statement {
            sql: without_end(sql, ready.dialect),
            columns: columns::columns(&output, &prepared.columns, &mut judged.findings),
            key: key(query, sql, &prepared, &ready, &mut judged.findings),
        };
        if judged.has_errors() {
            return;
        }
        if let Err(error) = ready.source.check(&statement).await {
            report(&error, sql, &mut judged.findings);
            return;
        }
        let parameters = prepared.parameters.into_iter().map(|(name, _)| name).collect();
        let plan = Plan {
            statement: Arc::new(statement),
            parameters,
            items,
            max_rows,
            max_bytes: query_bytes,
            paged,
            delivered,
            cursor_lifetime: self.cursor_lifetime(),
        };
        judged.tool = contract.map(|contract| {
            GateTool::new(contract, SqlTool::new(plan, ready.source, Arc::clone(self.seals)))
        });
    }

    /// How rows become a file. A schema that cannot be compiled was reported with the contract.
    fn delivered(&self, format: Format, row: &ObjectSchema) -> Option<Delivered> {
        Schema::compile(row.text.as_str(), &self.gate.schema).ok().map(|row| Delivered { format, row })
    }

    /// The contract of a tool whose result is a link to a file.
    fn link(&self, mut definition: Definition, format: Format) -> Option<Contract> {
        // The form and the schema of the rows are part of what the tool promises.
        let rows = definition.output_schema.replace(link_result_schema());
        let implementation = definition.implementation.take();
        definition.implementation = Some(format!("{implementation:?} {format:?} {rows:?}"));
        definition.delivery = Delivery::Artifact;
        definition.output_bytes = Some(LINK_BYTES);
        Contract::new(&definition, self.gate).ok()
    }

    pub(super) fn shape(&self, shape: &Shape, judged: &mut Judged) -> Option<ObjectSchema> {
        match shape {
            Shape::Inline(schema) => Some(schema.clone()),
            Shape::File(path) => {
                judged.files.push(FileState::now(self.directory.join(path.as_str())));
                read_file(path, self.directory, self.limits)
                    .map_err(|finding| judged.findings.push(finding))
                    .ok()
            }
        }
    }

    async fn prepare(
        &self,
        ready: &Database,
        sql: &Located<String>,
        findings: &mut Vec<Finding>,
    ) -> Option<Prepared> {
        if sql.len() > self.limits.sql_bytes {
            let message = format!("the statement has more than {} bytes", self.limits.sql_bytes);
            let finding = Finding::error("too_long", message, "put it into a view and select from that");
            findings.push(finding.at(sql.place().clone()));
            return None;
        }
        let prepared = ready.source.prepare(sql).await.map_err(|error| report(&error, sql, findings)).ok()?;
        for (what, count, limit) in [
            ("columns", prepared.columns.len(), self.limits.columns),
            ("parameters", prepared.parameters.len(), self.limits.parameters),
        ] {
            if count > limit {
                let message = format!("the statement has more than {limit} {what}");
                let finding = Finding::error("too_many", message, "split the tool");
                findings.push(finding.at(sql.place().clone()));
            }
        }
        Some(prepared)
    }

    fn check_parameters(
        &self,
        tool: &Tool,
        query: &Query,
        prepared: &Prepared,
        input: &ObjectSchema,
        ready: &Database,
        findings: &mut Vec<Finding>,
    ) {
        let Some(sql) = &query.sql else { return };
        let binds = |name: &str| prepared.parameters.iter().any(|(other, _)| other == name);
        let known: Vec<&str> = input.properties.iter().map(|property| property.name.as_str()).collect();
        for (name, at) in &prepared.parameters {
            if BOUND.contains(&name.as_str()) || input.property(name).is_some() {
                continue;
            }
            let message =
                format!("the parameter `:{name}` is no property of the input{}", meant(name, &known));
            let remedy =
                format!("add it to [tool.{}.input], or remove it from the query", tool.name.as_str());
            findings
                .push(Finding::error("unknown_parameter", message, remedy).at(sql.place_within(at.clone())));
        }
        for property in &input.properties {
            let (code, message, remedy) = if BOUND.contains(&property.name.as_str()) {
                (
                    "reserved_input",
                    format!("`{}` comes from the caller's identity and cannot be an input", property.name),
                    format!("remove it from the input; `:{}` is bound without it", property.name),
                )
            } else if property.name == "cursor" && query.page.is_some() {
                (
                    "reserved_input",
                    "`cursor` is added to the input of a paged tool".to_owned(),
                    "remove it from the input".to_owned(),
                )
            } else if !binds(&property.name) {
                (
                    "unused_input",
                    format!("the query never uses the input `{}`", property.name),
                    format!("use it as `:{}` in the query, or remove it from the input", property.name),
                )
            } else {
                continue;
            };
            findings.push(Finding::error(code, message, remedy).at(property.place.clone()));
        }
        if ready.tenant_scoped && !binds("tenant") {
            let finding = Finding::error(
                "tenant_unbound",
                "the source is tenant_scoped, and the query does not bind `:tenant`",
                "restrict the rows to the caller's tenant, for example `where tenant_id = :tenant`",
            );
            findings.push(finding.at(sql.place().clone()));
        }
        let auth = self.config.auth.as_ref();
        let has_callers = auth.is_some_and(|auth| auth.local.is_some() || auth.has_credentials());
        if binds("tenant") && !has_callers {
            let finding = Finding::warning(
                "tenant_unknown",
                "the query binds `:tenant`, and no caller has a tenant",
                "say who calls: `[auth.local]`, `[auth.oauth]` or `[auth.token]`; until then every call is refused",
            );
            findings.push(finding.at(sql.place().clone()));
        }
    }

    /// The bounds on rows and bytes; a page has its own of rows.
    fn page_bounds(&self, tool: &Tool, query: &Query, findings: &mut Vec<Finding>) -> (usize, usize) {
        let (max_rows, max_bytes) = match tool.is_file() {
            false => self.bounds(tool, MAX_ROWS),
            true => {
                let own = |number: &Option<Located<u64>>| {
                    number.as_ref().and_then(|number| usize::try_from(**number).ok())
                };
                let most = usize::try_from(self.gate.artifact_bytes).unwrap_or(usize::MAX);
                (own(&tool.max_rows).unwrap_or(FILE_ROWS), own(&tool.max_bytes).unwrap_or(most))
            }
        };
        let size = query.page.as_ref().and_then(|page| page.size.as_ref());
        let Some(size) = size else { return (max_rows, max_bytes) };
        let rows = usize::try_from(**size).unwrap_or(max_rows);
        if rows > max_rows {
            let finding = Finding::error(
                "out_of_range",
                format!("a page of {rows} rows is larger than `max_rows`, which is {max_rows}"),
                "choose a smaller page, or a larger `max_rows`",
            );
            findings.push(finding.at(size.place().clone()));
        }
        (rows, max_bytes)
    }

    /// What carries the tool out: a cursor goes on with one question to one store in one order, and a
    /// receipt names all three.
    fn implementation(&self, tool: &Tool, query: &Query) -> String {
        let source = self.place_of_data(tool);
        let sql = query.sql.as_ref().map(|text| text.as_str().to_owned());
        let key = query.page.iter().flat_map(|page| &page.key);
        let key: Vec<_> = key.map(|key| (key.column.as_str().to_owned(), key.direction)).collect();
        // The debug form of texts quotes and escapes them, so that no two implementations share one.
        format!("{sql:?} {source:?} {key:?}")
    }
}

/// The form of the file, where rows are delivered as one.
fn format(query: &Query) -> Option<Format> {
    let formulas = match query.formulas.as_ref().map(|formulas| **formulas) {
        Some(config::Formulas::Keep) => Formulas::Kept,
        Some(config::Formulas::Escape) | None => Formulas::Escaped,
    };
    match query.deliver.as_ref().map(|deliver| **deliver)? {
        Deliver::Csv => Some(Format::Csv(formulas)),
        Deliver::Jsonl => Some(Format::JsonLines),
        Deliver::Overflow => None,
    }
}

/// Fields are masked in results, and a file is read past them.
fn refuse_masks(masks: &[FieldMask], tool: &Tool, findings: &mut Vec<Finding>) {
    if masks.is_empty() {
        return;
    }
    let message = "a file that is delivered has no masked fields";
    let remedy = "leave the column out, mask it in the query, or deliver the rows in the message";
    findings.push(Finding::error("conflict", message, remedy).at(tool.name.place().clone()));
}

fn items(query: &Query, findings: &mut Vec<Finding>) -> String {
    let Some(items) = &query.items else { return ROWS.to_owned() };
    if items.is_empty() || matches!(items.as_str(), "nextCursor" | "truncated") {
        let finding = Finding::error(
            "invalid_name",
            format!("the array of rows cannot be named {:?}", items.as_str()),
            "name it after what a row is, for example `items = \"invoices\"`",
        );
        findings.push(finding.at(items.place().clone()));
        return ROWS.to_owned();
    }
    items.to_string()
}

fn key(
    query: &Query,
    sql: &Located<String>,
    prepared: &Prepared,
    ready: &Database,
    findings: &mut Vec<Finding>,
) -> Vec<SortKey> {
    let Some(page) = &query.page else { return Vec::new() };
    let ordered = directions(sql, ready.dialect);
    let names: Vec<&str> = prepared.columns.iter().map(|column| column.name.as_str()).collect();
    let mut key = Vec::with_capacity(page.key.len());
    for part in &page.key {
        let column = &part.column;
        let matching = names.iter().filter(|name| **name == column.as_str()).count();
        if matching != 1 {
            let finding = Finding::error(
                "page_key",
                format!(
                    "the page key names `{}`, which is {} of the query{}",
                    column.as_str(),
                    if matching == 0 { "no column" } else { "two columns" },
                    meant(column, &names)
                ),
                format!("name columns that the query gives once: {}", listed(&names)),
            );
            findings.push(finding.at(column.place().clone()));
            continue;
        }
        let own = ordered.iter().find(|(name, _)| name == column.as_str()).map(|(_, descending)| *descending);
        let written = part.direction.map(|direction| direction == Direction::Descending);
        if let (Some(written), Some(own)) = (written, own)
            && written != own
        {
            let finding = Finding::error(
                "page_key",
                format!("the page key and the query order `{}` in opposite directions", column.as_str()),
                "leave the direction out of the page key, or make both the same",
            );
            findings.push(finding.at(column.place().clone()));
        }
        let descending = written.or(own).unwrap_or(false);
        key.push(SortKey { column: column.to_string(), descending });
    }
    key
}

/// What a source said about a statement, at its place in the statement.
pub(super) fn report(error: &SourceError, sql: &Located<String>, findings: &mut Vec<Finding>) {
    let SourceError::Statement(faults) = error else {
        findings.push(unreachable(error).at(sql.place().clone()));
        return;
    };
    for fault in faults {
        let place = fault.at.clone().map_or_else(|| sql.place().clone(), |at| sql.place_within(at));
        findings.push(Finding::error(fault.code, fault.message.as_str(), fault.remedy.as_str()).at(place));
    }
}
