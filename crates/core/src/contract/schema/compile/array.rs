//! Keywords of arrays.
//!
//! `keyword.rs` calls it after it has read all members of a schema.

use callgate_protocol::json::{Kind, Value};

use super::super::Dialect;
use super::super::program::{Contains, Edge, NodeId, Op, Sequence};
use super::keyword::{Members, Parts};
use super::{Compiler, Stop, at};

impl<'s> Compiler<'s> {
    pub(super) fn arrays(&mut self, parts: &mut Parts, joint: &Members<'s>) -> Result<(), Stop> {
        for (keyword, edge) in [("minItems", Edge::Least), ("maxItems", Edge::Most)] {
            if let Some(value) = joint.get(keyword) {
                let bound = self.count(parts, keyword, *value);
                parts.array.extend(bound.map(|bound| Op::Items(edge, bound)));
            }
        }
        let sequence = match parts.dialect {
            Dialect::Draft202012 => self.sequence(parts, joint)?,
            Dialect::Draft07 => self.old_sequence(parts, joint)?,
        };
        if !sequence.prefix.is_empty() || sequence.rest.is_some() {
            parts.array.push(Op::Sequence(Box::new(sequence)));
        }
        self.contains(parts, joint)?;
        if let Some(value) = joint.get("uniqueItems")
            && self.boolean(parts, "uniqueItems", *value) == Some(true)
        {
            parts.array.push(Op::UniqueItems);
        }
        if let Some(value) = joint.get("unevaluatedItems") {
            let node = self.child(parts, *value)?;
            // Last, because it judges what the others leave.
            parts.array.push(Op::UnevaluatedItems(node));
        }
        Ok(())
    }

    /// `prefixItems` and `items` of 2020-12.
    fn sequence(&mut self, parts: &mut Parts, joint: &Members<'s>) -> Result<Sequence, Stop> {
        let prefix = match joint.get("prefixItems") {
            Some(value) => self.list(parts, "prefixItems", *value)?,
            None => Box::default(),
        };
        let rest = match joint.get("items") {
            Some(value) if value.kind() == Kind::Array => {
                self.finding(
                    at(parts.place, *value),
                    "items",
                    "in 2020-12, the schema of the items is one schema",
                    "use `prefixItems` for a tuple, or declare draft-07 with `$schema`",
                );
                None
            }
            Some(value) => Some(self.child(parts, *value)?),
            None => None,
        };
        Ok(Sequence { prefix, rest, rest_keyword: "items" })
    }

    /// `items` and `additionalItems` of draft-07.
    fn old_sequence(&mut self, parts: &mut Parts, joint: &Members<'s>) -> Result<Sequence, Stop> {
        let additional = match joint.get("additionalItems") {
            Some(value) => Some(self.child(parts, *value)?),
            None => None,
        };
        match joint.get("items") {
            Some(value) if value.kind() == Kind::Array => {
                let prefix = self.children(parts, *value)?;
                Ok(Sequence { prefix, rest: additional, rest_keyword: "additionalItems" })
            }
            // Draft-07, 6.4.2: without a list of items, `additionalItems` is ignored.
            Some(value) => {
                let rest = Some(self.child(parts, *value)?);
                Ok(Sequence { prefix: Box::default(), rest, rest_keyword: "items" })
            }
            None => Ok(Sequence { prefix: Box::default(), rest: None, rest_keyword: "items" }),
        }
    }

    fn list(&mut self, parts: &Parts, keyword: &str, value: Value<'_>) -> Result<Box<[NodeId]>, Stop> {
        if value.kind() == Kind::Array && !value.is_empty() {
            return self.children(parts, value);
        }
        let message = "the value is an array of at least one schema";
        self.finding(at(parts.place, value), keyword, message, "write an array of schemas");
        Ok(Box::default())
    }

    fn contains(&mut self, parts: &mut Parts, joint: &Members<'s>) -> Result<(), Stop> {
        let least = joint.get("minContains").map(|value| self.count(parts, "minContains", *value));
        let most = joint.get("maxContains").map(|value| self.count(parts, "maxContains", *value));
        let Some(value) = joint.get("contains") else {
            for keyword in ["minContains", "maxContains"] {
                if let Some(value) = joint.get(keyword) {
                    let keyword = if keyword == "minContains" { "minContains" } else { "maxContains" };
                    self.note(
                        at(parts.place, *value),
                        keyword,
                        "it has no effect without `contains` beside it",
                    );
                }
            }
            return Ok(());
        };
        let schema = self.child(parts, *value)?;
        let least = least.flatten().unwrap_or(1);
        let evaluates = parts.dialect == Dialect::Draft202012;
        parts.array.push(Op::Contains(Box::new(Contains { schema, least, most: most.flatten(), evaluates })));
        Ok(())
    }
}
