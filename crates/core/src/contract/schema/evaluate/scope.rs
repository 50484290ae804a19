//! The dynamic scope: which subschema a dynamic reference leads to.
//!
//! What matters of the resources entered so far is only which of them was the first to bear each
//! dynamic anchor, so scopes are numbered by that. Schemas without dynamic references never leave
//! scope zero. Only the evaluator calls it.

use super::super::program::{NodeId, Program};

/// For each dynamic anchor that is bound, its subschema.
type Bindings = Vec<(u32, NodeId)>;

/// All scopes met in an evaluation, and the one in force.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    /// Scope zero, the empty one, is not in the list.
    known: Vec<Bindings>,
    current: u32,
}

impl Scopes {
    pub(super) fn current(&self) -> u32 {
        self.current
    }

    /// Enters a resource; gives the scope to return to.
    pub(super) fn enter(&mut self, program: &Program, resource: u32) -> u32 {
        let before = self.current;
        let Some(anchors) = program.anchors.get(resource as usize) else { return before };
        let bound = self.bindings();
        let is_new = |anchor: u32| bound.iter().all(|(known, _)| *known != anchor);
        if anchors.iter().any(|(anchor, _)| is_new(*anchor)) {
            let mut bindings = bound.to_vec();
            bindings.extend(anchors.iter().copied().filter(|(anchor, _)| is_new(*anchor)));
            bindings.sort_unstable();
            let known = self.known.iter().position(|known| *known == bindings);
            let at = known.unwrap_or_else(|| {
                self.known.push(bindings);
                self.known.len() - 1
            });
            self.current = at as u32 + 1;
        }
        before
    }

    pub(super) fn leave(&mut self, before: u32) {
        self.current = before;
    }

    pub(super) fn resolve(&self, anchor: u32) -> Option<NodeId> {
        self.bindings().iter().find(|(known, _)| *known == anchor).map(|(_, node)| *node)
    }

    fn bindings(&self) -> &[(u32, NodeId)] {
        let at = self.current.checked_sub(1);
        at.and_then(|at| self.known.get(at as usize)).map(Vec::as_slice).unwrap_or_default()
    }
}
