//! `mask` in the schema of an output: which fields of a row leave as a mark.
//!
//! The keyword is taken out of the schema, because a model has no use for it; a place where it could not
//! be followed is an error, since JSON Schema would ignore it and show the value. The judge of tools is
//! the caller.

use callgate_protocol::json::{self, Document, Kind, Value};

use super::finding::Finding;
use super::json::{nearest_place, pointer};
use super::keywords::{NAMED_SCHEMAS, SCHEMA, SCHEMAS};
use super::shape::{ObjectSchema, text_of};

/// The keyword.
const MASK: &str = "mask";

/// A masked field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldMask {
    /// The place in the row, as a pointer in which `*` stands for every item of an array.
    pub(crate) path: String,
    /// How many last characters stay visible.
    pub(crate) keep_last: usize,
}

/// What was found on the way through a schema.
#[derive(Default)]
struct Found {
    masks: Vec<FieldMask>,
    /// Pointers into the schema, with what is wrong there and what to do.
    wrong: Vec<(String, &'static str, &'static str)>,
}

impl ObjectSchema {
    /// Takes every `mask` out of the schema of a row.
    pub(crate) fn take_masks(&mut self, findings: &mut Vec<Finding>) -> Vec<FieldMask> {
        let mut found = Found::default();
        let Some(text) = rewritten(&self.text, "", Some(""), &mut found) else { return Vec::new() };
        self.report(&found, findings);
        if found.masks.is_empty() && found.wrong.is_empty() {
            return Vec::new();
        }
        for property in &mut self.properties {
            // What is found here was found before, as a part of the whole.
            let again = rewritten(&property.text, "", Some(""), &mut Found::default());
            property.text = again.unwrap_or_default();
        }
        self.text = if self.from_table { text_of(&self.properties) } else { text };
        found.masks
    }

    /// Reports every `mask` in the schema of an input.
    pub(crate) fn refuse_masks(&self, findings: &mut Vec<Finding>) {
        let mut found = Found::default();
        if rewritten(&self.text, "", None, &mut found).is_some() {
            for wrong in &mut found.wrong {
                wrong.1 = "an input cannot be masked";
                wrong.2 = "mask fields of the output; arguments are never in the trail unless they are named for it";
            }
            self.report(&found, findings);
        }
    }

    fn report(&self, found: &Found, findings: &mut Vec<Finding>) {
        findings.extend(found.wrong.iter().map(|(pointer, message, remedy)| {
            let place = nearest_place(&self.places, pointer).unwrap_or(&self.place);
            Finding::error("invalid_mask", *message, *remedy).at(place.clone())
        }));
    }
}

fn rewritten(text: &str, at: &str, path: Option<&str>, found: &mut Found) -> Option<String> {
    let document = Document::parse(text, &json::Limits::default()).ok()?;
    let mut out = String::with_capacity(text.len());
    schema(document.root(), at, path, found, &mut out);
    Some(out)
}

/// Copies a schema without its masks. `path` leads to what it describes, if that can be told.
fn schema(value: Value<'_>, at: &str, path: Option<&str>, found: &mut Found, out: &mut String) {
    if value.kind() != Kind::Object {
        out.push_str(value.raw());
        return;
    }
    out.push('{');
    let mut first = true;
    for (key, member) in value.members() {
        let name = key.as_str().unwrap_or_default();
        let here = pointer(at, &name);
        if *name == *MASK {
            take(member, here, path, found);
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        out.push_str(key.raw());
        out.push(':');
        let step = |step: &str| path.map(|path| pointer(path, step));
        match (&*name, member.kind()) {
            ("properties", Kind::Object) => {
                named(member, &here, |name| step(name), found, out);
            }
            ("items", Kind::Object) => schema(member, &here, step("*").as_deref(), found, out),
            (name, Kind::Object) if NAMED_SCHEMAS.contains(&name) => {
                named(member, &here, |_| None, found, out);
            }
            (name, Kind::Object) if SCHEMA.contains(&name) => schema(member, &here, None, found, out),
            (name, Kind::Array) if SCHEMAS.contains(&name) => {
                out.push('[');
                for (index, item) in member.items().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    schema(item, &pointer(&here, &index.to_string()), None, found, out);
                }
                out.push(']');
            }
            _ => out.push_str(member.raw()),
        }
    }
    out.push('}');
}

/// Copies a table of schemas without their masks.
fn named(
    value: Value<'_>,
    at: &str,
    path: impl Fn(&str) -> Option<String>,
    found: &mut Found,
    out: &mut String,
) {
    out.push('{');
    for (index, (key, member)) in value.members().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(key.raw());
        out.push(':');
        let name = key.as_str().unwrap_or_default();
        schema(member, &pointer(at, &name), path(&name).as_deref(), found, out);
    }
    out.push('}');
}

fn take(value: Value<'_>, at: String, path: Option<&str>, found: &mut Found) {
    let keep_last = match value.kind() {
        Kind::Boolean if value.as_bool() == Some(false) => return,
        Kind::Boolean => Some(0),
        Kind::Object if value.members().count() == 1 => {
            value.get("keep_last").and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
        }
        _ => None,
    };
    let Some(keep_last) = keep_last else {
        let remedy = "write `mask = true`, or `mask = { keep_last = 4 }`";
        found.wrong.push((at, "`mask` is true, or says how many last characters stay visible", remedy));
        return;
    };
    match path {
        // The row itself is no string.
        Some(path) if !path.is_empty() => found.masks.push(FieldMask { path: path.to_owned(), keep_last }),
        _ => found.wrong.push((
            at,
            "`mask` cannot be followed here, so that the field would be shown",
            "write it at a property, or at the items of an array in one",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SourceFile;

    fn taken(text: &str) -> (Vec<FieldMask>, String, usize) {
        let place = SourceFile::new("a", "a").place(0..1);
        let mut schema =
            ObjectSchema { text: text.to_owned(), from_table: false, ..ObjectSchema::empty(place) };
        let mut findings = Vec::new();
        let masks = schema.take_masks(&mut findings);
        (masks, schema.text, findings.len())
    }

    #[test]
    fn masks_are_taken_out_of_the_schema_with_their_paths() {
        let (masks, text, wrong) = taken(
            r#"{"type":"object","properties":{"a":{"mask":{"keep_last":4},"type":"string"},"b":{"type":"array","items":{"type":"string","mask":true}},"mask":{"type":"string","mask":false}}}"#,
        );
        assert_eq!(
            text,
            r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"string"}},"mask":{"type":"string"}}}"#
        );
        let mask = |path: &str, keep_last| FieldMask { path: path.into(), keep_last };
        assert_eq!((masks, wrong), (vec![mask("/a", 4), mask("/b/*", 0)], 0));
    }

    #[test]
    fn a_mask_that_cannot_be_followed_or_read_is_an_error() {
        for text in [
            r#"{"properties":{"a":{"anyOf":[{"type":"string","mask":true}]}}}"#,
            r#"{"properties":{},"$defs":{"a":{"mask":true}}}"#,
            r#"{"properties":{},"additionalProperties":{"mask":true}}"#,
            r#"{"properties":{},"mask":true}"#,
            r#"{"properties":{"a":{"mask":4}}}"#,
            r#"{"properties":{"a":{"mask":{"keep_last":-1}}}}"#,
            r#"{"properties":{"a":{"mask":{"keep_first":4}}}}"#,
            r#"{"properties":{"a":{"mask":{"keep_last":4,"keep":1}}}}"#,
        ] {
            let (masks, _, wrong) = taken(text);
            assert_eq!((masks.len(), wrong), (0, 1), "{text}");
        }
    }
}
