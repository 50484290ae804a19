//! The graph of subschemas: which references go in circles, and which verdicts must be remembered.
//!
//! A circle that consumes nothing of the value would never end, so it is refused. A subschema that can
//! meet the same value on several ways would be judged once for each way, and the ways multiply
//! with depth; such subschemas remember their verdicts. It must never mark too few. The compiler calls
//! it once per schema.

use callgate_protocol::json::Kind;

use super::program::{Form, Node, NodeId, Op, Span, Tag, Types};
use super::shortcut::Shortcut;

/// Where a subschema is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the same value.
    Here,
    /// To the same value, and perhaps again to find out what was evaluated.
    HereAgain,
    /// To a part of the value.
    Below,
    /// To a part of the value, and perhaps again to find out what was evaluated.
    BelowAgain,
}

/// Finds the circles, and gives one subschema of each.
pub(super) fn circles(nodes: &[Node], ops: &[Op]) -> Vec<NodeId> {
    Graph { nodes, ops }.circles()
}

/// Leads everything that applies a mere reference to where that leads. There must be no circles.
pub(super) fn shorten(nodes: &[Node], ops: &mut [Op], anchors: &[Vec<(u32, NodeId)>]) {
    if !anchors.is_empty() {
        // With dynamic references it matters which resources are passed on the way.
        return;
    }
    let mut leads: Vec<NodeId> = (0..nodes.len() as NodeId).collect();
    for (node, lead) in nodes.iter().zip(&mut leads) {
        let bare = node.types == Types::ALL && node.by_kind.iter().all(|span| span.start == span.end);
        if let (true, Some([Op::Reference(target)])) =
            (bare, ops.get(node.any.start as usize..node.any.end as usize))
        {
            *lead = *target;
        }
    }
    for op in ops {
        op.targets(|node| {
            while let Some(&lead) = leads.get(*node as usize) {
                if lead == *node {
                    break;
                }
                *node = lead;
            }
        });
    }
}

/// Finds out what tells alternatives apart.
pub(super) fn tag(nodes: &[Node], ops: &mut [Op]) {
    for at in 0..ops.len() {
        let tag = match ops.get(at) {
            Some(Op::AnyOf(choice) | Op::OneOf(choice)) => Tag::of(&choice.nodes, nodes, ops),
            _ => None,
        };
        if let (Some(tag), Some(Op::AnyOf(choice) | Op::OneOf(choice))) = (tag, ops.get_mut(at)) {
            choice.tag = Some(tag);
        }
    }
}

/// Marks what must be remembered, and what can be judged without further ado.
pub(super) fn mark(nodes: &mut [Node], ops: &mut [Op], anchors: &[Vec<(u32, NodeId)>]) {
    let graph = Graph { nodes, ops };
    let memo = graph.memo(anchors);
    let marks: Vec<(bool, bool, Form, Shortcut)> = (0..)
        .zip(graph.nodes.iter().zip(memo))
        .map(|(id, (node, memo))| {
            let forgets = !memo && anchors.is_empty();
            let form = if forgets { graph.form(node) } else { Form::Other };
            (memo, forgets && graph.is_simple(id), form, Shortcut::of(node, ops))
        })
        .collect();
    for (node, (memo, simple, form, shortcut)) in nodes.iter_mut().zip(marks) {
        (node.memo, node.simple, node.form, node.shortcut) = (memo, simple, form, shortcut);
    }
    for op in ops {
        // Where patterns may have a say, no glance decides about a member.
        if let Op::Properties(properties) = op
            && properties.patterns.is_empty()
        {
            for property in &mut properties.names {
                let node = property.schema.and_then(|schema| nodes.get(schema as usize));
                property.shortcut = node.map_or(Shortcut::NONE, |node| node.shortcut);
            }
        }
    }
}

struct Graph<'g> {
    nodes: &'g [Node],
    ops: &'g [Op],
}

