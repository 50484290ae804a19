//! The compiled form of a schema: subschemas with their operations in one flat list.
//!
//! Operations are grouped by the kind of value they apply to, so that a value meets only those that
//! can refuse it. A program never changes after compilation. The compiler builds it, the evaluator
//! runs it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use callgate_protocol::json::{Kind, Value, push_integer};

use smallvec::SmallVec;

use super::format::Format;
use super::number::{Factor, is_integer};
use super::pattern::Pattern;
use super::shortcut::Shortcut;
use super::source::{Place, Sources, push_token};

mod choice;
mod property;
mod word;

pub(super) use choice::{Choice, Tag};
pub(super) use property::{Dependents, LINEAR_NAMES, PatternProperty, Properties, Property};
pub(super) use word::Word;

/// The index of a subschema in its program.
pub(super) type NodeId = u32;

/// A compiled schema.
pub(super) struct Program {
    pub(super) nodes: Vec<Node>,
    pub(super) ops: Vec<Op>,
    pub(super) root: NodeId,
    /// For each resource and each dynamic anchor, the subschema that bears it; empty when no
    /// reference is dynamic.
    pub(super) anchors: Vec<Vec<(u32, NodeId)>>,
}

impl Program {
    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id as usize).unwrap_or(&FALSE)
    }

    /// Whether the subschema is `false`.
    pub(super) fn refuses_all(&self, id: NodeId) -> bool {
        self.node(id).rule == Rule::Nothing
    }

    /// Appends the JSON pointer of a subschema in its document.
    pub(super) fn push_pointer(&self, node: &Node, sources: &Sources, pointer: &mut String) {
        let kept = node.pointer.get_or_init(|| {
            let mut pointer = String::new();
            self.push_steps(node, sources, &mut pointer);
            (pointer.len() <= KEPT_POINTER_BYTES).then(|| pointer.into())
        });
        match kept {
            Some(kept) => pointer.push_str(kept),
            None => self.push_steps(node, sources, pointer),
        }
    }

    fn push_steps(&self, id: &Node, sources: &Sources, pointer: &mut String) {
        let mut steps: SmallVec<[Origin; 8]> = SmallVec::new();
        let mut node = id;
        while let Some(parent) = node.origin.parent {
            steps.push(node.origin);
            node = self.node(parent);
        }
        sources.push_pointer(pointer, node.place);
        let document = sources.document(id.place.document);
        let push_name = |pointer: &mut String, position: u32| {
            pointer.push('/');
            push_token(pointer, &document.at(position).as_str().unwrap_or_default());
        };
        for step in steps.into_iter().rev() {
            push_name(pointer, step.keyword);
            match step.part {
                Part::Whole => {}
                Part::Member(name) => push_name(pointer, name),
                Part::Item(index) => {
                    pointer.push('/');
                    push_integer(pointer, index);
                }
            }
        }
    }

    #[inline]
    pub(super) fn ops(&self, span: Span) -> &[Op] {
        self.ops.get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} subschemas, {} operations", self.nodes.len(), self.ops.len())
    }
}

/// Up to this length the pointer of a subschema is kept, so that pointers take no more memory than there
/// are subschemas.
const KEPT_POINTER_BYTES: usize = 256;

/// A range of operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What a subschema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Everything is accepted.
    Anything,
    /// Nothing is accepted.
    Nothing,
    /// The operations decide.
    Operations,
}

/// One subschema.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) rule: Rule,
    pub(super) types: Types,
    /// Whether verdicts are remembered by position, because the same value may come here again.
    pub(super) memo: bool,
    /// Whether only operations of the value's kind apply and nothing needs to be remembered.
    pub(super) simple: bool,
    /// What judges an object.
    pub(super) form: Form,
    /// The schema resource that the subschema belongs to.
    pub(super) resource: u32,
    /// Operations for values of every kind.
    pub(super) any: Span,
    /// Operations for values of one kind, by that kind.
    pub(super) by_kind: [Span; 6],
    /// What is accepted at a glance.
    pub(super) shortcut: Shortcut,
    /// Where in the schema the subschema was found.
    pub(super) origin: Origin,
    /// Its pointer, from the first report on, unless that is long.
    pointer: OnceLock<Option<Box<str>>>,
}

/// Stands in for an index that no program has.
static FALSE: Node = Node::refusing();

/// What judges an object, for the forms that most subschemas of objects have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// The operation of that index alone, which judges the members.
    Members(u32),
    /// The operation of that index alone, whose alternatives have a tag.
    Tagged(u32),
    /// What the operations of the subschema are.
    Other,
}

/// How a subschema was reached from the one around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) parent: Option<NodeId>,
    /// The position of the keyword's name in the document.
    pub(super) keyword: u32,
    pub(super) part: Part,
}

/// Which part of a keyword's value a subschema is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// The value itself.
    Whole,
    /// An item, by its index.
    Item(u32),
    /// A member, by the position of its name in the document.
    Member(u32),
}

impl Node {
    /// Refuses everything.
    const fn refusing() -> Self {
        Self {
            place: Place { document: 0, position: 0 },
            rule: Rule::Nothing,
            types: Types(0),
            memo: false,
            simple: false,
            form: Form::Other,
            resource: 0,
            any: Span { start: 0, end: 0 },
            by_kind: [Span { start: 0, end: 0 }; 6],
            shortcut: Shortcut::NONE,
            origin: Origin { parent: None, keyword: 0, part: Part::Whole },
            pointer: OnceLock::new(),
        }
    }

