//! Combinations: `allOf`, `anyOf`, `oneOf`, `if`.
//!
//! When no alternative accepts a value, the violations of the one that was meant are reported if only
//! one can have been meant, and otherwise what the alternatives are. It must never collect from
//! every alternative: that is work and text without bound. The evaluator calls it.

use callgate_protocol::json::{Kind, Value};

use super::super::program::{Choice, Condition, Node, NodeId, Op, Tag};
use super::super::violation;
use super::{Collect, Halt, Judged, Mode, Quick, Run};

/// References followed to find out what an alternative is about.
const REFERENCES: u32 = 8;

impl<'p, 'v> Run<'p, 'v> {
    #[inline(never)]
    pub(super) fn all_of<M: Mode>(&mut self, nodes: &[NodeId], value: Value<'v>) -> Judged {
        self.budget.charge(nodes.len() as u64)?;
        let mut valid = true;
        for node in nodes {
            if !self.apply::<M>(*node, value)? {
                if !M::COLLECT {
                    return Ok(false);
                }
                valid = false;
            }
        }
        Ok(valid)
    }

    #[inline(never)]
    pub(super) fn any_of<M: Mode>(&mut self, node: &'p Node, choice: &'p Choice, value: Value<'v>) -> Judged {
        if self.matching(choice, 1, value)? > 0 {
            return Ok(true);
        }
        if M::COLLECT {
            self.explain(node, "anyOf", &choice.nodes, value)?;
        }
        Ok(false)
    }

    #[inline(never)]
    pub(super) fn one_of<M: Mode>(&mut self, node: &'p Node, choice: &'p Choice, value: Value<'v>) -> Judged {
        let matching = self.matching(choice, 2, value)?;
        if M::COLLECT {
            match matching {
                0 => self.explain(node, "oneOf", &choice.nodes, value)?,
                1 => {}
                _ => self.report(node, "oneOf", value, |out| {
                    out.push_str("a value that exactly one of the alternatives accepts; several do");
                })?,
            }
        }
        Ok(matching == 1)
    }

    /// How many alternatives accept the value, counted up to `enough`.
    fn matching(&mut self, choice: &'p Choice, enough: usize, value: Value<'v>) -> Result<usize, Halt> {
        if let (Some(tag), Kind::Object) = (&choice.tag, value.kind()) {
            return self.tagged(choice, tag, value).map(usize::from);
        }
        self.budget.charge(choice.nodes.len() as u64)?;
        let mut matching = 0;
        for alternative in &choice.nodes {
            if self.apply::<Quick>(*alternative, value)? {
                matching += 1;
                if matching == enough {
                    break;
                }
            }
        }
        Ok(matching)
    }

    /// Whether the alternative that the tag of an object chooses accepts it.
    #[inline(never)]
    pub(super) fn tagged(&mut self, choice: &'p Choice, tag: &'p Tag, object: Value<'v>) -> Judged {
        self.budget.descend()?;
        self.budget.charge((1 + object.len() + tag.words.len()) as u64)?;
        let verdict = match tag.chosen(object).and_then(|at| choice.nodes.get(at)) {
            Some(alternative) => self.judge::<Quick>(*alternative, object.position())?,
            None => false,
        };
        self.budget.ascend();
        Ok(verdict)
    }

    #[inline(never)]
    pub(super) fn condition<M: Mode>(&mut self, condition: &Condition, value: Value<'v>) -> Judged {
        if condition.then.is_none() && condition.otherwise.is_none() {
            return Ok(true);
        }
        let branch = if self.apply::<Quick>(condition.condition, value)? {
            condition.then
        } else {
            condition.otherwise
        };
        match branch {
            Some(branch) => self.apply::<M>(branch, value),
            None => Ok(true),
        }
    }

    /// Reports why none of the alternatives accepts the value.
    fn explain(
        &mut self,
        node: &'p Node,
        keyword: &'static str,
        nodes: &'p [NodeId],
        value: Value<'v>,
    ) -> Result<(), Halt> {
        let mut meant = None;
        let mut candidates = 0;
        for alternative in nodes {
            if self.plausible(*alternative, value)? {
                meant = Some(*alternative);
                candidates += 1;
            }
        }
        if let (Some(meant), 1) = (meant, candidates) {
            return self.apply::<Collect>(meant, value).map(|_| ());
        }
        let (program, sources) = (self.program, self.sources);
        self.report(node, keyword, value, |out| violation::push_alternatives(out, nodes, program, sources))
    }

    /// Whether the alternative is about values like this one: of its type, and with the constants
    /// that its properties demand.
    fn plausible(&mut self, alternative: NodeId, value: Value<'v>) -> Judged {
        let program = self.program;
        let mut node = program.node(alternative);
        for _ in 0..REFERENCES {
            self.budget.charge(1)?;
            match program.ops(node.any) {
                [Op::Reference(target)] if node.types.accepts(value.kind(), value) => {
                    node = program.node(*target)
                }
                _ => break,
            }
        }
        let kind = value.kind();
        if !node.types.accepts(kind, value) {
            return Ok(false);
        }
        if kind != Kind::Object {
            return Ok(true);
        }
        for op in program.ops(node.of_kind(Kind::Object)) {
            let Op::Properties(properties) = op else { continue };
            for property in &properties.names {
                let Some(schema) = property.schema else { continue };
                if !program.ops(program.node(schema).any).iter().any(violation::is_choice_of_values) {
                    continue;
                }
                self.budget.charge(value.len() as u64)?;
                if let Some(member) = value.get(property.name.text())
                    && !self.apply::<Quick>(schema, member)?
                {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
