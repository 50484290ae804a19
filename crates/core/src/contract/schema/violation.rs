//! Violations: where a value fails, and what would have been accepted.
//!
//! Messages are made from the schema alone. They must never hold a value or a part of one; member
//! names appear only in pointers. The evaluator reports, the stages show.

use callgate_protocol::json::{Kind, Value};

use super::evaluate::Halt;
use super::program::{Comparison, Edge, NodeId, Op, Program, Properties, Rule, Types};
use super::source::{self, Place, Sources};

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The value satisfies the schema.
    Valid,
    /// The value fails, at the places listed.
    Invalid(Violations),
    /// Judging took more work than the bound; the value is to be refused.
    OverBudget,
}

/// The places at which a value fails, in the order in which the schema met them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations {
    /// At least one.
    pub list: Vec<Violation>,
    /// Whether there are more than the bound allows to list.
    pub truncated: bool,
}

/// One failure of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The place in the value, as an RFC 6901 pointer.
    pub pointer: String,
    /// The keyword that refused it; `false` for the schema that accepts nothing.
    pub keyword: &'static str,
    /// What would be accepted. Never the value.
    pub expected: String,
    /// The keyword's place in the schema, as an RFC 6901 pointer.
    pub schema_pointer: String,
}

/// Violations being collected.
pub(super) struct Collected<'v> {
    root: Value<'v>,
    bound: usize,
    list: Vec<Violation>,
    truncated: bool,
}

impl<'v> Collected<'v> {
    pub(super) fn new(root: Value<'v>, bound: usize) -> Self {
        Self { root, bound, list: Vec::new(), truncated: false }
    }

    pub(super) fn root(&self) -> Value<'v> {
        self.root
    }

    /// Adds a violation, or ends the collection when there are enough.
    pub(super) fn add(
        &mut self,
        sources: &Sources,
        place: Place,
        keyword: &'static str,
        value: Value<'v>,
        expected: impl FnOnce() -> String,
    ) -> Result<(), Halt> {
        if self.list.len() >= self.bound {
            self.truncated = true;
            return Err(Halt::Full);
        }
        let mut schema_pointer = sources.pointer(place);
        if keyword != "false" {
            schema_pointer.push('/');
            schema_pointer.push_str(keyword);
        }
        let pointer = source::pointer(self.root, value.position());
        let violation = Violation { pointer, keyword, expected: expected(), schema_pointer };
        if !self.list.contains(&violation) {
            self.list.push(violation);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Violations {
        Violations { list: self.list, truncated: self.truncated }
    }
}

/// What is said where every further part is refused.
pub(super) const NOTHING_MORE: &str = "nothing here: the schema accepts no further part";

/// The keyword of an operation that reports by itself.
pub(super) fn keyword(op: &Op) -> &'static str {
    match op {
        Op::Not(_) => "not",
        Op::Constant(_) => "const",
        Op::Words(_) | Op::Enumeration(_) => "enum",
        Op::Compare(Comparison::AtLeast, _) => "minimum",
        Op::Compare(Comparison::AtMost, _) => "maximum",
        Op::Compare(Comparison::Above, _) => "exclusiveMinimum",
        Op::Compare(Comparison::Below, _) => "exclusiveMaximum",
        Op::MultipleOf(_) => "multipleOf",
        Op::Length(Edge::Least, _) => "minLength",
        Op::Length(Edge::Most, _) => "maxLength",
        Op::Pattern(_) => "pattern",
        Op::Format(_) => "format",
        Op::Items(Edge::Least, _) => "minItems",
        Op::Items(Edge::Most, _) => "maxItems",
        Op::Members(Edge::Least, _) => "minProperties",
        Op::Members(Edge::Most, _) => "maxProperties",
        Op::UniqueItems => "uniqueItems",
        Op::Reference(_) | Op::DynamicReference { .. } => "$ref",
        Op::AllOf(_) => "allOf",
        Op::AnyOf(_) => "anyOf",
        Op::OneOf(_) => "oneOf",
        Op::If(_) => "if",
        Op::Sequence(_) => "items",
        Op::Contains(_) => "contains",
        Op::UnevaluatedItems(_) => "unevaluatedItems",
        Op::Properties(_) => "properties",
        Op::PropertyNames(_) => "propertyNames",
        Op::DependentRequired(_) => "dependentRequired",
        Op::DependentSchemas(_) => "dependentSchemas",
        Op::UnevaluatedProperties(_) => "unevaluatedProperties",
    }
}

