//! `unevaluatedProperties` and `unevaluatedItems`: what no other keyword has judged.
//!
//! Which parts were evaluated is found out by walking, once, over the subschemas that were applied to
//! the same value and accepted it; their verdicts are remembered. It must never count what a refused
//! alternative evaluated. The evaluator calls it.

use callgate_protocol::json::{Kind, Value};

use super::super::program::{Node, NodeId, Op, PatternProperty, Rule};
use super::super::violation;
use super::{Halt, Judged, Mode, Quick, Run};

/// Which parts of a value were evaluated, by index.
struct Marks {
    parts: Vec<bool>,
    all: bool,
    /// Subschemas already walked over, with their scope.
    walked: Vec<(NodeId, u32)>,
}

impl Marks {
    fn mark(&mut self, at: usize) {
        if let Some(part) = self.parts.get_mut(at) {
            *part = true;
        }
    }
}

impl<'p, 'v> Run<'p, 'v> {
    #[inline(never)]
    pub(super) fn unevaluated_properties<M: Mode>(
        &mut self,
        node: &'p Node,
        rest: NodeId,
        value: Value<'v>,
    ) -> Judged {
        let marks = self.evaluated(node, value)?;
        let mut valid = true;
        for ((_, member), _) in
            value.members().zip(&marks.parts).filter(|(_, marked)| !marks.all && !**marked)
        {
            if self.unevaluated::<M>(node, "unevaluatedProperties", rest, member)? {
                continue;
            }
            if !M::COLLECT {
                return Ok(false);
            }
            valid = false;
        }
        Ok(valid)
    }

    #[inline(never)]
    pub(super) fn unevaluated_items<M: Mode>(
        &mut self,
        node: &'p Node,
        rest: NodeId,
        value: Value<'v>,
    ) -> Judged {
        let marks = self.evaluated(node, value)?;
        let mut valid = true;
        for (item, _) in value.items().zip(&marks.parts).filter(|(_, marked)| !marks.all && !**marked) {
            if self.unevaluated::<M>(node, "unevaluatedItems", rest, item)? {
                continue;
            }
            if !M::COLLECT {
                return Ok(false);
            }
            valid = false;
        }
        Ok(valid)
    }

    fn unevaluated<M: Mode>(
        &mut self,
        node: &'p Node,
        keyword: &'static str,
        rest: NodeId,
        part: Value<'v>,
    ) -> Judged {
        if !self.program.refuses_all(rest) {
            return self.apply::<M>(rest, part);
        }
        if M::COLLECT {
            self.report(node, keyword, part, |out| out.push_str(violation::NOTHING_MORE))?;
        }
        Ok(false)
    }

    fn evaluated(&mut self, node: &'p Node, value: Value<'v>) -> Result<Marks, Halt> {
        self.budget.charge(1 + value.len() as u64)?;
        let mut marks = Marks { parts: vec![false; value.len()], all: false, walked: Vec::new() };
        self.walk_operations(node, value, &mut marks, Whose::Own)?;
        Ok(marks)
    }

    fn walk(&mut self, id: NodeId, value: Value<'v>, marks: &mut Marks) -> Result<(), Halt> {
        self.budget.charge(1 + marks.walked.len() as u64)?;
        let node = self.program.node(id);
        if marks.all || node.rule != Rule::Operations {
            return Ok(());
        }
        let before = self.enter(node);
        let step = (id, self.scope());
        if !marks.walked.contains(&step) {
            marks.walked.push(step);
            self.budget.descend()?;
            self.walk_operations(node, value, marks, Whose::Others)?;
            self.budget.ascend();
        }
        self.leave(before);
        Ok(())
    }

    fn walk_operations(
        &mut self,
        node: &'p Node,
        value: Value<'v>,
        marks: &mut Marks,
        whose: Whose,
    ) -> Result<(), Halt> {
        let program = self.program;
        for op in program.ops(node.any) {
            self.walk_in_place(op, value, marks)?;
        }
        match value.kind() {
            Kind::Object => {
                for op in program.ops(node.of_kind(Kind::Object)) {
                    self.walk_members(op, value, marks, whose)?;
                }
            }
            Kind::Array => {
                for op in program.ops(node.of_kind(Kind::Array)) {
                    self.walk_items(op, value, marks, whose)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn walk_in_place(&mut self, op: &'p Op, value: Value<'v>, marks: &mut Marks) -> Result<(), Halt> {
        match op {
            Op::Reference(target) => self.walk(*target, value, marks),
            Op::DynamicReference { anchor, fallback } => {
                let target = self.resolve(*anchor, *fallback);
                self.walk(target, value, marks)
            }
            Op::AllOf(nodes) => nodes.iter().try_for_each(|node| self.walk(*node, value, marks)),
            Op::AnyOf(choice) | Op::OneOf(choice) => choice.nodes.iter().try_for_each(|node| {
                if self.apply::<Quick>(*node, value)? {
                    self.walk(*node, value, marks)?;
                }
                Ok(())
            }),
            Op::If(condition) => {
                let branch = if self.apply::<Quick>(condition.condition, value)? {
                    self.walk(condition.condition, value, marks)?;
                    condition.then
                } else {
                    condition.otherwise
                };
                branch.map_or(Ok(()), |branch| self.walk(branch, value, marks))
            }
            _ => Ok(()),
        }
    }

    fn walk_members(
        &mut self,
        op: &'p Op,
        value: Value<'v>,
        marks: &mut Marks,
        whose: Whose,
    ) -> Result<(), Halt> {
        match op {
            Op::Properties(properties) if properties.additional.is_some() => marks.all = true,
            Op::Properties(properties) => {
                let mut near = &*properties.names;
                for (at, entry) in value.entries().enumerate() {
                    self.budget.charge(1)?;
                    let text = entry.name.value().as_str().unwrap_or_default();
                    let mut declared = false;
                    if let Some((property, others)) = properties.find(entry.name, near) {
                        near = others;
                        declared = property.schema.is_some();
                    }
                    let mut evaluated = declared;
                    for PatternProperty { pattern, .. } in &properties.patterns {
                        if !evaluated {
                            self.budget.charge(pattern.cost(text.len()))?;
                            evaluated = pattern.matches(&text);
                        }
                    }
                    if evaluated {
                        marks.mark(at);
                    }
                }
            }
            Op::DependentSchemas(schemas) => {
                for (name, schema) in schemas {
                    self.budget.charge(1 + value.len() as u64)?;
                    if value.get(name).is_some() {
                        self.walk(*schema, value, marks)?;
                    }
                }
            }
            Op::UnevaluatedProperties(_) if whose == Whose::Others => marks.all = true,
            _ => {}
        }
        Ok(())
    }

    fn walk_items(
        &mut self,
        op: &'p Op,
        value: Value<'v>,
        marks: &mut Marks,
        whose: Whose,
    ) -> Result<(), Halt> {
        match op {
            Op::Sequence(sequence) if sequence.rest.is_some() => marks.all = true,
            Op::Sequence(sequence) => (0..sequence.prefix.len()).for_each(|at| marks.mark(at)),
            Op::Contains(contains) if contains.evaluates => {
                self.budget.charge(value.len() as u64)?;
                for (at, item) in value.items().enumerate() {
                    if self.apply::<Quick>(contains.schema, item)? {
                        marks.mark(at);
                    }
                }
            }
            Op::UnevaluatedItems(_) if whose == Whose::Others => marks.all = true,
            _ => {}
        }
        Ok(())
    }
}

/// Whether the walk is at the subschema that asks, whose own `unevaluated*` does not count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Others,
}
