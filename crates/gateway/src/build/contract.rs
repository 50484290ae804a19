//! Compiling the contract of a tool, and putting its faults and the lint's findings where they belong.
//!
//! The rules are those of the core; only their places are found here. The judge of tools calls it.

use callgate_core::contract::lint::{self, lint};
use callgate_core::contract::{Contract, Definition};
use callgate_core::limits::Limits as GateLimits;

use super::shapes::row_pointer;
use crate::config::{Finding, ObjectSchema, Place, Tool, nearest_place};

/// Where the parts of a definition were written.
pub(super) struct Origins<'t> {
    pub(super) tool: &'t Tool,
    /// The schemas, where the file has them.
    pub(super) schemas: Option<Schemas<'t>>,
}

/// Where the schemas of a definition were written.
pub(super) struct Schemas<'t> {
    pub(super) items: &'t str,
    pub(super) input: &'t ObjectSchema,
    pub(super) output: &'t ObjectSchema,
}

/// The contract, or nothing when it has a fault.
pub(super) fn compile(
    definition: &Definition,
    origins: &Origins<'_>,
    limits: &GateLimits,
    findings: &mut Vec<Finding>,
) -> Option<Contract> {
    for found in lint(definition, limits) {
        let place = origins.place(found.member, &found.pointer);
        let finding = match found.severity {
            lint::Severity::Error => Finding::error(found.rule, found.message, found.remedy),
            lint::Severity::Warning => Finding::warning(found.rule, found.message, found.remedy),
        };
        findings.push(finding.at(place));
    }
    match Contract::new(definition, limits) {
        Ok(contract) => Some(contract),
        Err(faults) => {
            findings.extend(faults.into_iter().map(|fault| {
                let place = origins.place(fault.member, &fault.pointer);
                let code = if fault.member.ends_with("Schema") { "bad_schema" } else { "bad_definition" };
                Finding::error(code, fault.problem, origins.remedy(fault.member).unwrap_or(fault.remedy))
                    .at(place)
            }));
            None
        }
    }
}

impl Origins<'_> {
    /// What to write, where the file says nothing yet.
    fn remedy(&self, member: &str) -> Option<String> {
        let remedy = match member {
            "idempotency" if self.tool.idempotency.is_none() => {
                "add `idempotency = { key = \"request\" }` where callers send a key in `_meta`, `{ key = \"argument\", argument \
                 = \"NAME\" }` where an input carries it, or `{ key = \"input\" }` where equal arguments are one call"
            }
            "resolution" if self.tool.unknown.is_none() => {
                "add `unknown = \"backend\"` where it keeps the key with the effect and can be asked, or `unknown = \
                 \"person\"`"
            }
            _ => return None,
        };
        Some(remedy.to_owned())
    }

    fn place(&self, member: &str, pointer: &str) -> Place {
        let in_schema = |schema: &ObjectSchema, pointer: &str| {
            // The root is the whole table or file, which says less than the line that begins it.
            nearest_place(&schema.places, pointer).unwrap_or(&schema.place).clone()
        };
        let written = match member {
            "inputSchema" => self.schemas.as_ref().map(|schemas| in_schema(schemas.input, pointer)),
            "outputSchema" => self
                .schemas
                .as_ref()
                .map(|schemas| in_schema(schemas.output, row_pointer(schemas.items, pointer))),
            "masked" => self.schemas.as_ref().map(|schemas| {
                let row = pointer.split_once("/*").map_or(pointer, |(_, path)| path);
                let property = row.trim_start_matches('/').split('/').next().unwrap_or_default();
                in_schema(schemas.output, &format!("/properties/{property}"))
            }),
            "description" => self.tool.description.as_ref().map(|text| text.place().clone()),
            "title" => self.tool.title.as_ref().map(|text| text.place().clone()),
            "recorded" => {
                let names = self.tool.recorded.iter().flat_map(|names| names.iter());
                let mut named = names.filter(|name| name.as_str() == pointer);
                named.next().map(|name| name.place().clone())
            }
            "idempotency" => {
                let key = self.tool.idempotency.as_ref().and_then(|table| table.key.as_ref());
                let argument = self.tool.idempotency.as_ref().and_then(|table| table.argument.as_ref());
                let written = argument.map(|argument| argument.place()).or(key.map(|key| key.place()));
                written.or(self.tool.effect.as_ref().map(|effect| effect.place())).cloned()
            }
            "resolution" => {
                let written = self.tool.unknown.as_ref().map(|unknown| unknown.place());
                written.or(self.tool.effect.as_ref().map(|effect| effect.place())).cloned()
            }
            "timeout" => self.tool.timeout_ms.as_ref().map(|number| number.place().clone()),
            _ => None,
        };
        written.unwrap_or_else(|| self.tool.name.place().clone())
    }
}