/// What an operation accepts.
pub(super) fn expected(op: &Op, sources: &Sources) -> String {
    let number = |place: Place| shortened(sources.value(place).raw()).to_owned();
    match op {
        Op::Not(_) => "a value that the schema in `not` refuses".to_owned(),
        Op::Constant(place) => format!("the value {}", literal(sources.value(*place))),
        Op::Words(words) => one_of(words.iter().map(|word| quoted(word))),
        Op::Enumeration(places) => one_of(places.iter().map(|place| literal(sources.value(*place)))),
        Op::Compare(Comparison::AtLeast, bound) => format!("a number of at least {}", number(bound.place)),
        Op::Compare(Comparison::AtMost, bound) => format!("a number of at most {}", number(bound.place)),
        Op::Compare(Comparison::Above, bound) => format!("a number above {}", number(bound.place)),
        Op::Compare(Comparison::Below, bound) => format!("a number below {}", number(bound.place)),
        Op::MultipleOf(factor) => format!("a multiple of {}", number(factor.place)),
        Op::Length(Edge::Least, bound) => format!("at least {}", counted(*bound, "character")),
        Op::Length(Edge::Most, bound) => format!("at most {}", counted(*bound, "character")),
        Op::Pattern(pattern) => format!("text that matches the pattern {}", shortened(pattern.source())),
        Op::Format(format) => format.expected().to_owned(),
        Op::Items(Edge::Least, bound) => format!("at least {}", counted(*bound, "item")),
        Op::Items(Edge::Most, bound) => format!("at most {}", counted(*bound, "item")),
        Op::Members(Edge::Least, bound) => format!("at least {}", counted(*bound, "member")),
        Op::Members(Edge::Most, bound) => format!("at most {}", counted(*bound, "member")),
        other => format!("a value that `{}` accepts", keyword(other)),
    }
}

/// "an integer", "a string or null".
pub(super) fn types(types: Types) -> String {
    let article = |name: &str| match name {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    };
    let names = Types::NAMES.iter().rev().filter(|(_, bit)| types.0 & bit != 0);
    join(names.map(|(name, _)| article(name)))
}

/// A member that is missing.
pub(super) fn member(name: &str) -> String {
    format!("the member {}", quoted(name))
}

/// The members that an object may have.
pub(super) fn only_members(properties: &Properties) -> String {
    let mut declared = properties.names.iter().filter(|property| property.schema.is_some()).peekable();
    if declared.peek().is_none() || !properties.patterns.is_empty() {
        return NOTHING_MORE.to_owned();
    }
    let names = one_of(declared.map(|property| quoted(&property.name)));
    format!("no other member than {}", names.strip_prefix("one of ").unwrap_or(&names))
}

/// What each of the alternatives accepts.
pub(super) fn alternatives(nodes: &[NodeId], program: &Program, sources: &Sources) -> String {
    let mut texts: Vec<String> = Vec::new();
    for node in nodes.iter().take(LISTED) {
        let text = describe(*node, program, sources);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if nodes.len() > LISTED {
        texts.push(format!("one of {} other alternatives", nodes.len() - LISTED));
    }
    join(texts.into_iter())
}

/// What a subschema accepts, in a few words.
pub(super) fn describe(node: NodeId, program: &Program, sources: &Sources) -> String {
    let mut node = program.node(node);
    for _ in 0..LISTED {
        match program.ops(node.any) {
            [Op::Reference(target)] if node.types == Types::ALL => node = program.node(*target),
            _ => break,
        }
    }
    match node.rule {
        Rule::Anything => return "anything".to_owned(),
        Rule::Nothing => return "nothing".to_owned(),
        Rule::Operations => {}
    }
    if let Some(op) = program
        .ops(node.any)
        .iter()
        .find(|op| matches!(op, Op::Constant(_) | Op::Words(_) | Op::Enumeration(_)))
    {
        return expected(op, sources);
    }
    if node.types == Types::ALL {
        let names = program.ops(node.string).iter().map(|op| expected(op, sources));
        let described = join(names.take(2));
        return if described.is_empty() { "a value of another form".to_owned() } else { described };
    }
    let required = program.ops(node.object).iter().find_map(|op| match op {
        Op::Properties(properties) if properties.required > 0 => Some(properties),
        _ => None,
    });
    match required {
        Some(properties) if node.types == Types(64) => {
            let names = properties.names.iter().filter(|property| property.required).take(LISTED);
            format!(
                "an object with {}",
                names.map(|property| quoted(&property.name)).collect::<Vec<_>>().join(", ")
            )
        }
        _ => types(node.types),
    }
}

/// How many values or alternatives a message lists.
const LISTED: usize = 12;

/// How many characters of a text of the schema a message shows.
const SHOWN: usize = 80;

fn one_of(mut values: impl Iterator<Item = String>) -> String {
    let listed: Vec<String> = values.by_ref().take(LISTED).collect();
    let more = values.count();
    if more > 0 {
        return format!("one of {} and {more} more", listed.join(", "));
    }
    match listed.as_slice() {
        [] => "nothing".to_owned(),
        [only] => format!("the value {only}"),
        several => format!("one of {}", several.join(", ")),
    }
}

fn join(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.collect();
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A value of the schema, short.
fn literal(value: Value<'_>) -> String {
    match value.kind() {
        Kind::Array if !value.is_empty() => "an array given in the schema".to_owned(),
        Kind::Object if !value.is_empty() => "an object given in the schema".to_owned(),
        Kind::String => quoted(&value.as_str().unwrap_or_default()),
        _ => shortened(value.raw()).to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

fn shortened(text: &str) -> &str {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}