impl Graph<'_> {
    fn ops_of(&self, id: NodeId) -> impl Iterator<Item = &Op> {
        let node = self.nodes.get(id as usize);
        let spans = node.map(|node| [node.any].into_iter().chain(node.by_kind));
        let slice = |span: Span| self.ops.get(span.start as usize..span.end as usize).unwrap_or_default();
        spans.into_iter().flatten().flat_map(slice)
    }

    fn edges(&self, id: NodeId, mut visit: impl FnMut(NodeId, Way)) {
        for op in self.ops_of(id) {
            edges(op, &mut visit);
        }
    }

    /// Depth-first search along the ways that stay at the value, with its own stack.
    fn circles(&self) -> Vec<NodeId> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![NEW; self.nodes.len()];
        let mut circles = Vec::new();
        let mut stack: Vec<(NodeId, bool)> = Vec::new();
        let set = |state: &mut Vec<u8>, id: NodeId, to: u8| {
            if let Some(slot) = state.get_mut(id as usize) {
                *slot = to;
            }
        };
        for start in 0..self.nodes.len() as NodeId {
            stack.push((start, false));
            while let Some((id, leave)) = stack.pop() {
                if leave {
                    set(&mut state, id, DONE);
                    continue;
                }
                if state.get(id as usize) != Some(&NEW) {
                    continue;
                }
                set(&mut state, id, OPEN);
                stack.push((id, true));
                self.edges(id, |target, way| {
                    if matches!(way, Way::Here | Way::HereAgain) {
                        match state.get(target as usize) {
                            Some(&NEW) => stack.push((target, false)),
                            Some(&OPEN) => circles.push(id),
                            _ => {}
                        }
                    }
                });
            }
        }
        circles
    }

    fn memo(&self, anchors: &[Vec<(u32, NodeId)>]) -> Vec<bool> {
        let count = self.nodes.len();
        let mut incoming = vec![0_u32; count];
        let mut again = vec![false; count];
        let mut branching = Vec::new();
        let mut unevaluated = false;
        for id in 0..count as NodeId {
            self.edges(id, |target, way| {
                if let Some(slot) = incoming.get_mut(target as usize) {
                    *slot += 1;
                }
                if let (Way::HereAgain | Way::BelowAgain, Some(slot)) = (way, again.get_mut(target as usize))
                {
                    *slot = true;
                }
            });
            unevaluated |= self
                .ops_of(id)
                .any(|op| matches!(op, Op::UnevaluatedItems(_) | Op::UnevaluatedProperties(_)));
            if self.branches(id) {
                branching.push(id);
            }
        }
        if let Some(root) = incoming.first_mut() {
            *root += 1;
        }
        let mut reached = vec![false; count];
        let dynamic = !anchors.is_empty();
        if dynamic {
            // A dynamic reference may lead to any anchor, from anywhere.
            reached.fill(true);
            for &(_, node) in anchors.iter().flatten() {
                if let Some(slot) = incoming.get_mut(node as usize) {
                    *slot += 2;
                }
            }
        }
        while let Some(id) = branching.pop() {
            match reached.get_mut(id as usize) {
                Some(slot) if !*slot => *slot = true,
                _ => continue,
            }
            self.edges(id, |target, _| branching.push(target));
        }
        (0..count)
            .map(|id| {
                let shared =
                    incoming.get(id).is_some_and(|&count| count > 1) && reached.get(id) == Some(&true);
                shared || (unevaluated && again.get(id) == Some(&true))
            })
            .collect()
    }

    /// What judges an object, if nothing needs to be remembered.
    fn form(&self, node: &Node) -> Form {
        let members = node.of_kind(Kind::Object);
        let slice = |span: Span| self.ops.get(span.start as usize..span.end as usize).unwrap_or_default();
        match (slice(node.any), slice(members)) {
            _ if !node.types.has(Kind::Object) => Form::Other,
            ([], [Op::Properties(_)]) => Form::Members(members.start),
            ([Op::AnyOf(choice) | Op::OneOf(choice)], []) if choice.tag.is_some() => {
                Form::Tagged(node.any.start)
            }
            _ => Form::Other,
        }
    }

    /// Whether all operations are of one kind of value and go no further than its own parts.
    fn is_simple(&self, id: NodeId) -> bool {
        self.nodes.get(id as usize).is_some_and(|node| node.any.start == node.any.end)
            && self.ops_of(id).all(|op| {
                !matches!(
                    op,
                    Op::Contains(_)
                        | Op::UnevaluatedItems(_)
                        | Op::PropertyNames(_)
                        | Op::DependentSchemas(_)
                        | Op::UnevaluatedProperties(_)
                )
            })
    }

    /// Whether a value may meet one subschema on two ways that begin here.
    fn branches(&self, id: NodeId) -> bool {
        let (mut here, mut below) = (0, false);
        self.edges(id, |_, way| match way {
            Way::Here | Way::HereAgain => here += 1,
            Way::Below | Way::BelowAgain => below = true,
        });
        let overlapping = self.ops_of(id).any(|op| match op {
            Op::Properties(properties) => {
                properties.patterns.len() > 1
                    || (!properties.patterns.is_empty() && !properties.names.is_empty())
            }
            Op::Contains(_) | Op::DynamicReference { .. } => true,
            _ => false,
        });
        here > 1 || (here == 1 && below) || overlapping
    }
}

fn edges(op: &Op, visit: &mut impl FnMut(NodeId, Way)) {
    match op {
        Op::Reference(node) | Op::DynamicReference { fallback: node, .. } => visit(*node, Way::Here),
        Op::Not(node) => visit(*node, Way::Here),
        Op::AllOf(nodes) => nodes.iter().for_each(|node| visit(*node, Way::Here)),
        Op::AnyOf(choice) | Op::OneOf(choice) => {
            choice.nodes.iter().for_each(|node| visit(*node, Way::HereAgain));
        }
        Op::If(condition) => {
            visit(condition.condition, Way::HereAgain);
            condition.then.iter().chain(&condition.otherwise).for_each(|node| visit(*node, Way::Here));
        }
        Op::DependentSchemas(schemas) => schemas.iter().for_each(|(_, node)| visit(*node, Way::Here)),
        Op::Sequence(sequence) => {
            sequence.prefix.iter().chain(&sequence.rest).for_each(|node| visit(*node, Way::Below));
        }
        Op::Contains(contains) => visit(contains.schema, Way::BelowAgain),
        Op::Properties(properties) => {
            properties
                .names
                .iter()
                .filter_map(|property| property.schema)
                .for_each(|node| visit(node, Way::Below));
            properties.patterns.iter().for_each(|property| visit(property.schema, Way::Below));
            properties.additional.iter().for_each(|node| visit(*node, Way::Below));
        }
        Op::PropertyNames(node) | Op::UnevaluatedItems(node) | Op::UnevaluatedProperties(node) => {
            visit(*node, Way::Below);
        }
        Op::Constant(_)
        | Op::Word(_)
        | Op::Words(_)
        | Op::Enumeration(_)
        | Op::Compare(..)
        | Op::MultipleOf(_)
        | Op::Length(..)
        | Op::Pattern(_)
        | Op::Format(_)
        | Op::Items(..)
        | Op::UniqueItems
        | Op::Members(..)
        | Op::DependentRequired(_) => {}
    }
}
