//! Members by name: `properties` and its relatives in one pass, and the search for a name.
//!
//! Instances tend to have the order of the schema, so the search begins where the last one ended. The
//! compiler builds, the evaluator searches.

use std::sync::Arc;

use super::NodeId;
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
    key: Key,
    pub(in crate::contract::schema) name: Box<str>,
    /// Its subschema, unless the name is only required.
    pub(in crate::contract::schema) schema: Option<NodeId>,
    pub(in crate::contract::schema) required: bool,
}

impl Property {
    pub(in crate::contract::schema) fn new(name: Box<str>, schema: Option<NodeId>, required: bool) -> Self {
        Self { key: Key::of(name.as_bytes()), name, schema, required }
    }

    #[inline(always)]
    fn is(&self, key: Key, name: &[u8]) -> bool {
        self.key == key && (name.len() <= Key::COMPLETE || self.name.as_bytes() == name)
    }
}

/// The length, beginning and end of a name: all of a short one. Most comparisons end here, without
/// a call to compare memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(usize, u64, u64);

impl Key {
    /// Up to this length the key is the whole name.
    const COMPLETE: usize = 16;

    #[inline(always)]
    fn of(name: &[u8]) -> Self {
        let (first, last) = if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
            (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
        } else {
            name.iter().fold((0, 0), |(first, _), byte| (first << 8 | u64::from(*byte), 0))
        };
        Self(name.len(), first, last)
    }
}

/// Up to this many names are compared one by one.
pub(in crate::contract::schema) const LINEAR_NAMES: usize = 12;

impl Properties {
    /// The property of that name. `near` is where the search begins and where the next one should.
    #[inline(always)]
    pub(in crate::contract::schema) fn find(&self, name: &[u8], near: &mut usize) -> Option<&Property> {
        let key = Key::of(name);
        if let Some(property) = self.names.get(*near)
            && property.is(key, name)
        {
            *near += 1;
            return Some(property);
        }
        let found = self.search(key, name)?;
        *near = found + 1;
        self.names.get(found)
    }

    /// As [`Properties::find`], for names that are rare.
    pub(in crate::contract::schema) fn find_slowly(
        &self,
        name: &[u8],
        near: &mut usize,
    ) -> Option<&Property> {
        self.find(name, near)
    }

    fn search(&self, key: Key, name: &[u8]) -> Option<usize> {
        if self.names.len() <= LINEAR_NAMES {
            return self.names.iter().position(|property| property.is(key, name));
        }
        let by_name =
            |&at: &u32| self.names.get(at as usize).map(|property| property.name.as_bytes()).cmp(&Some(name));
        let at = self.sorted.binary_search_by(by_name).ok()?;
        self.sorted.get(at).map(|at| *at as usize)
    }
}
