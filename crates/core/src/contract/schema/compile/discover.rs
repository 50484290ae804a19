//! Discovery: which values of a document are schemas, and what they are called.
//!
//! Identifiers and anchors count only where a schema may stand: an `$id` inside `enum` or an unknown
//! keyword names nothing. It must never follow a reference. The compiler calls it for the schema
//! itself and for each meta-schema that is referred to.

use callgate_protocol::json::{Kind, Value};

use super::super::Dialect;
use super::super::program::{Origin, Part};
use super::super::source::Place;
use super::super::uri::{resolve, split_fragment};
use super::{Compiler, Stop, at};

/// How a keyword holds subschemas.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// The value is a schema.
    Schema,
    /// The value is an array of schemas.
    List,
    /// The value is a schema or an array of them.
    SchemaOrList,
    /// The value is an object whose members are schemas.
    Map,
    /// The value is an object whose members are schemas or lists of names.
    MapOrNames,
}

fn holds(dialect: Dialect, keyword: &str) -> Option<Holds> {
    Some(match (keyword, dialect) {
        ("properties" | "patternProperties" | "definitions", _) => Holds::Map,
        ("$defs" | "dependentSchemas", Dialect::Draft202012) => Holds::Map,
        ("additionalProperties" | "propertyNames" | "contains", _) => Holds::Schema,
        ("not" | "if" | "then" | "else", _) => Holds::Schema,
        ("items", Dialect::Draft07) => Holds::SchemaOrList,
        ("additionalItems", Dialect::Draft07) => Holds::Schema,
        ("items" | "unevaluatedItems" | "unevaluatedProperties" | "contentSchema", Dialect::Draft202012) => {
            Holds::Schema
        }
        ("prefixItems", Dialect::Draft202012) => Holds::List,
        ("allOf" | "anyOf" | "oneOf", _) => Holds::List,
        ("dependencies", _) => Holds::MapOrNames,
        _ => return None,
    })
}

