//! Keywords of arrays: items one by one, and `contains`.
//!
//! The evaluator calls it.

use callgate_protocol::json::{Value, push_integer};

use super::super::program::{Contains, Node, NodeId, Sequence};
use super::{Judged, Mode, Quick, Run};

impl<'p, 'v> Run<'p, 'v> {
    #[inline(never)]
    pub(super) fn sequence<M: Mode>(
        &mut self,
        node: &'p Node,
        sequence: &'p Sequence,
        value: Value<'v>,
    ) -> Judged {
        self.budget.descend()?;
        self.budget.charge(value.len() as u64)?;
        if let ([], Some(rest)) = (&*sequence.prefix, sequence.rest)
            && !(M::COLLECT && self.program.refuses_all(rest))
        {
            return self.items::<M>(rest, value);
        }
        let mut valid = true;
        let mut prefix = sequence.prefix.iter();
        for item in value.items() {
            let fine = match (prefix.next(), sequence.rest) {
                (Some(schema), _) => self.apply::<M>(*schema, item)?,
                (None, Some(rest)) if M::COLLECT && self.program.refuses_all(rest) => {
                    let most = sequence.prefix.len();
                    let expected = |out: &mut String| {
                        out.push_str("nothing here; the number of items is at most ");
                        push_integer(out, most);
                    };
                    self.report(node, sequence.rest_keyword, item, expected)?;
                    false
                }
                (None, Some(rest)) => self.apply::<M>(rest, item)?,
                (None, None) => break,
            };
            if !fine {
                valid = false;
                if !M::COLLECT {
                    break;
                }
            }
        }
        self.budget.ascend();
        Ok(valid)
    }

    /// Items that all have one subschema.
    #[inline(always)]
    fn items<M: Mode>(&mut self, schema: NodeId, value: Value<'v>) -> Judged {
        let shortcut = &self.program.node(schema).shortcut;
        let mut valid = true;
        for item in value.parts() {
            if !self.glance(shortcut, item)? && !self.judge::<M>(schema, item.position())? {
                valid = false;
                if !M::COLLECT {
                    break;
                }
            }
        }
        self.budget.ascend();
        Ok(valid)
    }

    #[inline(never)]
    pub(super) fn contains<M: Mode>(
        &mut self,
        node: &'p Node,
        contains: &'p Contains,
        value: Value<'v>,
    ) -> Judged {
        self.budget.charge(value.len() as u64)?;
        let mut found = 0;
        for item in value.items() {
            if self.apply::<Quick>(contains.schema, item)? {
                found += 1;
                let decided = match contains.most {
                    Some(most) => found > most,
                    None => found >= contains.least,
                };
                if decided {
                    break;
                }
            }
        }
        let few = found < contains.least;
        let many = contains.most.is_some_and(|most| found > most);
        if M::COLLECT && few {
            let keyword = if contains.least == 1 { "contains" } else { "minContains" };
            let expected = |out: &mut String| {
                out.push_str("at least ");
                push_integer(out, contains.least);
                out.push_str(" items that the schema in `contains` accepts");
            };
            self.report(node, keyword, value, expected)?;
        }
        if M::COLLECT && many {
            let most = contains.most.unwrap_or_default();
            let expected = |out: &mut String| {
                out.push_str("at most ");
                push_integer(out, most);
                out.push_str(" items that the schema in `contains` accepts");
            };
            self.report(node, "maxContains", value, expected)?;
        }
        Ok(!few && !many)
    }
}
