//! The evaluator: one value against one program, within a budget.
//!
//! One code path serves both the quick verdict and the collection of violations, so they cannot
//! disagree. Each application, comparison and byte of a pattern is paid for before it is done. It
//! must never answer "valid" when the budget ends, and never recurse beyond its bound. `Schema` calls
//! it.

use callgate_protocol::json::{Kind, Value};

use super::equal::{equal, repeated};
use super::program::{Edge, Node, NodeId, Op, Program, Rule, Span};
use super::source::{Place, Sources};
use super::violation::{self, Collected};
use super::{OverBudget, SchemaLimits, Verdict};

mod array;
mod choice;
mod memo;
mod object;
mod scope;
mod unevaluated;

use memo::{Memo, Question};
use scope::Scopes;

/// Work and depth that are left.
#[derive(Debug)]
pub(super) struct Budget {
    work: u64,
    depth: u32,
}

impl Budget {
    pub(super) fn charge(&mut self, steps: u64) -> Result<(), OverBudget> {
        match self.work.checked_sub(steps) {
            Some(left) => {
                self.work = left;
                Ok(())
            }
            None => Err(OverBudget),
        }
    }

    /// Pays for a scan over that many bytes.
    pub(super) fn charge_bytes(&mut self, bytes: usize) -> Result<(), OverBudget> {
        self.charge(bytes as u64 / 16)
    }

    pub(super) fn descend(&mut self) -> Result<(), OverBudget> {
        match self.depth.checked_sub(1) {
            Some(left) => {
                self.depth = left;
                Ok(())
            }
            None => Err(OverBudget),
        }
    }

