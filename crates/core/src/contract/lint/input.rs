//! Rules on input schemas: what a model may say, and how much of it.

use callgate_protocol::json::{Document, Value};

use super::words::{is_credential, is_identity, sounds_personal, sounds_secret};
use super::{Finding, Severity};
use crate::contract::schema::{Schema, Verdict};
use crate::limits::Limits;

/// Nesting beyond this is refused by the compiler, so lint need not look deeper.
const DEPTH_MAX: usize = 64;

/// Keywords under which further subschemas stand, as one schema or as a list.
const APPLICATORS: &[&str] = &[
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
    "propertyNames",
];
/// Keywords under which subschemas stand by name.
const NAMED: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties"];

pub(super) fn judge(root: Value<'_>, limits: &Limits, findings: &mut Vec<Finding>) {
    if root.get("properties").is_some() && !is_closed(root) {
        findings.push(Finding::new(
            Severity::Warning,
            "input-open",
            "inputSchema",
            "members that are not declared are accepted and ignored",
            "add \"additionalProperties\": false",
        ));
    }
    let mut judge = Judge { limits, findings };
    judge.schema(root, "", 0);
}

fn is_closed(schema: Value<'_>) -> bool {
    let closed = |keyword: &str| schema.get(keyword).is_some_and(|value| value.as_bool() == Some(false));
    closed("additionalProperties") || closed("unevaluatedProperties")
}

struct Judge<'j> {
    limits: &'j Limits,
    findings: &'j mut Vec<Finding>,
}

impl Judge<'_> {
    fn schema(&mut self, schema: Value<'_>, pointer: &str, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        self.bounds(schema, pointer);
        self.default(schema, pointer);
        if let Some(properties) = schema.get("properties") {
            for (name, property) in properties.members() {
                let name = name.as_str().unwrap_or_default();
                let pointer = format!("{pointer}/properties/{}", escaped(&name));
                self.property(&name, property, &pointer);
                self.schema(property, &pointer, depth + 1);
            }
        }
        for keyword in APPLICATORS {
            if let Some(value) = schema.get(keyword) {
                let pointer = format!("{pointer}/{keyword}");
                self.schema(value, &pointer, depth + 1);
                for (at, item) in value.items().enumerate() {
                    self.schema(item, &format!("{pointer}/{at}"), depth + 1);
                }
            }
        }
        for keyword in NAMED {
            for (name, value) in schema.get(keyword).into_iter().flat_map(Value::members) {
                let name = name.as_str().unwrap_or_default();
                self.schema(value, &format!("{pointer}/{keyword}/{}", escaped(&name)), depth + 1);
            }
        }
    }

    fn property(&mut self, name: &str, property: Value<'_>, pointer: &str) {
        if is_identity(name) {
            let message =
                format!("`{name}` must come from the principal or the policy, never from the model");
            let remedy = "remove the argument; bind the trusted value, such as :tenant or :principal";
            self.report(Severity::Error, "input-identity", pointer, message, remedy);
        }
        if is_credential(name) {
            let message = format!("`{name}` asks the model for a credential");
            let remedy = "remove the argument; configure the credential on the server";
            self.report(Severity::Error, "input-credential", pointer, message, remedy);
        }
        if property.get("x-mcp-header").is_some() {
            if sounds_secret(name) {
                let message = format!("`{name}` sounds like a secret, and every proxy sees headers");
                self.report(Severity::Warning, "header-secret", pointer, message, "remove x-mcp-header");
            } else if sounds_personal(name) {
                let message = format!("`{name}` sounds like personal data, and every proxy logs headers");
                self.report(Severity::Warning, "header-personal", pointer, message, "remove x-mcp-header");
            }
        }
        let described =
            ["description", "title", "$ref", "const"].iter().any(|keyword| property.get(keyword).is_some());
        if !described && property.as_bool().is_none() {
            let message = format!("`{name}` is not described");
            self.report(
                Severity::Warning,
                "input-undescribed",
                pointer,
                message,
                "say what it means, with its unit",
            );
        }
    }

    fn bounds(&mut self, schema: Value<'_>, pointer: &str) {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.get(keyword).is_some());
        if has(&["enum", "const"]) {
            return;
        }
        let is = |kind: &str| {
            schema
                .get("type")
                .is_some_and(|found| found.is_str(kind) || found.items().any(|item| item.is_str(kind)))
        };
        if is("string") && !has(&["maxLength", "pattern", "format"]) {
            let message = "the string has no bound on its length".to_owned();
            self.report(
                Severity::Warning,
                "input-unbounded-string",
                pointer,
                message,
                "add maxLength, pattern, format or enum",
            );
        }
        if is("array")
            && !has(&["maxItems"])
            && schema.get("items").is_none_or(|items| items.as_bool() != Some(false))
        {
            let message = "the array has no bound on its items".to_owned();
            self.report(Severity::Warning, "input-unbounded-array", pointer, message, "add maxItems");
        }
        let below = has(&["minimum", "exclusiveMinimum"]);
        let above = has(&["maximum", "exclusiveMaximum"]);
        if (is("integer") || is("number")) && !(below && above) {
            let message = "the number has no bounds".to_owned();
            self.report(
                Severity::Warning,
                "input-unbounded-number",
                pointer,
                message,
                "add minimum and maximum",
            );
        }
    }

    /// A default is an annotation: it neither fills nor validates, but models copy it.
    fn default(&mut self, schema: Value<'_>, pointer: &str) {
        let Some(default) = schema.get("default") else { return };
        // A subschema that refers to other places cannot be judged on its own.
        if schema.raw().contains("Ref\"") || schema.raw().contains("\"$ref\"") {
            return;
        }
        let Ok(compiled) = Schema::compile(schema.raw(), &self.limits.schema) else { return };
        let Ok(document) = Document::parse(default.raw(), &self.limits.message) else { return };
        if matches!(compiled.validate(document.root()), Verdict::Invalid(_)) {
            let pointer = format!("{pointer}/default");
            let message = "the default does not fit its own schema".to_owned();
            self.report(
                Severity::Warning,
                "input-default",
                &pointer,
                message,
                "correct the default or allow it",
            );
        }
    }

    fn report(
        &mut self,
        severity: Severity,
        rule: &'static str,
        pointer: &str,
        message: String,
        remedy: &str,
    ) {
        self.findings.push(Finding::new(severity, rule, "inputSchema", message, remedy).at(pointer));
    }
}

/// A member name inside a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
