//! The budget of one evaluation: work and depth that are left.
//!
//! It must never let work pass that nobody paid for. Whoever judges or compares values charges it.

use super::super::{OverBudget, SchemaLimits};

/// Work and depth that are left.
#[derive(Debug)]
pub(in crate::contract::schema) struct Budget {
    work: u64,
    depth: u32,
}

impl Budget {
    pub(in crate::contract::schema) fn new(limits: &SchemaLimits) -> Self {
        Self { work: limits.evaluate_work, depth: limits.evaluate_depth }
    }

    #[inline]
    pub(in crate::contract::schema) fn charge(&mut self, steps: u64) -> Result<(), OverBudget> {
        match self.work.checked_sub(steps) {
            Some(left) => {
                self.work = left;
                Ok(())
            }
            None => Err(OverBudget),
        }
    }

    /// Pays for a scan over that many bytes.
    #[inline]
    pub(in crate::contract::schema) fn charge_bytes(&mut self, bytes: usize) -> Result<(), OverBudget> {
        self.charge(bytes as u64 / 16)
    }

    #[inline]
    pub(in crate::contract::schema) fn descend(&mut self) -> Result<(), OverBudget> {
        match self.depth.checked_sub(1) {
            Some(left) => {
                self.depth = left;
                Ok(())
            }
            None => Err(OverBudget),
        }
    }

    #[inline]
    pub(in crate::contract::schema) fn ascend(&mut self) {
        self.depth += 1;
    }
}
