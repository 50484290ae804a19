//! Members by name: `properties` and its relatives in one pass, and the search for a name.
//!
//! Instances tend to have the order of the schema, so the search begins where the last one ended. The
//! compiler builds, the evaluator searches.

use std::sync::Arc;

use callgate_protocol::json::{Fingerprint, Part};

use super::{NodeId, Word};
use crate::contract::schema::pattern::Pattern;

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
}

/// Up to this many names are compared one by one.
pub(in crate::contract::schema) const LINEAR_NAMES: usize = 12;

impl Properties {
    /// The property of that name. `near` is where the search begins and where the next one should.
    #[inline(always)]
    pub(in crate::contract::schema) fn find(&self, name: Part<'_>, near: &mut usize) -> Option<&Property> {
        let Some(print) = name.fingerprint() else { return self.find_escaped(name, near) };
        if let Some(property) = self.names.get(*near)
            && property.name.is(print, name)
        {
            *near += 1;
            return Some(property);
        }
        self.search(print, name, near)
    }

    #[inline(never)]
    fn search(&self, print: Fingerprint, name: Part<'_>, near: &mut usize) -> Option<&Property> {
        let found = if self.names.len() <= LINEAR_NAMES {
            self.names.iter().position(|property| property.name.is(print, name))?
        } else {
            self.sorted_position(name.plain_bytes()?)?
        };
        *near = found + 1;
        self.names.get(found)
    }

    /// As [`Properties::find`], for a name that was written with escapes.
    #[cold]
    fn find_escaped(&self, name: Part<'_>, near: &mut usize) -> Option<&Property> {
        let text = name.value().as_str()?;
        let found = if self.names.len() <= LINEAR_NAMES {
            self.names.iter().position(|property| *property.name.text() == *text)?
        } else {
            self.sorted_position(text.as_bytes())?
        };
        *near = found + 1;
        self.names.get(found)
    }

    fn sorted_position(&self, name: &[u8]) -> Option<usize> {
        let name_at = |at: u32| self.names.get(at as usize).map(|property| property.name.text().as_bytes());
        let at = self.sorted.binary_search_by(|&at| name_at(at).cmp(&Some(name))).ok()?;
        self.sorted.get(at).map(|at| *at as usize)
    }
}
