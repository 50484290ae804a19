//! The evaluator: one value against one program, within a budget.
//!
//! One code path serves both the quick verdict and the collection of violations, so they cannot
//! disagree. Each application, comparison and byte of a pattern is paid for before it is done. It
//! must never answer "valid" when the budget ends, and never recurse beyond its bound. `Schema` calls
//! it.

use callgate_protocol::json::{Kind, Part, Value};

use super::equal::repeated;
use super::program::{Form, Node, NodeId, Op, Program, Rule, Span};
use super::shortcut::{Shortcut, Text};
use super::source::Sources;
use super::{OverBudget, SchemaLimits, Verdict, Violation, Violations, violation};

mod array;
mod budget;
mod choice;
mod leaf;
mod memo;
mod object;
mod report;
mod scope;
mod unevaluated;

pub(super) use budget::Budget;
use memo::{Memo, Question};
use scope::Scopes;

/// Why an evaluation ends before its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    OverBudget,
    /// As many violations as are reported have been found.
    Full,
}

impl From<OverBudget> for Halt {
    fn from(_: OverBudget) -> Self {
        Self::OverBudget
    }
}

pub(super) type Judged = Result<bool, Halt>;

/// What an evaluation is for.
pub(super) trait Mode {
    /// Whether to go on after a failure and to report each.
    const COLLECT: bool;
}

/// The verdict only.
pub(super) struct Quick;

/// The verdict and every violation.
pub(super) struct Collect;

impl Mode for Quick {
    const COLLECT: bool = false;
}

impl Mode for Collect {
    const COLLECT: bool = true;
}

/// One evaluation.
pub(super) struct Run<'p, 'v> {
    program: &'p Program,
    sources: &'p Sources,
    budget: Budget,
    root: Value<'v>,
    most_violations: usize,
    /// What most evaluations never need, so that they do not pay for it.
    cold: Option<Box<Cold>>,
}

/// What is remembered and collected.
#[derive(Default)]
struct Cold {
    memo: Memo,
    scopes: Scopes,
    violations: Vec<Violation>,
    truncated: bool,
}

impl<'p, 'v> Run<'p, 'v> {
    pub(super) fn new(
        program: &'p Program,
        sources: &'p Sources,
        limits: &SchemaLimits,
        value: Value<'v>,
    ) -> Self {
        Self {
            program,
            sources,
            budget: Budget::new(limits),
            root: value,
            most_violations: limits.violations,
            cold: None,
        }
    }

    /// The verdict of the whole program.
    pub(super) fn verdict(self) -> Result<bool, OverBudget> {
        let root = self.program.root;
        self.accepts(root)
    }

    /// The verdict of one subschema about the value.
    pub(super) fn accepts(mut self, node: NodeId) -> Result<bool, OverBudget> {
        let position = self.root.position();
        self.judge::<Quick>(node, position).map_err(|_| OverBudget)
    }

    pub(super) fn validate(mut self) -> Verdict {
        let (root, position) = (self.program.root, self.root.position());
        let verdict = self.judge::<Collect>(root, position);
        match verdict {
            Ok(true) => Verdict::Valid,
            Ok(false) | Err(Halt::Full) => {
                let Cold { violations, truncated, .. } = *self.cold.unwrap_or_default();
                Verdict::Invalid(Violations { list: violations, truncated })
            }
            Err(Halt::OverBudget) => Verdict::OverBudget,
        }
    }

    /// Applies a subschema to a value. Whoever applies subschemas to the parts of a value has paid
    /// for one step for each part, which is what a glance costs.
    #[inline(never)]
    fn apply<M: Mode>(&mut self, id: NodeId, value: Value<'v>) -> Judged {
        if self.glance_apart(id, value)? { Ok(true) } else { self.judge::<M>(id, value.position()) }
    }

    /// As [`Run::glance`], where it must not enlarge the frame of a function that recurses.
    #[inline(never)]
    fn glance_apart(&mut self, id: NodeId, value: Value<'v>) -> Judged {
        self.glance(&self.program.node(id).shortcut, value.part())
    }

    /// Whether a value is accepted at a glance. If not, the operations must decide.
    #[inline(always)]
    fn glance(&mut self, shortcut: &Shortcut, part: Part<'v>) -> Judged {
        match part.kind() {
            Kind::String => match shortcut.text(part) {
                Text::Accepted => Ok(true),
                Text::If(op) => self.word(op, part),
                Text::Unsure => Ok(false),
            },
            Kind::Number => Ok(shortcut.accepts_number(part)),
            kind => Ok(shortcut.accepts_all(kind)),
        }
    }

    /// Applies a subschema to a value that a glance did not settle. The value is named by its position,
    /// so that the loops over parts need not keep it in memory.
    #[inline(never)]
    fn judge<M: Mode>(&mut self, id: NodeId, position: u32) -> Judged {
        self.budget.charge(1)?;
        let node = self.program.node(id);
        let value = self.root.document().at(position);
        let kind = value.kind();
        match node.form {
            Form::Members(at) if kind == Kind::Object => {
                if let Some(Op::Properties(properties)) = self.program.ops.get(at as usize) {
                    return self.properties::<M>(node, properties, value);
                }
            }
            // A refused object is judged again by whoever collects.
            Form::Tagged(at) if kind == Kind::Object && !M::COLLECT => {
                if let Some(Op::AnyOf(choice) | Op::OneOf(choice)) = self.program.ops.get(at as usize)
                    && let Some(tag) = &choice.tag
                {
                    return self.tagged(choice, tag, value);
                }
            }
            _ => {}
        }
        self.judge_otherwise::<M>(id, node, kind, value)
    }

