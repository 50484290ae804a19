//! Reading the values of keywords, with a finding for each that has the wrong type.
//!
//! It must never guess what a wrong value was meant to be. The keyword translators call it.

use std::borrow::Cow;

use callgate_protocol::json::{Kind, Value};

use super::super::Dialect;
use super::super::program::NodeId;
use super::keyword::Parts;
use super::{Compiler, Stop, at};

impl<'s> Compiler<'s> {
    /// The subschema that is the value of a keyword.
    pub(super) fn child(&mut self, parts: &Parts, value: Value<'_>) -> Result<NodeId, Stop> {
        self.node_at(at(parts.place, value), parts.resource)
    }

    /// The subschemas in an array.
    pub(super) fn children(&mut self, parts: &Parts, value: Value<'_>) -> Result<Box<[NodeId]>, Stop> {
        value.items().map(|item| self.child(parts, item)).collect()
    }

    /// A number of things. Numbers beyond 64 bits are as good as the largest.
    pub(super) fn count(&mut self, parts: &Parts, keyword: &'static str, value: Value<'_>) -> Option<u64> {
        let number = value.as_number().filter(|number| number.is_integer() && !number.is_negative());
        if number.is_none() {
            self.finding(
                at(parts.place, value),
                keyword,
                "the bound is a whole number, zero or more",
                "write a whole number",
            );
        }
        number
            .map(|number| number.to_i128().and_then(|number| u64::try_from(number).ok()).unwrap_or(u64::MAX))
    }

    pub(super) fn string<'v>(
        &mut self,
        parts: &Parts,
        keyword: &str,
        value: Value<'v>,
    ) -> Option<Cow<'v, str>> {
        let text = value.as_str();
        if text.is_none() {
            self.finding(at(parts.place, value), keyword, "the value is a string", "write a string");
        }
        text
    }

    pub(super) fn boolean(&mut self, parts: &Parts, keyword: &str, value: Value<'_>) -> Option<bool> {
        let boolean = value.as_bool();
        if boolean.is_none() {
            let message = "the value is a boolean";
            self.finding(at(parts.place, value), keyword, message, "write `true` or `false`, without quotes");
        }
        boolean
    }

    /// An object whose members are named by the schema's author.
    pub(super) fn map(&mut self, parts: &Parts, keyword: &str, value: Value<'s>) -> Option<Value<'s>> {
        if value.kind() == Kind::Object {
            return Some(value);
        }
        self.finding(at(parts.place, value), keyword, "the value is an object", "write an object");
        None
    }

    /// An array of different strings.
    pub(super) fn names(
        &mut self,
        parts: &Parts,
        keyword: &str,
        value: Value<'_>,
    ) -> Result<Box<[Box<str>]>, Stop> {
        self.charge(value.len() as u64)?;
        let names: Vec<Box<str>> =
            value.items().filter_map(|item| item.as_str().map(|name| name.into())).collect();
        let mut sorted: Vec<&str> = names.iter().map(|name| &**name).collect();
        sorted.sort_unstable();
        let twice = sorted.windows(2).any(|pair| pair.first() == pair.last());
        if value.kind() == Kind::Array && names.len() == value.len() && !twice {
            return Ok(names.into_boxed_slice());
        }
        let remedy = match value.as_bool() {
            Some(_) => "booleans are draft-03; list the names beside `properties`",
            None => "write an array of names",
        };
        let message = "the value is an array of different member names";
        self.finding(at(parts.place, value), keyword, message, remedy);
        Ok(Box::default())
    }

    /// Keywords that describe. Those of the dialect must have the type that its meta-schema gives them.
    pub(super) fn annotation(&mut self, parts: &mut Parts, keyword: &str, value: Value<'s>) {
        let modern = parts.dialect == Dialect::Draft202012;
        let place = at(parts.place, value);
        match keyword {
            "$id" | "$schema" | "$comment" | "title" | "description" | "contentMediaType"
            | "contentEncoding" => {
                self.string(parts, keyword, value);
            }
            "$anchor" | "$dynamicAnchor" if modern => {
                self.string(parts, keyword, value);
            }
            "readOnly" => {
                self.boolean(parts, keyword, value);
            }
            "writeOnly" | "deprecated" if modern => {
                self.boolean(parts, keyword, value);
            }
            "examples" if value.kind() != Kind::Array => {
                self.finding(place, keyword, "examples are an array", "write an array of example values");
            }
            "definitions" => {
                self.map(parts, keyword, value);
            }
            "$defs" | "$vocabulary" if modern => {
                self.map(parts, keyword, value);
            }
            "additionalItems" if modern => {
                self.note(
                    place,
                    "additionalItems",
                    "2020-12 ignores it; `items` beside `prefixItems` does the same",
                );
            }
            "$recursiveRef" => {
                self.note(place, "$recursiveRef", "the dialect ignores it; use `$dynamicRef` or `$ref`");
            }
            "nullable" => {
                self.note(place, "nullable", "JSON Schema ignores it; add `null` to `type`");
            }
            "$dynamicRef"
            | "$defs"
            | "prefixItems"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "dependentRequired"
            | "dependentSchemas"
                if !modern && keyword != "$defs" =>
            {
                self.note(place, "$schema", format!("draft-07 ignores `{keyword}`, which came later"));
            }
            _ => {}
        }
    }
}
