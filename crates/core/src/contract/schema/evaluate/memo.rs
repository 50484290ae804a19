//! Verdicts that were already given, by subschema, scope and position.
//!
//! It is what keeps alternatives over nested values linear. An open hash table of our own, because
//! every probe is paid for from the budget: whoever crafts collisions pays. It must never forget a
//! verdict during an evaluation. Only the evaluator calls it.

use super::super::OverBudget;
use super::Budget;

/// A subschema asked about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) node: u32,
    pub(super) scope: u32,
    pub(super) position: u32,
    /// Whether violations are collected.
    pub(super) collect: bool,
}

/// The answers. Nothing is allocated before the first.
#[derive(Debug, Default)]
pub(super) struct Memo {
    slots: Vec<Option<(Question, bool)>>,
    used: usize,
}

impl Memo {
    pub(super) fn recall(
        &self,
        question: &Question,
        budget: &mut Budget,
    ) -> Result<Option<bool>, OverBudget> {
        if self.slots.is_empty() {
            return Ok(None);
        }
        let (_, found) = self.probe(question, budget)?;
        Ok(found)
    }

    pub(super) fn remember(
        &mut self,
        question: &Question,
        verdict: bool,
        budget: &mut Budget,
    ) -> Result<(), OverBudget> {
        if self.used * 2 >= self.slots.len() {
            self.grow(budget)?;
        }
        let (at, found) = self.probe(question, budget)?;
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Some((*question, verdict));
        }
        self.used += usize::from(found.is_none());
        Ok(())
    }

    /// The slot of a question, or the free slot where it belongs.
    fn probe(&self, question: &Question, budget: &mut Budget) -> Result<(usize, Option<bool>), OverBudget> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash(question) as usize & mask;
        loop {
            budget.charge(1)?;
            match self.slots.get(at) {
                Some(Some((known, verdict))) if known == question => return Ok((at, Some(*verdict))),
                Some(Some(_)) => at = (at + 1) & mask,
                Some(None) | None => return Ok((at, None)),
            }
        }
    }

    fn grow(&mut self, budget: &mut Budget) -> Result<(), OverBudget> {
        let larger = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![None; larger]);
        for (question, verdict) in old.into_iter().flatten() {
            let (at, _) = self.probe(&question, budget)?;
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = Some((question, verdict));
            }
        }
        Ok(())
    }
}

fn hash(question: &Question) -> u64 {
    let node =
        u64::from(question.node) << 33 | u64::from(question.position) << 1 | u64::from(question.collect);
    let mixed = (node ^ u64::from(question.scope).rotate_left(47)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}