    #[inline(never)]
    fn judge_otherwise<M: Mode>(
        &mut self,
        id: NodeId,
        node: &'p Node,
        kind: Kind,
        value: Value<'v>,
    ) -> Judged {
        if !node.types.accepts(kind, value) {
            return self.refuse::<M>(node, value);
        }
        if node.simple {
            return self.span::<M>(node, node.of_kind(kind), value);
        }
        self.apply_fully::<M>(id, node, kind, value)
    }

    /// The value has a type that the subschema does not accept.
    #[cold]
    fn refuse<M: Mode>(&mut self, node: &'p Node, value: Value<'v>) -> Judged {
        if M::COLLECT {
            if node.rule == Rule::Nothing {
                self.report(node, "false", value, |out| out.push_str(violation::NOTHING))?;
            } else {
                self.report(node, "type", value, |out| violation::push_types(out, node.types))?;
            }
        }
        Ok(false)
    }

    #[inline(never)]
    fn apply_fully<M: Mode>(&mut self, id: NodeId, node: &'p Node, kind: Kind, value: Value<'v>) -> Judged {
        self.budget.descend()?;
        let verdict = if node.memo || !self.program.anchors.is_empty() {
            self.remembered::<M>(id, node, kind, value)
        } else {
            self.operations::<M>(node, kind, value)
        };
        self.budget.ascend();
        verdict
    }

    /// As [`Run::operations`], but asked only once for each subschema, value and scope.
    #[inline(never)]
    fn remembered<M: Mode>(&mut self, id: NodeId, node: &'p Node, kind: Kind, value: Value<'v>) -> Judged {
        let before = self.enter(node);
        let question =
            Question { node: id, scope: self.scope(), position: value.position(), collect: M::COLLECT };
        let cold = self.cold.get_or_insert_default();
        let known = if node.memo { cold.memo.recall(&question, &mut self.budget)? } else { None };
        let verdict = match known {
            // The violations were reported when the question was asked first.
            Some(verdict) => verdict,
            None => {
                let verdict = self.operations::<M>(node, kind, value)?;
                if node.memo {
                    let cold = self.cold.get_or_insert_default();
                    cold.memo.remember(&question, verdict, &mut self.budget)?;
                }
                verdict
            }
        };
        self.leave(before);
        Ok(verdict)
    }

    /// Enters the resource of a subschema; gives the scope to return to.
    fn enter(&mut self, node: &Node) -> u32 {
        if self.program.anchors.is_empty() {
            return 0;
        }
        self.cold.get_or_insert_default().scopes.enter(self.program, node.resource)
    }

    fn leave(&mut self, before: u32) {
        if let Some(cold) = &mut self.cold {
            cold.scopes.leave(before);
        }
    }

    fn scope(&self) -> u32 {
        self.cold.as_ref().map_or(0, |cold| cold.scopes.current())
    }

    fn resolve(&self, anchor: u32, fallback: NodeId) -> NodeId {
        self.cold.as_ref().and_then(|cold| cold.scopes.resolve(anchor)).unwrap_or(fallback)
    }

    fn operations<M: Mode>(&mut self, node: &'p Node, kind: Kind, value: Value<'v>) -> Judged {
        let own = self.span::<M>(node, node.any, value)?;
        if !own && !M::COLLECT {
            return Ok(false);
        }
        let specific = self.span::<M>(node, node.of_kind(kind), value)?;
        Ok(specific && own)
    }

    fn span<M: Mode>(&mut self, node: &'p Node, span: Span, value: Value<'v>) -> Judged {
        let mut valid = true;
        for op in self.program.ops(span) {
            if !self.op::<M>(node, op, value)? {
                if !M::COLLECT {
                    return Ok(false);
                }
                valid = false;
            }
        }
        Ok(valid)
    }

    fn op<M: Mode>(&mut self, node: &'p Node, op: &'p Op, value: Value<'v>) -> Judged {
        match op {
            Op::Properties(properties) => self.properties::<M>(node, properties, value),
            Op::Sequence(sequence) => self.sequence::<M>(node, sequence, value),
            Op::Reference(target) => self.apply::<M>(*target, value),
            Op::DynamicReference { anchor, fallback } => {
                self.apply::<M>(self.resolve(*anchor, *fallback), value)
            }
            Op::AllOf(nodes) => self.all_of::<M>(nodes, value),
            Op::AnyOf(choice) => self.any_of::<M>(node, choice, value),
            Op::OneOf(choice) => self.one_of::<M>(node, choice, value),
            Op::If(condition) => self.condition::<M>(condition, value),
            Op::Contains(contains) => self.contains::<M>(node, contains, value),
            Op::UnevaluatedItems(rest) => self.unevaluated_items::<M>(node, *rest, value),
            Op::PropertyNames(names) => self.property_names::<M>(node, *names, value),
            Op::DependentRequired(lists) => self.dependent_required::<M>(node, lists, value),
            Op::DependentSchemas(schemas) => self.dependent_schemas::<M>(schemas, value),
            Op::UnevaluatedProperties(rest) => self.unevaluated_properties::<M>(node, *rest, value),
            Op::UniqueItems => self.unique_items::<M>(node, value),
            Op::Not(refused) => {
                let valid = !self.apply::<Quick>(*refused, value)?;
                self.outcome::<M>(valid, node, op, value)
            }
            _ => {
                let valid = self.leaf(op, value)?;
                self.outcome::<M>(valid, node, op, value)
            }
        }
    }

    #[inline(never)]
    fn unique_items<M: Mode>(&mut self, node: &'p Node, value: Value<'v>) -> Judged {
        let Some(item) = repeated(value, &mut self.budget)? else { return Ok(true) };
        if M::COLLECT {
            self.report(node, "uniqueItems", item, |out| out.push_str("items that differ from each other"))?;
        }
        Ok(false)
    }
}
