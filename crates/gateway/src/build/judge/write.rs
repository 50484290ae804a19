//! A tool that is a list of statements: what each may do, its schemas and how they fit together.
//!
//! The store itself judges the statements. The judge of tools calls it.

use callgate_adapters::sql::without_end;
use callgate_core::contract::Mask;
use callgate_core::port::{Prepared, Statement, WriteStep};
use callgate_core::snapshot::Tool as GateTool;

use super::query::{BOUND, report};
use super::request::check_confirmed;
use super::{Judge, Judged, MAX_ROWS};
use crate::build::contract::{Origins, Schemas, compile};
use crate::build::sources::Database;
use crate::build::{columns, shapes};
use crate::config::{Effect, Finding, Located, ObjectSchema, Tool, Write, meant};
use crate::sql_write::{Form, Plan, SqlWrite};

/// The output of a tool that declares none.
const CHANGED: &str = r#"{"type":"object","properties":{"changed":{"type":"integer","minimum":0,"description":"How many rows were changed"}},"required":["changed"],"additionalProperties":false}"#;
/// The name of the array of rows where nothing is said.
const ROWS: &str = "rows";

impl Judge<'_> {
    /// Judges a tool that is a list of statements.
    pub(super) async fn write(
        &self,
        tool: &Tool,
        write: &Write,
        ready: Option<Database>,
        judged: &mut Judged,
    ) {
        let empty = || ObjectSchema::empty(tool.name.place().clone());
        let input = match &write.input {
            None => Some(empty()),
            Some(shape) => self.shape(shape, judged),
        };
        let output = write.output.as_ref().map(|shape| self.shape(shape, judged).unwrap_or_else(empty));
        let whole = input.is_some();
        let input = input.unwrap_or_else(empty);
        check_effect(tool, &mut judged.findings);
        let Some(statements) = &write.statements else { return };
        let ready = ready.and_then(|ready| writable(tool, ready, &mut judged.findings));
        let mut prepared: Vec<(&Located<String>, Prepared)> = Vec::with_capacity(statements.len());
        if let Some(ready) = &ready {
            for sql in statements.iter().filter_map(|statement| statement.sql.as_ref()) {
                let Some(source) = &ready.writes else { continue };
                match source.prepare_write(sql).await {
                    Ok(found) => prepared.push((sql, found)),
                    Err(error) => report(&error, sql, &mut judged.findings),
                }
            }
        }
        let all = prepared.len() == statements.len();
        if let (Some(ready), true) = (&ready, all) {
            self.check_bindings(tool, write, &prepared, whole.then_some(&input), ready, &mut judged.findings);
        }
        check_confirmed(tool, &input, whole, &mut judged.findings);
        input.refuse_masks(&mut judged.findings);
        let (max_rows, max_bytes) = self.bounds(tool, MAX_ROWS);
        let (_, most) = statements.last().map_or((1, 1), |statement| statement.bounds());
        let form = form(write, output.is_some());
        let items = match &form {
            Form::Rows(items) => items.clone(),
            Form::Count | Form::Row => String::new(),
        };
        let mut output = output.unwrap_or_else(empty);
        let masks = output.take_masks(&mut judged.findings);
        output.require(|property| columns::form(property).1);
        let rendered = match &form {
            Form::Count => CHANGED.to_owned(),
            Form::Row => output.text.clone(),
            Form::Rows(items) => {
                shapes::output(items, &output, usize::try_from(most).unwrap_or(max_rows), false)
            }
        };
        let mut definition = self.definition(tool, &input.text, rendered, max_bytes);
        definition.precondition = write.precondition.as_ref().map(|name| name.to_string());
        definition.implementation = Some(self.write_implementation(tool, write));
        definition.masked = masks
            .iter()
            .map(|mask| match &form {
                Form::Rows(items) => shapes::mask(items, mask),
                Form::Count | Form::Row => Mask::new(mask.path.clone(), mask.keep_last),
            })
            .collect();
        let schemas = Schemas { items: &items, input: &input, output: &output };
        let origins = Origins { tool, schemas: Some(schemas) };
        let contract = compile(&definition, &origins, self.gate, &mut judged.findings);
        let (Some(ready), true) = (ready, all) else { return };
        let mut steps = Vec::with_capacity(prepared.len());
        for (number, ((sql, found), table)) in prepared.iter().zip(statements.iter()).enumerate() {
            let gives = number + 1 == prepared.len() && form != Form::Count;
            let columns = match gives {
                true => columns::columns(&output, &found.columns, &mut judged.findings),
                false => Vec::new(),
            };
            let statement = Statement { sql: without_end(sql, ready.dialect), columns, key: Vec::new() };
            let (min_rows, max_rows) = table.bounds();
            steps.push(WriteStep { statement, min_rows, max_rows });
        }
        let (Some(source), false) = (ready.writes, judged.has_errors()) else { return };
        for (step, (sql, _)) in steps.iter().zip(&prepared) {
            if let Err(error) = source.check_write(step).await {
                report(&error, sql, &mut judged.findings);
                return;
            }
        }
        let mut parameters: Vec<String> = Vec::new();
        let mut compared = Vec::new();
        for (number, (_, found)) in prepared.iter().enumerate() {
            for (name, _) in &found.parameters {
                if write.precondition.as_ref().is_some_and(|compared| compared.as_str() == name) {
                    compared.push(number);
                }
                if !parameters.contains(name) {
                    parameters.push(name.clone());
                }
            }
        }
        let plan = Plan {
            steps: steps.into(),
            parameters,
            compared,
            result: form,
            masks: !masks.is_empty(),
            max_bytes,
        };
        judged.tool = contract.map(|contract| GateTool::new(contract, SqlWrite::new(plan, source)));
    }

    fn check_bindings(
        &self,
        tool: &Tool,
        write: &Write,
        prepared: &[(&Located<String>, Prepared)],
        input: Option<&ObjectSchema>,
        ready: &Database,
        findings: &mut Vec<Finding>,
    ) {
        let has = |found: &Prepared, name: &str| found.parameters.iter().any(|(other, _)| other == name);
        let binds = |name: &str| prepared.iter().any(|(_, found)| has(found, name));
        for (sql, found) in prepared {
            if ready.tenant_scoped && !has(found, "tenant") {
                let message = "the source is tenant_scoped, and the statement does not bind `:tenant`";
                let remedy = "write and compare the caller's tenant in each statement, for example `where tenant_id = \
                              :tenant`";
                findings.push(Finding::error("tenant_unbound", message, remedy).at(sql.place().clone()));
            }
            let Some(input) = input else { continue };
            let known: Vec<&str> = input.properties.iter().map(|property| property.name.as_str()).collect();
            for (name, at) in &found.parameters {
                if BOUND.contains(&name.as_str()) || input.property(name).is_some() {
                    continue;
                }
                let message =
                    format!("the parameter `:{name}` is no property of the input{}", meant(name, &known));
                let remedy =
                    format!("add it to [tool.{}.input], or remove it from the statement", tool.name.as_str());
                let finding = Finding::error("unknown_parameter", message, remedy);
                findings.push(finding.at(sql.place_within(at.clone())));
            }
        }
        for property in input.iter().flat_map(|input| &input.properties) {
            let (code, message, remedy) = if BOUND.contains(&property.name.as_str()) {
                (
                    "reserved_input",
                    format!("`{}` comes from the caller's identity and cannot be an input", property.name),
                    format!("remove it from the input; `:{}` is bound without it", property.name),
                )
            } else if !binds(&property.name) && !tool.has_key(&property.name) {
                (
                    "unused_input",
                    format!("no statement uses the input `{}`", property.name),
                    format!("use it as `:{}` in a statement, or remove it from the input", property.name),
                )
            } else {
                continue;
            };
            findings.push(Finding::error(code, message, remedy).at(property.place.clone()));
        }
        check_precondition(write, prepared, findings);
        let auth = self.config.auth.as_ref();
        let has_callers = auth.is_some_and(|auth| auth.local.is_some() || auth.has_credentials());
        if let Some((sql, _)) = prepared.iter().find(|(_, found)| has(found, "tenant"))
            && !has_callers
        {
            let finding = Finding::warning(
                "tenant_unknown",
                "the statement binds `:tenant`, and no caller has a tenant",
                "say who calls: `[auth.local]`, `[auth.oauth]` or `[auth.token]`; until then every call is refused",
            );
            findings.push(finding.at(sql.place().clone()));
        }
    }

    /// What carries the tool out, for its digest.
    fn write_implementation(&self, tool: &Tool, write: &Write) -> String {
        let source = self.place_of_data(tool);
        let statements: Vec<_> = write
            .statements
            .iter()
            .flat_map(|statements| statements.iter())
            .map(|statement| (statement.sql.as_ref().map(|sql| sql.as_str().to_owned()), statement.bounds()))
            .collect();
        // The debug form of texts quotes and escapes them, so that no two implementations share one.
        format!("{statements:?} {source:?}")
    }
}

