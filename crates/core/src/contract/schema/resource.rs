//! Schema resources: the parts of a document that have an identifier of their own.
//!
//! References are looked up here and nowhere else; it must never know a resource that was not in a
//! document at hand. The compiler fills and reads it.

use std::collections::BTreeMap;

use super::Dialect;
use super::source::Place;

/// One resource.
#[derive(Debug)]
pub(super) struct Resource {
    /// The identifier without fragment; empty when the document has none.
    pub(super) uri: String,
    pub(super) root: Place,
    pub(super) dialect: Dialect,
    /// Plain names, those of dynamic anchors included.
    pub(super) anchors: BTreeMap<String, Place>,
    pub(super) dynamic_anchors: BTreeMap<String, Place>,
}

/// All resources of a compilation.
#[derive(Debug, Default)]
pub(super) struct Resources {
    list: Vec<Resource>,
    by_uri: BTreeMap<String, u32>,
}

impl Resources {
    /// Adds a resource; nothing if another one has the identifier.
    pub(super) fn add(&mut self, uri: String, root: Place, dialect: Dialect) -> Option<u32> {
        let id = self.list.len() as u32;
        if self.by_uri.contains_key(&uri) {
            return None;
        }
        self.by_uri.insert(uri.clone(), id);
        let (anchors, dynamic_anchors) = (BTreeMap::new(), BTreeMap::new());
        self.list.push(Resource { uri, root, dialect, anchors, dynamic_anchors });
        Some(id)
    }

    /// Lets a resource be found under one more identifier, unless that is taken.
    pub(super) fn alias(&mut self, uri: &str, resource: u32) {
        self.by_uri.entry(uri.to_owned()).or_insert(resource);
    }

    pub(super) fn find(&self, uri: &str) -> Option<u32> {
        self.by_uri.get(uri).copied()
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "identifiers come from `add` and resources are never removed"
    )]
    pub(super) fn get(&self, id: u32) -> &Resource {
        &self.list[id as usize]
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "identifiers come from `add` and resources are never removed"
    )]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Resource {
        &mut self.list[id as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.list.iter()
    }
}