    pub(super) fn new(place: Place, resource: u32, origin: Origin) -> Self {
        Self { place, resource, origin, rule: Rule::Operations, types: Types::ALL, ..Self::refusing() }
    }

    /// The operations that apply to values of that kind only.
    #[inline]
    pub(super) fn of_kind(&self, kind: Kind) -> Span {
        self.by_kind.get(kind as usize).copied().unwrap_or_default()
    }

    /// Whether there is no operation at all.
    pub(super) fn is_empty(&self) -> bool {
        self.by_kind.iter().chain([&self.any]).all(|span| span.start == span.end)
    }
}

/// The set of types that a subschema accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(pub(super) u8);

impl Types {
    pub(super) const NAMES: [(&'static str, u8); 7] = [
        ("null", 1),
        ("boolean", 2),
        ("integer", 4),
        ("number", 8),
        ("string", 16),
        ("array", 32),
        ("object", 64),
    ];
    pub(super) const ALL: Self = Self(0x7F);

    /// Whether every value of the kind is accepted.
    #[inline]
    pub(super) fn has(self, kind: Kind) -> bool {
        /// The bit of each kind; an integer is a number that needs a closer look.
        const BITS: [u8; 6] = [1, 2, 8, 16, 32, 64];
        self.0 & BITS.get(kind as usize).copied().unwrap_or_default() != 0
    }

    #[inline]
    pub(super) fn accepts(self, kind: Kind, value: Value<'_>) -> bool {
        self.has(kind) || (kind == Kind::Number && self.0 & 4 != 0 && is_integer(value))
    }
}

/// How a number is compared with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// A number of a schema, with its value where it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) small: Option<i64>,
    pub(super) place: Place,
}

/// What a size bound counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Least,
    Most,
}

/// One check of a subschema.
#[derive(Debug)]
pub(super) enum Op {
    Reference(NodeId),
    DynamicReference {
        anchor: u32,
        fallback: NodeId,
    },
    AllOf(Box<[NodeId]>),
    AnyOf(Box<Choice>),
    OneOf(Box<Choice>),
    Not(NodeId),
    If(Box<Condition>),
    Constant(Place),
    /// A constant that is a string.
    Word(Word),
    /// An enumeration of strings only.
    Words(Box<[Word]>),
    Enumeration(Box<[Place]>),
    Compare(Comparison, Bound),
    MultipleOf(Box<Factor>),
    Length(Edge, u64),
    Pattern(Arc<Pattern>),
    Format(Format),
    Items(Edge, u64),
    UniqueItems,
    Sequence(Box<Sequence>),
    Contains(Box<Contains>),
    UnevaluatedItems(NodeId),
    Members(Edge, u64),
    Properties(Box<Properties>),
    PropertyNames(NodeId),
    DependentRequired(Box<[Dependents]>),
    DependentSchemas(Box<[(Box<str>, NodeId)]>),
    UnevaluatedProperties(NodeId),
}

impl Op {
    /// Visits every subschema that the operation applies.
    pub(super) fn targets(&mut self, mut visit: impl FnMut(&mut NodeId)) {
        match self {
            Self::Reference(node)
            | Self::DynamicReference { fallback: node, .. }
            | Self::Not(node)
            | Self::UnevaluatedItems(node)
            | Self::PropertyNames(node)
            | Self::UnevaluatedProperties(node) => visit(node),
            Self::AllOf(nodes) => nodes.iter_mut().for_each(visit),
            Self::AnyOf(choice) | Self::OneOf(choice) => choice.nodes.iter_mut().for_each(visit),
            Self::If(condition) => {
                visit(&mut condition.condition);
                condition.then.iter_mut().chain(&mut condition.otherwise).for_each(visit);
            }
            Self::Sequence(sequence) => {
                sequence.prefix.iter_mut().chain(&mut sequence.rest).for_each(visit);
            }
            Self::Contains(contains) => visit(&mut contains.schema),
            Self::Properties(properties) => {
                properties
                    .names
                    .iter_mut()
                    .filter_map(|property| property.schema.as_mut())
                    .for_each(&mut visit);
                properties.patterns.iter_mut().for_each(|property| visit(&mut property.schema));
                properties.additional.iter_mut().for_each(visit);
            }
            Self::DependentSchemas(schemas) => schemas.iter_mut().for_each(|(_, node)| visit(node)),
            Self::Constant(_)
            | Self::Word(_)
            | Self::Words(_)
            | Self::Enumeration(_)
            | Self::Compare(..)
            | Self::MultipleOf(_)
            | Self::Length(..)
            | Self::Pattern(_)
            | Self::Format(_)
            | Self::Items(..)
            | Self::UniqueItems
            | Self::Members(..)
            | Self::DependentRequired(_) => {}
        }
    }
}

/// `if`, `then` and `else`.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) condition: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// `prefixItems` with `items`, or `items` with `additionalItems`.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) prefix: Box<[NodeId]>,
    pub(super) rest: Option<NodeId>,
    /// The keyword of `rest`.
    pub(super) rest_keyword: &'static str,
}

/// `contains` with its counts.
#[derive(Debug)]
pub(super) struct Contains {
    pub(super) schema: NodeId,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
    /// Whether the items found count as evaluated, as in 2020-12.
    pub(super) evaluates: bool,
}
