//! Reports: the violations that an evaluation collects.
//!
//! A violation is made from the schema and from places alone, and there are never more of them than the
//! bound. The evaluator calls it.

use callgate_protocol::json::Value;

use super::super::program::{Node, Op};
use super::super::source::{POINTER_BYTES, pointer};
use super::super::violation::{self, Violation};
use super::{Halt, Judged, Mode, Run};

/// Space for what was expected; most violations need no more.
const EXPECTED_BYTES: usize = 96;

/// Space for violations; most values have no more.
const VIOLATIONS: usize = 8;

impl<'p, 'v> Run<'p, 'v> {
    /// Reports a failure of an operation that says all by itself.
    #[inline]
    pub(super) fn outcome<M: Mode>(
        &mut self,
        valid: bool,
        node: &'p Node,
        op: &'p Op,
        value: Value<'v>,
    ) -> Judged {
        if !valid && M::COLLECT {
            let sources = self.sources;
            self.report(node, violation::keyword(op), value, |out| {
                violation::push_expected(out, op, sources)
            })?;
        }
        Ok(valid)
    }

    /// Records a violation at the value, or ends the evaluation when there are enough.
    #[cold]
    pub(super) fn report(
        &mut self,
        node: &Node,
        keyword: &'static str,
        value: Value<'v>,
        expected: impl FnOnce(&mut String),
    ) -> Result<(), Halt> {
        let cold = self.cold.get_or_insert_default();
        if cold.violations.len() >= self.most_violations {
            cold.truncated = true;
            return Err(Halt::Full);
        }
        let mut violation = Violation {
            pointer: pointer(self.root, value.position()),
            keyword,
            expected: String::with_capacity(EXPECTED_BYTES),
            schema_pointer: String::with_capacity(POINTER_BYTES),
        };
        expected(&mut violation.expected);
        self.program.push_pointer(node, self.sources, &mut violation.schema_pointer);
        if keyword != "false" {
            violation.schema_pointer.push('/');
            violation.schema_pointer.push_str(keyword);
        }
        // Two ways may lead to one type, which is refused before verdicts are looked up.
        if !cold.violations.contains(&violation) {
            if cold.violations.is_empty() {
                cold.violations.reserve(VIOLATIONS.min(self.most_violations));
            }
            cold.violations.push(violation);
        }
        Ok(())
    }
}
