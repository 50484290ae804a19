//! Operations that look at one value and apply no other subschema.
//!
//! Each pays for what it reads before it reads it. The evaluator calls it.

use callgate_protocol::json::Value;

use super::super::equal::equal;
use super::super::program::{Edge, Op};
use super::super::source::Place;
use super::{Judged, Run};

impl<'p, 'v> Run<'p, 'v> {
    /// The verdict of the operation of that index about the value at a position.
    pub(super) fn leaf_at(&mut self, op: u32, position: u32) -> Judged {
        let value = self.root.document().at(position);
        match self.program.ops.get(op as usize) {
            // The two that most strings of tools have.
            Some(Op::Words(words)) if words.len() <= 8 => Ok(is_one_of(words, value)),
            Some(Op::Word(word)) => Ok(value.is_str(word)),
            Some(Op::Pattern(pattern)) if pattern.is_simple() => {
                self.budget.charge(pattern.cost(value.raw_len()))?;
                let text = value.plain_bytes();
                Ok(text.is_some_and(|text| pattern.matches_bytes(text)))
            }
            Some(op) => self.leaf(op, value),
            None => Ok(false),
        }
    }

    /// The verdict of an operation that is sent here by [`Run::op`].
    #[inline(never)]
    pub(super) fn leaf(&mut self, op: &'p Op, value: Value<'v>) -> Judged {
        Ok(match op {
            Op::Length(edge, bound) => self.length(*edge, *bound, value)?,
            Op::Word(word) => value.is_str(word),
            Op::Words(words) => {
                self.budget.charge(words.len() as u64)?;
                is_one_of(words, value)
            }
            Op::Compare(comparison, bound) => {
                self.budget.charge_bytes(value.raw_len())?;
                bound.admits(*comparison, value, self.sources)
            }
            Op::Pattern(pattern) => {
                self.budget.charge(pattern.cost(value.raw_len()))?;
                match value.plain_bytes() {
                    Some(text) if pattern.is_simple() => pattern.matches_bytes(text),
                    _ => pattern.matches(&value.as_str().unwrap_or_default()),
                }
            }
            Op::Format(format) => {
                let text = value.as_str().unwrap_or_default();
                self.budget.charge(format.cost(text.len()))?;
                format.accepts(&text)
            }
            Op::Constant(place) => equal(self.sources.value(*place), value, &mut self.budget)?,
            Op::Enumeration(places) => self.enumeration(places, value)?,
            Op::MultipleOf(factor) => {
                self.budget.charge(factor.cost(value.raw_len()))?;
                factor.divides(value)
            }
            Op::Items(edge, bound) | Op::Members(edge, bound) => within(*edge, *bound, value.len()),
            // `op` sends none of the others here.
            _ => false,
        })
    }

    fn enumeration(&mut self, places: &[Place], value: Value<'v>) -> Judged {
        for place in places {
            if equal(self.sources.value(*place), value, &mut self.budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A character is a Unicode code point: one to four bytes, or up to twelve when escaped.
    #[inline]
    fn length(&mut self, edge: Edge, bound: u64, value: Value<'v>) -> Judged {
        // Escapes only make the text longer than what it says.
        let most = value.raw_len().saturating_sub(2) as u64;
        match edge {
            Edge::Most if most <= bound => return Ok(true),
            Edge::Least if most < bound => return Ok(false),
            Edge::Least if most / 12 >= bound => return Ok(true),
            _ => {}
        }
        self.budget.charge_bytes(value.raw_len())?;
        let text = value.as_str().unwrap_or_default();
        Ok(within(edge, bound, text.chars().count()))
    }
}

fn is_one_of(words: &[Box<str>], value: Value<'_>) -> bool {
    match value.plain_bytes() {
        Some(text) => words.iter().any(|word| word.as_bytes() == text),
        None => words.iter().any(|word| value.is_str(word)),
    }
}

/// Whether a count keeps to a bound.
fn within(edge: Edge, bound: u64, count: usize) -> bool {
    match edge {
        Edge::Least => count as u64 >= bound,
        Edge::Most => count as u64 <= bound,
    }
}
