//! What one message leaves for the next on its connection: memory, and the part that most messages of one
//! client repeat.
//!
//! A client sends the same `_meta` with nearly every request. Where a text goes on exactly as the remembered
//! object did, byte for byte, it is not parsed again: its index is copied. The document that results is the
//! same in every respect. It must never hold more than a few kilobytes, and never be shared between
//! connections. The decoder calls it.

use super::bounds::Limits;
use super::value::{Node, Value};

/// Longer texts are not kept.
const TEXT_BYTES: usize = 16 << 10;
/// Larger indexes are not kept.
const NODES: usize = 1024;
/// Longer objects are not remembered.
const FAMILIAR_BYTES: usize = 2048;
/// A client that changed the object so often will do so again, and none is remembered any more.
const MISSES: u8 = 16;

/// What a message leaves for the next one.
#[derive(Default)]
pub struct Memory {
    text: Vec<u8>,
    nodes: Vec<Node>,
    familiar: Option<Box<Familiar>>,
    /// True when the message at hand had the familiar object.
    recognized: bool,
}

/// An object that was parsed at one depth with certain bounds.
pub(super) struct Familiar {
    text: Vec<u8>,
    /// Its index, as if the object stood at the start of a text.
    nodes: Vec<Node>,
    limits: Limits,
    misses: u8,
}

impl Memory {
    /// An empty buffer for the next text.
    #[must_use]
    pub fn take_text(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// An empty index for the next document.
    pub(super) fn take_nodes(&mut self) -> Vec<Node> {
        std::mem::take(&mut self.nodes)
    }

    pub(super) fn familiar(&self, limits: &Limits) -> Option<&Familiar> {
        self.familiar.as_deref().filter(|familiar| familiar.limits == *limits)
    }

    pub(super) fn recognized(&mut self, recognized: bool) {
        self.recognized = recognized;
    }

    /// True when the message at hand had nothing that is remembered.
    pub(crate) fn is_unfamiliar(&self) -> bool {
        !self.recognized
    }

    /// Keeps the memory of a document that is no longer needed.
    pub(super) fn keep(&mut self, text: String, nodes: Vec<Node>) {
        if text.capacity() <= TEXT_BYTES {
            self.text = text.into_bytes();
            self.text.clear();
        }
        if nodes.capacity() <= NODES {
            self.nodes = nodes;
            self.nodes.clear();
        }
    }

    /// Remembers an object that the next message may repeat at the same depth.
    pub(crate) fn remember(&mut self, object: Value<'_>, limits: &Limits) {
        let text = object.raw_bytes();
        if let Some(familiar) = &mut self.familiar {
            familiar.misses = familiar.misses.saturating_add(1);
            if familiar.misses > MISSES {
                return;
            }
        }
        if text.len() > FAMILIAR_BYTES {
            return;
        }
        let (offset, index) = (object.offset() as u32, object.position());
        let nodes = object.subtree().iter().map(|node| node.moved(offset, index)).collect();
        let misses = self.familiar.as_ref().map_or(0, |familiar| familiar.misses);
        self.familiar = Some(Box::new(Familiar { text: text.to_vec(), nodes, limits: *limits, misses }));
    }
}

impl Familiar {
    /// The index of the object, if the text goes on with it at this place.
    #[inline]
    pub(super) fn at(&self, bytes: &[u8], at: usize) -> Option<(usize, &[Node])> {
        let end = at + self.text.len();
        (bytes.get(at..end)? == self.text).then_some((end, &self.nodes))
    }
}
