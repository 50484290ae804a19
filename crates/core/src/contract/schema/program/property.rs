//! Members by name: `properties` and its relatives in one pass, and the search for a name.
//!
//! Instances tend to have the order of the schema, so the search begins where the last one ended. The
//! compiler builds, the evaluator searches.

use std::sync::Arc;

use callgate_protocol::json::{Part, Value};

use super::{NodeId, Word};
use crate::contract::schema::pattern::Pattern;
use crate::contract::schema::shortcut::Shortcut;

/// `properties`, `patternProperties`, `additionalProperties` and `required`, in one pass over the
/// members.
#[derive(Debug)]
pub(in crate::contract::schema) struct Properties {
    /// In the order of the schema: instances tend to have the same order.
    pub(in crate::contract::schema) names: Box<[Property]>,
    /// Indices into `names`, ordered by name; empty when there are few.
    pub(in crate::contract::schema) sorted: Box<[u32]>,
    /// How many of `names` are required.
    pub(in crate::contract::schema) required: usize,
    pub(in crate::contract::schema) patterns: Box<[PatternProperty]>,
    pub(in crate::contract::schema) additional: Option<NodeId>,
}

/// One member of `patternProperties`.
#[derive(Debug)]
pub(in crate::contract::schema) struct PatternProperty {
    pub(in crate::contract::schema) pattern: Arc<Pattern>,
    pub(in crate::contract::schema) schema: NodeId,
}

/// One member of `dependentRequired`.
#[derive(Debug)]
pub(in crate::contract::schema) struct Dependents {
    pub(in crate::contract::schema) name: Box<str>,
    /// The members that must be there when that one is.
    pub(in crate::contract::schema) names: Box<[Box<str>]>,
}

/// One name that the schema mentions.
#[derive(Debug)]
pub(in crate::contract::schema) struct Property {
    pub(in crate::contract::schema) name: Word,
    /// Its subschema, unless the name is only required.
    pub(in crate::contract::schema) schema: Option<NodeId>,
    pub(in crate::contract::schema) required: bool,
    /// What its subschema accepts at a glance, if that alone decides about the member.
    pub(in crate::contract::schema) shortcut: Shortcut,
}

impl Property {
    pub(in crate::contract::schema) fn new(name: Word, schema: Option<NodeId>, required: bool) -> Self {
        Self { name, schema, required, shortcut: Shortcut::NONE }
    }
}

/// Up to this many names are compared one by one.
pub(in crate::contract::schema) const LINEAR_NAMES: usize = 12;

impl Properties {
    /// The property of that name, and where the next search should begin. `near` is where this one does;
    /// it is taken and given by value, because what is lent to a call is kept in memory.
    #[inline(always)]
    pub(in crate::contract::schema) fn find<'p>(
        &'p self,
        name: Part<'_>,
        near: &'p [Property],
    ) -> Option<(&'p Property, &'p [Property])> {
        match near.split_first() {
            Some((property, others)) if property.name.is_plain_value(name) => Some((property, others)),
            _ => self.names.get(self.position(name.value())?..)?.split_first(),
        }
    }

    #[inline(never)]
    fn position(&self, name: Value<'_>) -> Option<usize> {
        let name = name.part();
        match name.fingerprint() {
            Some(print) if self.names.len() <= LINEAR_NAMES => {
                self.names.iter().position(|property| property.name.is(print, name))
            }
            Some(_) => self.sorted_position(name.plain_bytes()?),
            None => self.escaped_position(&name.value().as_str()?),
        }
    }

    /// The place of a name that was written with escapes.
    fn escaped_position(&self, name: &str) -> Option<usize> {
        if self.names.len() <= LINEAR_NAMES {
            return self.names.iter().position(|property| property.name.text() == name);
        }
        self.sorted_position(name.as_bytes())
    }
    fn sorted_position(&self, name: &[u8]) -> Option<usize> {
        let name_at = |at: u32| self.names.get(at as usize).map(|property| property.name.text().as_bytes());
        let at = self.sorted.binary_search_by(|&at| name_at(at).cmp(&Some(name))).ok()?;
        self.sorted.get(at).map(|at| *at as usize)
    }
}
