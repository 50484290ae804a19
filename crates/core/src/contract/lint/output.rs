//! Rules on output schemas: what a model could misread.

use callgate_protocol::json::Value;

use super::words::words;
use super::{Finding, Severity};

const DEPTH_MAX: usize = 64;
const MONEY: &[&str] = &["amount", "price", "total", "cost", "fee", "balance", "salary", "tax", "revenue"];
const TIME: &[&str] = &["date", "time", "timestamp", "datetime"];
const INTERNAL: &[&str] = &["rowid", "ctid", "oid", "internal", "debug", "stacktrace", "hash", "salt"];

pub(super) fn judge(root: Value<'_>, findings: &mut Vec<Finding>) {
    schema(root, "", 0, findings);
}

fn schema(value: Value<'_>, pointer: &str, depth: usize, findings: &mut Vec<Finding>) {
    if depth > DEPTH_MAX {
        return;
    }
    for (name, property) in value.get("properties").into_iter().flat_map(Value::members) {
        let name = name.as_str().unwrap_or_default();
        let pointer = format!("{pointer}/properties/{}", name.replace('~', "~0").replace('/', "~1"));
        judge_property(&name, property, &pointer, findings);
        schema(property, &pointer, depth + 1, findings);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = value.get(keyword) {
            schema(inner, &format!("{pointer}/{keyword}"), depth + 1, findings);
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf", "prefixItems"] {
        for (at, inner) in value.get(keyword).into_iter().flat_map(Value::items).enumerate() {
            schema(inner, &format!("{pointer}/{keyword}/{at}"), depth + 1, findings);
        }
    }
}

fn judge_property(name: &str, property: Value<'_>, pointer: &str, findings: &mut Vec<Finding>) {
    let words = words(name);
    let named = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is = |kind: &str| {
        property
            .get("type")
            .is_some_and(|found| found.is_str(kind) || found.items().any(|item| item.is_str(kind)))
    };
    let mut report = |rule, message: String, remedy: &str| {
        findings.push(Finding::new(Severity::Warning, rule, "outputSchema", message, remedy).at(pointer));
    };
    if named(MONEY) && is("number") {
        let message = format!("`{name}` looks like money and may be a fraction");
        report(
            "output-money",
            message,
            "use an integer in minor units beside a currency, and say so in the name",
        );
    }
    let is_time = named(TIME) || words.last().is_some_and(|last| last == "at" || last == "on");
    if is_time && is("string") && property.get("format").is_none() && property.get("pattern").is_none() {
        let message = format!("`{name}` looks like a point in time and has no format");
        report("output-time", message, "add \"format\": \"date-time\", \"date\" or \"time\"");
    }
    if named(INTERNAL) {
        let message = format!("`{name}` looks like an internal field");
        report("output-internal", message, "leave it out unless a caller needs it");
    }
}