/// What the result is: one row where the last statement gives exactly one and nobody asks for an array.
fn form(write: &Write, has_output: bool) -> Form {
    let last = write.statements.as_ref().and_then(|statements| statements.last());
    match (&write.items, last.map(|statement| statement.bounds())) {
        _ if !has_output => Form::Count,
        (None, Some((1, 1))) => Form::Row,
        (items, _) => Form::Rows(items.as_ref().map_or_else(|| ROWS.to_owned(), |items| items.to_string())),
    }
}

/// A list of statements changes something, or it would be a query.
fn check_effect(tool: &Tool, findings: &mut Vec<Finding>) {
    if let Some(effect) = tool.effect.as_ref().filter(|effect| ***effect <= Effect::Preview) {
        let message = format!("`{}` has `statements`, and says that it changes nothing", tool.name.as_str());
        let remedy = "write `effect = \"append\"`, `\"update\"` or `\"destructive\"`, or read with one query under `sql`";
        findings.push(Finding::error("wrong_effect", message, remedy).at(effect.place().clone()));
    }
}

/// A source is written to only when it says so.
fn writable(tool: &Tool, ready: Database, findings: &mut Vec<Finding>) -> Option<Database> {
    if ready.writes.is_some() {
        return Some(ready);
    }
    let place = tool.source.as_ref().map_or(tool.name.place(), Located::place);
    let finding = Finding::error(
        "source_read_only",
        format!("`{}` changes rows, and its source is only read", tool.name.as_str()),
        "write `writes = true` under the source, and run `callgate migrate`, which adds a table to it",
    );
    findings.push(finding.at(place.clone()));
    None
}

/// A version that no statement compares protects nothing.
fn check_precondition(write: &Write, prepared: &[(&Located<String>, Prepared)], findings: &mut Vec<Finding>) {
    let Some(name) = &write.precondition else { return };
    let compares = prepared.iter().zip(write.statements.iter().flat_map(|list| list.iter())).any(
        |((_, found), table)| {
            table.bounds().0 > 0 && found.parameters.iter().any(|(other, _)| other == name.as_str())
        },
    );
    if !compares {
        let finding = Finding::error(
            "precondition",
            format!("no statement that must change a row compares `:{}`", name.as_str()),
            format!(
                "add `and version = :{}` to the statement that writes, and keep its rows at least 1",
                name.as_str()
            ),
        );
        findings.push(finding.at(name.place().clone()));
    }
}
