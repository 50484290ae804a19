//! From declared paths to places that exist in the output schema and can be masked.
//!
//! A path that leads nowhere would hide nothing and look as if it did, so it is a fault; so is a schema
//! that the mark can never fit. Making a contract is the only caller.

use callgate_protocol::json::{Kind, Value, push_string};

use super::{Mask, Masks, Step, mark};
use crate::contract::definition::DefinitionFault;
use crate::contract::schema::Schema;
use crate::limits::Limits;

/// Schemas that a reference may lead through, so that a circle ends.
const SCHEMAS_VISITED: usize = 256;

/// A part of the output schema and the pointer to it.
#[derive(Clone)]
struct Part<'s> {
    schema: Value<'s>,
    pointer: String,
}

/// The masked places, or nothing when there are none.
pub(in crate::contract) fn compile(
    masked: &[Mask],
    output: Option<&Schema>,
    limits: &Limits,
    faults: &mut Vec<DefinitionFault>,
) -> Option<Masks> {
    if masked.is_empty() {
        return None;
    }
    let Some(output) = output else {
        let problem = "fields are masked, and no usable output schema says where they are";
        faults.push(DefinitionFault::new("masked", problem, "give the tool an output schema"));
        return None;
    };
    if masked.len() > limits.masked_fields {
        let remedy = format!("mask at most {}", limits.masked_fields);
        faults.push(DefinitionFault::new("masked", "too many fields are masked", remedy));
        return None;
    }
    let mut masks = Masks::default();
    for mask in masked {
        if mask.keep_last > limits.masked_tail {
            let problem = format!("{} last characters would stay visible", mask.keep_last);
            faults.push(fault(mask, problem, format!("keep at most {}", limits.masked_tail)));
            continue;
        }
        let Some(steps) = follow(mask, output, faults) else { continue };
        if !masks.insert(&steps, mask.keep_last) {
            faults.push(fault(mask, "the field is masked twice", "remove one of them"));
        }
    }
    Some(masks)
}

fn fault(mask: &Mask, problem: impl Into<String>, remedy: impl Into<String>) -> DefinitionFault {
    let mut fault = DefinitionFault::new("masked", problem, remedy);
    fault.pointer.clone_from(&mask.path);
    fault
}

/// Follows a path through the schema and judges what is at its end.
fn follow(mask: &Mask, output: &Schema, faults: &mut Vec<DefinitionFault>) -> Option<Vec<Step>> {
    let tokens = match mask.path.strip_prefix('/') {
        Some(path) => path.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect(),
        None if mask.path.is_empty() => Vec::new(),
        None => {
            let problem = "the path of a masked field is no JSON pointer";
            faults.push(fault(mask, problem, "write it as in `/rows/*/account`"));
            return None;
        }
    };
    let root = output.document().root();
    let mut parts = expanded(root, vec![Part { schema: root, pointer: String::new() }]);
    let mut steps = Vec::with_capacity(tokens.len());
    for token in tokens {
        let items = if token == "*" { items(&parts) } else { Vec::new() };
        let (step, next) = match items.is_empty() {
            false => (Step::Items, items),
            true => (Step::Member(token.clone()), members(&parts, &token)),
        };
        if next.is_empty() {
            let problem = format!("the output schema has nothing at {token:?} of this path");
            let remedy = "name declared members, and `*` for the items of an array, as in `/rows/*/account`";
            faults.push(fault(mask, problem, remedy));
            return None;
        }
        parts = expanded(root, next);
        steps.push(step);
    }
    judge(mask, output, &parts, faults).then_some(steps)
}

/// The parts together with those that they refer to or are combined of.
fn expanded<'s>(root: Value<'s>, parts: Vec<Part<'s>>) -> Vec<Part<'s>> {
    let mut found: Vec<Part<'s>> = Vec::new();
    let mut waiting = parts;
    while let Some(part) = waiting.pop() {
        let seen = found.iter().any(|other| other.schema.position() == part.schema.position());
        if seen || part.schema.kind() != Kind::Object || found.len() >= SCHEMAS_VISITED {
            continue;
        }
        if let Some(reference) = part.schema.get("$ref").and_then(|reference| reference.as_str()) {
            let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'));
            if let Some((schema, pointer)) = pointer.and_then(|pointer| Some((at(root, pointer)?, pointer))) {
                waiting.push(Part { schema, pointer: pointer.to_owned() });
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            waiting.extend(part.schema.get(keyword).into_iter().flat_map(|list| {
                let pointer = format!("{}/{keyword}", part.pointer);
                list.items()
                    .enumerate()
                    .map(move |(index, schema)| Part { schema, pointer: format!("{pointer}/{index}") })
            }));
        }
        found.push(part);
    }
    found
}

/// The value at a JSON pointer.
fn at<'s>(root: Value<'s>, pointer: &str) -> Option<Value<'s>> {
    if pointer.is_empty() {
        return Some(root);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(root, |value, token| match value.kind() {
        Kind::Object => value.get(&token.replace("~1", "/").replace("~0", "~")),
        Kind::Array => value.items().nth(token.parse().ok()?),
        Kind::Null | Kind::Boolean | Kind::Number | Kind::String => None,
    })
}

