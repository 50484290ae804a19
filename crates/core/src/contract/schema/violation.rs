//! Violations: where a value fails, and what would have been accepted.
//!
//! Messages are made from the schema alone. They must never hold a value or a part of one; member
//! names appear only in pointers. The evaluator reports, the stages show.

use callgate_protocol::json::{Kind, Value, push_integer, push_string};

use super::program::{Comparison, Edge, NodeId, Op, Program, Properties, Rule, Types, Word};
use super::source::Sources;

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

/// What is said where nothing is accepted at all.
pub(super) const NOTHING: &str = "nothing: no value is accepted here";

/// What is said where every further part is refused.
pub(super) const NOTHING_MORE: &str = "nothing here: the schema accepts no further part";

/// The keyword of an operation that reports by itself.
pub(super) fn keyword(op: &Op) -> &'static str {
    match op {
        Op::Not(_) => "not",
        Op::Constant(_) | Op::Word(_) => "const",
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
pub(super) fn push_expected(out: &mut String, op: &Op, sources: &Sources) {
    match op {
        Op::Not(_) => out.push_str("a value that the schema in `not` refuses"),
        Op::Constant(place) => push_values(out, 1, |out, _| push_literal(out, sources.value(*place))),
        Op::Word(word) => push_values(out, 1, |out, _| push_quoted(out, word.text())),
        Op::Words(words) => push_values(out, words.len(), |out, at| {
            push_quoted(out, words.get(at).map(Word::text).unwrap_or_default());
        }),
        Op::Enumeration(places) => push_values(out, places.len(), |out, at| {
            if let Some(place) = places.get(at) {
                push_literal(out, sources.value(*place));
            }
        }),
        Op::Compare(comparison, bound) => {
            out.push_str(match comparison {
                Comparison::AtLeast => "a number of at least ",
                Comparison::AtMost => "a number of at most ",
                Comparison::Above => "a number above ",
                Comparison::Below => "a number below ",
            });
            out.push_str(shortened(sources.value(bound.place).raw()));
        }
        Op::MultipleOf(factor) => {
            out.push_str("a multiple of ");
            out.push_str(shortened(sources.value(factor.place).raw()));
        }
        Op::Length(edge, bound) => push_count(out, *edge, *bound, " character"),
        Op::Items(edge, bound) => push_count(out, *edge, *bound, " item"),
        Op::Members(edge, bound) => push_count(out, *edge, *bound, " member"),
        Op::Pattern(pattern) => {
            out.push_str("text that matches the pattern ");
            out.push_str(shortened(pattern.source()));
        }
        Op::Format(format) => out.push_str(format.expected()),
        other => {
            out.push_str("a value that `");
            out.push_str(keyword(other));
            out.push_str("` accepts");
        }
    }
}

/// "an integer", "a string or null".
pub(super) fn push_types(out: &mut String, types: Types) {
    let names = Types::NAMES.iter().rev().filter(|(_, bit)| types.0 & bit != 0);
    let left = types.0.count_ones();
    for ((name, _), left) in names.zip((0..left).rev()) {
        out.push_str(match *name {
            "null" => "",
            "integer" | "array" | "object" => "an ",
            _ => "a ",
        });
        out.push_str(name);
        out.push_str(match left {
            0 => "",
            1 => " or ",
            _ => ", ",
        });
    }
}

/// A member that is missing.
pub(super) fn push_member(out: &mut String, name: &str) {
    out.push_str("the member ");
    push_quoted(out, name);
}

/// The members that an object may have.
pub(super) fn push_only_members(out: &mut String, properties: &Properties) {
    let declared = properties.names.iter().filter(|property| property.schema.is_some());
    let count = declared.clone().count();
    if count == 0 || !properties.patterns.is_empty() {
        out.push_str(NOTHING_MORE);
        return;
    }
    out.push_str("no other members than ");
    for (at, property) in declared.take(LISTED).enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        push_quoted(out, property.name.text());
    }
    push_more(out, count);
}

