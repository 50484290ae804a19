//! Operations that look at one value and apply no other subschema.
//!
//! Each pays for what it reads before it reads it. The evaluator calls it.

use callgate_protocol::json::{Part, Value};

use super::super::equal::equal;
use super::super::format::{Format, is_date};
use super::super::program::{Edge, Op, Word};
use super::super::source::Place;
use super::{Judged, Run};

impl<'p, 'v> Run<'p, 'v> {
    /// The verdict of the only operation that a string meets, given by its index.
    #[inline(always)]
    pub(super) fn word(&mut self, op: u32, part: Part<'v>) -> Judged {
        match self.program.ops.get(op as usize) {
            // Those that most strings of tools have. What is not accepted here is judged again.
            Some(Op::Words(words)) if words.len() <= 8 => Ok(Word::position(words, part).is_some()),
            Some(Op::Word(word)) => Ok(word.is_plain_value(part)),
            Some(Op::Pattern(pattern)) => {
                self.budget.charge(pattern.cost(part.raw_len()))?;
                Ok(part.plain_bytes().is_some_and(|text| pattern.matches_bytes(text)))
            }
            Some(Op::Format(Format::Date)) => Ok(part.plain_bytes().is_some_and(is_date)),
            Some(Op::Format(format)) => {
                self.budget.charge(format.cost(part.raw_len()))?;
                Ok(part.plain_text().is_some_and(|text| format.accepts(text)))
            }
            Some(op) => self.leaf(op, part.value()),
            None => Ok(false),
        }
    }

    /// The verdict of an operation that is sent here by [`Run::op`].
    #[inline(never)]
    pub(super) fn leaf(&mut self, op: &'p Op, value: Value<'v>) -> Judged {
        Ok(match op {
            Op::Length(edge, bound) => self.length(*edge, *bound, value)?,
            Op::Word(word) => word.is_value(value.part()),
            Op::Words(words) => {
                self.budget.charge(words.len() as u64)?;
                Word::position(words, value.part()).is_some()
            }
            Op::Compare(comparison, bound) => {
                self.budget.charge_bytes(value.raw_len())?;
                bound.admits(*comparison, value, self.sources)
            }
            Op::Pattern(pattern) => {
                self.budget.charge(pattern.cost(value.raw_len()))?;
                pattern.matches(&value.as_str().unwrap_or_default())
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

/// Whether a count keeps to a bound.
fn within(edge: Edge, bound: u64, count: usize) -> bool {
    match edge {
        Edge::Least => count as u64 >= bound,
        Edge::Most => count as u64 <= bound,
    }
}