impl Compiler<'_> {
    /// Finds the schema at a place and all schemas inside it. Without a resource, the place is the
    /// root of a document.
    pub(super) fn discover(
        &mut self,
        root: Place,
        resource: Option<u32>,
        dialect: Dialect,
    ) -> Result<(), Stop> {
        let resource = match resource {
            Some(resource) => resource,
            None => self.root_resource(root, dialect)?,
        };
        let mut left = vec![(root, resource, Origin { parent: None, keyword: 0, part: Part::Whole })];
        while let Some((place, outer, origin)) = left.pop() {
            if self.known_node(place).is_some() {
                continue;
            }
            let value = self.sources.value(place);
            self.charge(1 + value.len() as u64)?;
            let resource = self.identify(place, value, outer)?;
            let node = self.node_from(place, resource, origin)?;
            let dialect = self.resources.get(resource).dialect;
            // Draft-07: "all other properties in a "$ref" object MUST be ignored". Definitions beside
            // it are still found, because pointers lead there.
            let only_definitions = dialect == Dialect::Draft07 && value.get("$ref").is_some();
            for (name, member) in value.members() {
                let keyword = name.as_str().unwrap_or_default();
                if only_definitions && keyword != "definitions" {
                    continue;
                }
                if let Some(holds) = holds(dialect, &keyword) {
                    self.charge(member.len() as u64)?;
                    let origin = Origin { parent: Some(node), keyword: name.position(), part: Part::Whole };
                    push_schemas(holds, member, origin, |schema, origin| {
                        left.push((at(place, schema), resource, origin));
                    });
                }
            }
        }
        Ok(())
    }

    /// The resource of a document's root.
    fn root_resource(&mut self, root: Place, dialect: Dialect) -> Result<u32, Stop> {
        let value = self.sources.value(root);
        let ignored = dialect == Dialect::Draft07 && value.get("$ref").is_some();
        let id = value.get("$id").filter(|_| !ignored).and_then(Value::as_str).unwrap_or_default();
        let given = self.sources.uri(root.document).unwrap_or_default();
        let uri = resolve(given, split_fragment(&id).0);
        let resource = self.resources.add(uri, root, dialect).ok_or(Stop)?;
        self.resources.alias(given, resource);
        Ok(resource)
    }

    /// Reads the identifier and anchors of a schema; gives the resource that it belongs to.
    fn identify(&mut self, place: Place, value: Value<'_>, outer: u32) -> Result<u32, Stop> {
        if value.kind() != Kind::Object {
            return Ok(outer);
        }
        let outer_dialect = self.resources.get(outer).dialect;
        let root = self.resources.get(outer).root == place;
        if outer_dialect == Dialect::Draft07 && value.get("$ref").is_some() {
            return Ok(outer);
        }
        let id = value.get("$id").and_then(|id| id.as_str().map(|text| (id, text)));
        let mut resource = outer;
        if let Some((id, text)) = id {
            let (base, fragment) = split_fragment(&text);
            let names_itself = !base.is_empty() || fragment.is_none_or(str::is_empty);
            if !root && names_itself {
                resource = self.inner_resource(place, value, id, base, outer)?;
            }
            if let Some(anchor) = fragment.filter(|fragment| !fragment.is_empty()) {
                self.fragment_of_id(place, at(place, id), anchor, resource);
            }
        }
        if resource == outer && !root {
            self.same_dialect(place, value, outer_dialect);
        }
        if self.resources.get(resource).dialect == Dialect::Draft202012 {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(anchor) = value.get(keyword) {
                    self.anchor(keyword, place, anchor, resource);
                }
            }
        }
        Ok(resource)
    }

    fn inner_resource(
        &mut self,
        place: Place,
        value: Value<'_>,
        id: Value<'_>,
        base: &str,
        outer: u32,
    ) -> Result<u32, Stop> {
        let mut dialect = self.resources.get(outer).dialect;
        if let Some(uri) = value.get("$schema") {
            match uri.as_str().and_then(|uri| Dialect::of_uri(&uri)) {
                Some(named) => dialect = named,
                None => self.unknown_dialect(at(place, uri)),
            }
        }
        let uri = resolve(&self.resources.get(outer).uri, base);
        self.charge(uri.len() as u64 / 16)?;
        if let Some(resource) = self.resources.add(uri, place, dialect) {
            return Ok(resource);
        }
        self.finding(
            at(place, id),
            "$id",
            "another schema of this document has the same identifier",
            "give each schema its own `$id`, or none",
        );
        Ok(outer)
    }

    /// Draft-07 spells anchors as fragments of `$id`; 2020-12 has no fragments there.
    fn fragment_of_id(&mut self, place: Place, id: Place, anchor: &str, resource: u32) {
        if self.resources.get(resource).dialect == Dialect::Draft07 {
            self.register(place, id, "$id", anchor, resource);
        } else {
            self.finding(
                id,
                "$id",
                "an identifier must not have a fragment",
                "use `$anchor` for the fragment",
            );
        }
    }

    fn anchor(&mut self, keyword: &'static str, place: Place, anchor: Value<'_>, resource: u32) {
        let text = anchor.as_str().unwrap_or_default();
        let mut bytes = text.bytes();
        let valid = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if !valid {
            self.finding(
                at(place, anchor),
                keyword,
                "an anchor is a letter or `_` followed by letters, digits, `-`, `_` and `.`",
                "rename the anchor",
            );
            return;
        }
        if keyword == "$dynamicAnchor" {
            self.resources.get_mut(resource).dynamic_anchors.insert(text.clone().into_owned(), place);
        }
        self.register(place, at(place, anchor), keyword, &text, resource);
    }

    fn register(&mut self, place: Place, mention: Place, keyword: &str, anchor: &str, resource: u32) {
        let anchors = &mut self.resources.get_mut(resource).anchors;
        let known = anchors.insert(anchor.to_owned(), place);
        if known.is_some_and(|known| known != place) {
            self.finding(
                mention,
                keyword,
                &format!("the anchor `{}` is used twice", super::shortened(anchor)),
                "give each anchor its own name",
            );
        }
    }

    fn same_dialect(&mut self, place: Place, value: Value<'_>, dialect: Dialect) {
        let Some(uri) = value.get("$schema") else { return };
        if uri.as_str().and_then(|uri| Dialect::of_uri(&uri)) != Some(dialect) {
            self.unknown_dialect(at(place, uri));
        }
    }
}

fn push_schemas<'v>(holds: Holds, value: Value<'v>, origin: Origin, mut push: impl FnMut(Value<'v>, Origin)) {
    match holds {
        Holds::Schema => push(value, origin),
        Holds::SchemaOrList if value.kind() != Kind::Array => push(value, origin),
        Holds::List | Holds::SchemaOrList => {
            for (index, item) in (0..).zip(value.items()) {
                push(item, Origin { part: Part::Item(index), ..origin });
            }
        }
        Holds::Map | Holds::MapOrNames => {
            for (name, schema) in value.members() {
                if holds == Holds::Map || schema.kind() != Kind::Array {
                    push(schema, Origin { part: Part::Member(name.position()), ..origin });
                }
            }
        }
    }
}