/// What each of the alternatives accepts.
pub(super) fn push_alternatives(out: &mut String, nodes: &[NodeId], program: &Program, sources: &Sources) {
    let mut texts: Vec<String> = Vec::new();
    for node in nodes.iter().take(LISTED) {
        let mut text = String::new();
        push_description(&mut text, *node, program, sources);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    out.push_str(&texts.join(", or "));
    push_more(out, nodes.len());
}

/// Whether an operation lists the values it accepts.
pub(super) fn is_choice_of_values(op: &Op) -> bool {
    matches!(op, Op::Constant(_) | Op::Word(_) | Op::Words(_) | Op::Enumeration(_))
}

/// What a subschema accepts, in a few words.
pub(super) fn push_description(out: &mut String, node: NodeId, program: &Program, sources: &Sources) {
    let mut node = program.node(node);
    for _ in 0..LISTED {
        match program.ops(node.any) {
            [Op::Reference(target)] if node.types == Types::ALL => node = program.node(*target),
            _ => break,
        }
    }
    match node.rule {
        Rule::Anything => return out.push_str("anything"),
        Rule::Nothing => return out.push_str("nothing"),
        Rule::Operations => {}
    }
    if let Some(op) = program.ops(node.any).iter().find(|op| is_choice_of_values(op)) {
        return push_expected(out, op, sources);
    }
    let objects = program.ops(node.of_kind(Kind::Object)).iter().find_map(|op| match op {
        Op::Properties(properties) if properties.required > 0 => Some(properties),
        _ => None,
    });
    let strings = program.ops(node.of_kind(Kind::String));
    match (objects, strings) {
        (Some(properties), _) if node.types == Types(64) => {
            out.push_str("an object with ");
            let required = properties.names.iter().filter(|property| property.required);
            for (at, property) in required.take(LISTED).enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                push_quoted(out, property.name.text());
            }
            push_more(out, properties.required);
        }
        (_, [op, ..]) if matches!(node.types, Types::ALL | Types(16)) => push_expected(out, op, sources),
        _ if node.types == Types::ALL => out.push_str("a value of another form"),
        _ => push_types(out, node.types),
    }
}

/// How many values or alternatives a message lists.
const LISTED: usize = 12;

/// How many bytes of a text of the schema a message shows, about.
const SHOWN: usize = 80;

fn push_values(out: &mut String, count: usize, push: impl Fn(&mut String, usize)) {
    out.push_str(match count {
        0 => "nothing",
        1 => "the value ",
        _ => "one of ",
    });
    for at in 0..count.min(LISTED) {
        if at > 0 {
            out.push_str(", ");
        }
        push(out, at);
    }
    push_more(out, count);
}

/// Says how many are not listed.
fn push_more(out: &mut String, count: usize) {
    if let Some(more) = count.checked_sub(LISTED).filter(|more| *more > 0) {
        out.push_str(" and ");
        push_integer(out, more);
        out.push_str(" more");
    }
}

fn push_count(out: &mut String, edge: Edge, bound: u64, noun: &str) {
    out.push_str(match edge {
        Edge::Least => "at least ",
        Edge::Most => "at most ",
    });
    push_integer(out, bound);
    out.push_str(noun);
    if bound != 1 {
        out.push('s');
    }
}

/// A value of the schema, short.
fn push_literal(out: &mut String, value: Value<'_>) {
    match value.kind() {
        Kind::Array if !value.is_empty() => out.push_str("an array given in the schema"),
        Kind::Object if !value.is_empty() => out.push_str("an object given in the schema"),
        Kind::String => push_quoted(out, &value.as_str().unwrap_or_default()),
        _ => out.push_str(shortened(value.raw())),
    }
}

/// A text of the schema in quotes, short.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    push_string(out, shortened(text));
}

fn shortened(text: &str) -> &str {
    if text.len() <= SHOWN {
        return text;
    }
    let end = (0..=SHOWN).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