fn members<'s>(parts: &[Part<'s>], name: &str) -> Vec<Part<'s>> {
    let escaped = name.replace('~', "~0").replace('/', "~1");
    let member = |part: &Part<'s>| {
        let properties = part.schema.get("properties").filter(|members| members.kind() == Kind::Object)?;
        let pointer = format!("{}/properties/{escaped}", part.pointer);
        Some(Part { schema: properties.get(name)?, pointer })
    };
    parts.iter().filter_map(member).collect()
}

fn items<'s>(parts: &[Part<'s>]) -> Vec<Part<'s>> {
    let mut found = Vec::new();
    for part in parts {
        for keyword in ["items", "prefixItems"] {
            let Some(schema) = part.schema.get(keyword) else { continue };
            let pointer = format!("{}/{keyword}", part.pointer);
            match schema.kind() {
                Kind::Array => found.extend(
                    schema
                        .items()
                        .enumerate()
                        .map(|(index, schema)| Part { schema, pointer: format!("{pointer}/{index}") }),
                ),
                _ => found.push(Part { schema, pointer }),
            }
        }
    }
    found
}

/// Whether what stands at the end of a path is a string that a mark can stand for.
fn judge(mask: &Mask, output: &Schema, parts: &[Part<'_>], faults: &mut Vec<DefinitionFault>) -> bool {
    let before = faults.len();
    let mut is_string = false;
    for part in parts {
        let types = part.schema.get("type");
        let names = types.into_iter().flat_map(|types| match types.kind() {
            Kind::Array => types.items().collect(),
            _ => vec![types],
        });
        for name in names {
            is_string |= name.is_str("string");
            if !name.is_str("string") && !name.is_str("null") {
                let problem = "a masked field must be a string";
                let remedy = "declare it as a string, or remove the mask";
                faults.push(in_schema(format!("{}/type", part.pointer), problem, remedy));
            }
        }
        conflicts(mask, output, part, faults);
    }
    if !is_string && faults.len() == before {
        let problem = "the output schema does not say that a masked field is a string";
        faults.push(fault(mask, problem, "give it `\"type\": \"string\"`"));
    }
    faults.len() == before
}

/// Reports every keyword that no mark can satisfy: none of the results would leave.
fn conflicts(mask: &Mask, output: &Schema, part: &Part<'_>, faults: &mut Vec<DefinitionFault>) {
    for keyword in ["pattern", "format", "enum", "const", "minLength", "maxLength"] {
        let Some(value) = part.schema.get(keyword) else { continue };
        // The visible end differs from result to result, so no list of values holds them all.
        let is_list = matches!(keyword, "enum" | "const") && mask.keep_last > 0;
        if is_list || !fits(output, keyword, value, mask.keep_last) {
            let problem =
                format!("a mark such as `{}` does not fit this `{keyword}`", sample(mask.keep_last));
            let remedy = format!("remove `{keyword}`, which describes the hidden value, or the mask");
            faults.push(in_schema(format!("{}/{keyword}", part.pointer), problem, remedy));
        }
    }
}

/// Whether any mark satisfies one keyword. The visible end may be anything; a few ends are tried.
fn fits(output: &Schema, keyword: &str, value: Value<'_>, keep_last: usize) -> bool {
    let mut text = String::from("{\"$schema\":");
    push_string(&mut text, output.dialect().uri());
    text.push_str(&format!(",\"{keyword}\":{}}}", value.raw()));
    let limits = crate::contract::schema::SchemaLimits::DEFAULT;
    let Ok(schema) = Schema::compile(&text, &limits) else { return true };
    ["", "0", "A", "a"].into_iter().any(|end| {
        let mut json = String::new();
        push_string(&mut json, &mark(&end.repeat(keep_last * 2), keep_last));
        let document =
            callgate_protocol::json::Document::parse(json, &callgate_protocol::json::Limits::DEFAULT);
        document.is_ok_and(|document| schema.is_valid(document.root()) == Ok(true))
    })
}

fn sample(keep_last: usize) -> String {
    mark(&"0".repeat(keep_last * 2), keep_last)
}

fn in_schema(pointer: String, problem: impl Into<String>, remedy: impl Into<String>) -> DefinitionFault {
    let mut fault = DefinitionFault::new("outputSchema", problem, remedy);
    fault.pointer = pointer;
    fault
}