    pub(super) fn ascend(&mut self) {
        self.depth += 1;
    }
}

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
    memo: Memo,
    scopes: Scopes,
    collected: Collected<'v>,
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
            budget: Budget { work: limits.evaluate_work, depth: limits.evaluate_depth },
            memo: Memo::default(),
            scopes: Scopes::default(),
            collected: Collected::new(value, limits.violations),
        }
    }

    pub(super) fn is_valid(self) -> Result<bool, OverBudget> {
        let root = self.program.root;
        self.accepts(root)
    }

    /// The verdict of one subschema about the value.
    pub(super) fn accepts(mut self, node: NodeId) -> Result<bool, OverBudget> {
        let value = self.collected.root();
        self.apply::<Quick>(node, value).map_err(|_| OverBudget)
    }

    pub(super) fn validate(mut self) -> Verdict {
        let value = self.collected.root();
        match self.apply::<Collect>(self.program.root, value) {
            Ok(true) => Verdict::Valid,
            Ok(false) | Err(Halt::Full) => Verdict::Invalid(self.collected.finish()),
            Err(Halt::OverBudget) => Verdict::OverBudget,
        }
    }

    /// Applies a subschema to a value.
    fn apply<M: Mode>(&mut self, id: NodeId, value: Value<'v>) -> Judged {
        self.budget.charge(1)?;
        let program = self.program;
        let node = program.node(id);
        match node.rule {
            Rule::Anything => return Ok(true),
            Rule::Nothing => {
                if M::COLLECT {
                    self.report(node.place, "false", value, || {
                        "nothing: no value is accepted here".to_owned()
                    })?;
                }
                return Ok(false);
            }
            Rule::Operations => {}
        }
        let kind = value.kind();
        if !node.types.accepts(kind, value) {
            if M::COLLECT {
                self.report(node.place, "type", value, || violation::types(node.types))?;
            }
            return Ok(false);
        }
        let specific = node.of_kind(kind);
        if specific.start == specific.end && node.any.start == node.any.end {
            return Ok(true);
        }
        self.budget.descend()?;
        let verdict = if node.memo || !program.anchors.is_empty() {
            self.remembered::<M>(id, node, kind, value)
        } else {
            self.operations::<M>(node, kind, value)
        };
        self.budget.ascend();
        verdict
    }

    /// As [`Run::operations`], but asked only once for each subschema, value and scope.
    fn remembered<M: Mode>(&mut self, id: NodeId, node: &'p Node, kind: Kind, value: Value<'v>) -> Judged {
        let before = self.scopes.enter(self.program, node.resource);
        let question = Question {
            node: id,
            scope: self.scopes.current(),
            position: value.position(),
            collect: M::COLLECT,
        };
        let verdict = match self.memo.recall(&question, &mut self.budget)? {
            // The violations were reported when the question was asked first.
            Some(verdict) if node.memo => Ok(verdict),
            _ => {
                let verdict = self.operations::<M>(node, kind, value)?;
                if node.memo {
                    self.memo.remember(&question, verdict, &mut self.budget)?;
                }
                Ok(verdict)
            }
        };
        self.scopes.leave(before);
        verdict
    }

    fn operations<M: Mode>(&mut self, node: &'p Node, kind: Kind, value: Value<'v>) -> Judged {
        let own = self.span::<M>(node, node.any, value)?;
        if !own && !M::COLLECT {
            return Ok(false);
        }
        Ok(self.span::<M>(node, node.of_kind(kind), value)? && own)
    }

    fn span<M: Mode>(&mut self, node: &'p Node, span: Span, value: Value<'v>) -> Judged {
        let program = self.program;
        let mut valid = true;
        for op in program.ops(span) {
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
        let valid = match op {
            Op::Reference(target) => return self.apply::<M>(*target, value),
            Op::DynamicReference { anchor, fallback } => {
                let target = self.scopes.resolve(*anchor).unwrap_or(*fallback);
                return self.apply::<M>(target, value);
            }
            Op::AllOf(nodes) => return self.all_of::<M>(nodes, value),
            Op::AnyOf(nodes) => return self.any_of::<M>(node, nodes, value),
            Op::OneOf(nodes) => return self.one_of::<M>(node, nodes, value),
            Op::If(condition) => return self.condition::<M>(condition, value),
            Op::Sequence(sequence) => return self.sequence::<M>(node, sequence, value),
            Op::Contains(contains) => return self.contains::<M>(node, contains, value),
            Op::UnevaluatedItems(rest) => return self.unevaluated_items::<M>(node, *rest, value),
            Op::Properties(properties) => return self.properties::<M>(node, properties, value),
            Op::PropertyNames(names) => return self.property_names::<M>(node, *names, value),
            Op::DependentRequired(lists) => return self.dependent_required::<M>(node, lists, value),
            Op::DependentSchemas(schemas) => return self.dependent_schemas::<M>(schemas, value),
            Op::UnevaluatedProperties(rest) => return self.unevaluated_properties::<M>(node, *rest, value),
            Op::Not(refused) => !self.apply::<Quick>(*refused, value)?,
            Op::Constant(place) => equal(self.sources.value(*place), value, &mut self.budget)?,
            Op::Words(words) => {
                self.budget.charge(words.len() as u64)?;
                let text = value.as_str();
                text.is_some_and(|text| words.iter().any(|word| **word == *text))
            }
            Op::Enumeration(places) => self.enumeration(places, value)?,
            Op::Compare(comparison, bound) => {
                self.budget.charge_bytes(value.raw().len())?;
                bound.admits(*comparison, value, self.sources)
            }
            Op::MultipleOf(factor) => {
                self.budget.charge(factor.cost(value.raw().len()))?;
                factor.divides(value)
            }
            Op::Length(edge, bound) => self.length(*edge, *bound, value)?,
            Op::Pattern(pattern) => {
                let text = value.as_str().unwrap_or_default();
                self.budget.charge(pattern.cost(&text))?;
                pattern.matches(&text)
            }
            Op::Format(format) => {
                let text = value.as_str().unwrap_or_default();
                self.budget.charge(format.cost(&text))?;
                format.accepts(&text)
            }
            Op::Items(edge, bound) | Op::Members(edge, bound) => within(*edge, *bound, value.len()),
            Op::UniqueItems => return self.unique_items::<M>(node, value),
        };
        if !valid && M::COLLECT {
            let sources = self.sources;
            self.report(node.place, violation::keyword(op), value, || violation::expected(op, sources))?;
        }
        Ok(valid)
    }

    fn enumeration(&mut self, places: &[Place], value: Value<'v>) -> Judged {
        for place in places {
            if equal(self.sources.value(*place), value, &mut self.budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A character is a Unicode code point, so it takes one to four bytes, or up to twelve escaped.
    fn length(&mut self, edge: Edge, bound: u64, value: Value<'v>) -> Judged {
        let text = value.as_str().unwrap_or_default();
        let bytes = text.len() as u64;
        let (certain, refuted) = match edge {
            Edge::Least => (bytes / 4 >= bound, bytes < bound),
            Edge::Most => (bytes <= bound, bytes / 4 > bound),
        };
        if certain || refuted {
            return Ok(certain);
        }
        self.budget.charge_bytes(text.len())?;
        Ok(within(edge, bound, text.chars().count()))
    }

    fn unique_items<M: Mode>(&mut self, node: &'p Node, value: Value<'v>) -> Judged {
        let Some(item) = repeated(value, &mut self.budget)? else { return Ok(true) };
        if M::COLLECT {
            let expected = || "items that differ from each other".to_owned();
            self.report(node.place, "uniqueItems", item, expected)?;
        }
        Ok(false)
    }

    /// Records a violation at the value.
    fn report(
        &mut self,
        place: Place,
        keyword: &'static str,
        value: Value<'v>,
        expected: impl FnOnce() -> String,
    ) -> Result<(), Halt> {
        self.collected.add(self.sources, place, keyword, value, expected)
    }
}

/// Whether a count keeps to a bound.
fn within(edge: Edge, bound: u64, count: usize) -> bool {
    match edge {
        Edge::Least => count as u64 >= bound,
        Edge::Most => count as u64 <= bound,
    }
}
