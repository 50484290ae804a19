//! Shortcuts: which values a subschema accepts at a glance.
//!
//! Most properties of tools are bounded strings and integers. A shortcut accepts those in a few steps;
//! whatever it does not accept is judged by the operations, which also report. It must never accept
//! what the operations refuse. The compiler makes them, the evaluator tries them first.

use callgate_protocol::json::{Kind, Part};

use super::number::small;
use super::program::{Comparison, Edge, Node, Op, Types};
use super::violation::is_choice_of_values;

/// What is accepted at a glance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shortcut {
    /// The types, by their bits, whose values are accepted whatever they are.
    free: u8,
    /// The lengths in bytes, quotes apart, between which a string surely has enough characters, if it is
    /// written without escapes, and not too many.
    least: u32,
    most: u32,
    /// The only other operation for strings, by its index.
    text: Option<u32>,
    /// The whole numbers that are accepted.
    lowest: i64,
    highest: i64,
}

impl Shortcut {
    /// Accepts nothing at a glance.
    pub(super) const NONE: Self = Self { free: 0, least: 1, most: 0, text: None, lowest: 1, highest: 0 };

    /// The shortcut of a subschema, whose operations are those of the program.
    pub(super) fn of(node: &Node, ops: &[Op]) -> Self {
        let mut shortcut = Self::NONE;
        let own = ops.get(node.any.start as usize..node.any.end as usize).unwrap_or_default();
        if own.is_empty() {
            for (kind, bit) in KINDS {
                let span = node.of_kind(kind);
                if span.start == span.end {
                    shortcut.free |= node.types.0 & bit;
                }
            }
            shortcut.numbers(node, ops);
        }
        if own.iter().all(is_choice_of_values) {
            shortcut.strings(node, ops);
        }
        shortcut
    }

    fn strings(&mut self, node: &Node, ops: &[Op]) {
        if node.types.0 & STRING == 0 {
            return;
        }
        let (mut least, mut most, mut text) = (0, u32::MAX, None);
        for at in (node.any.start..node.any.end).chain(span(node, Kind::String)) {
            match ops.get(at as usize) {
                // A character has at most four bytes where it is not escaped.
                Some(Op::Length(Edge::Least, bound)) => {
                    least =
                        u32::try_from(*bound).ok().and_then(|bound| bound.checked_mul(4)).unwrap_or(u32::MAX);
                }
                Some(Op::Length(Edge::Most, bound)) => most = u32::try_from(*bound).unwrap_or(u32::MAX),
                _ if text.is_some() => return,
                _ => text = Some(at),
            }
        }
        (self.least, self.most, self.text) = (least, most, text);
    }

    fn numbers(&mut self, node: &Node, ops: &[Op]) {
        if node.types.0 & (NUMBER | INTEGER) == 0 {
            return;
        }
        let (mut lowest, mut highest) = (i64::MIN, i64::MAX);
        for at in span(node, Kind::Number) {
            // Small numbers have eighteen digits, so one more or less does not overflow.
            match ops.get(at as usize) {
                Some(Op::Compare(comparison, bound)) => match (comparison, bound.small) {
                    (Comparison::AtLeast, Some(bound)) => lowest = lowest.max(bound),
                    (Comparison::AtMost, Some(bound)) => highest = highest.min(bound),
                    (Comparison::Above, Some(bound)) => lowest = lowest.max(bound + 1),
                    (Comparison::Below, Some(bound)) => highest = highest.min(bound - 1),
                    (_, None) => return,
                },
                _ => return,
            }
        }
        (self.lowest, self.highest) = (lowest, highest);
    }

    /// What is known of a string.
    #[inline(always)]
    pub(super) fn text(&self, part: Part<'_>) -> Text {
        // Every string has its quotes.
        let length = part.raw_len().wrapping_sub(2);
        let is_enough = self.least == 0 || (length >= self.least as usize && part.is_plain());
        if !is_enough || length > self.most as usize {
            return Text::Unsure;
        }
        self.text.map_or(Text::Accepted, Text::If)
    }

    /// Whether a number is accepted.
    #[inline(always)]
    pub(super) fn accepts_number(&self, part: Part<'_>) -> bool {
        if self.free & NUMBER != 0 {
            return true;
        }
        if self.lowest == i64::MIN && self.highest == i64::MAX {
            return part.is_written_whole();
        }
        self.lowest <= self.highest
            && small(part.raw_bytes()).is_some_and(|number| (self.lowest..=self.highest).contains(&number))
    }

    /// Whether every value of the kind is accepted, which is not that of numbers or strings.
    #[inline(always)]
    pub(super) fn accepts_all(&self, kind: Kind) -> bool {
        Types(self.free).has(kind)
    }
}

/// What a glance at a string tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// It is accepted.
    Accepted,
    /// It is accepted if the operation of that index accepts it.
    If(u32),
    /// The operations must decide.
    Unsure,
}

const INTEGER: u8 = 4;
const NUMBER: u8 = 8;
const STRING: u8 = 16;

/// The kinds of values and the type bits that accept every value of the kind.
const KINDS: [(Kind, u8); 6] = [
    (Kind::Null, 1),
    (Kind::Boolean, 2),
    (Kind::Number, NUMBER),
    (Kind::String, STRING),
    (Kind::Array, 32),
    (Kind::Object, 64),
];

fn span(node: &Node, kind: Kind) -> std::ops::Range<u32> {
    let span = node.of_kind(kind);
    span.start..span.end
}
