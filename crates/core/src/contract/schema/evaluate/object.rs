//! Keywords of objects: members, names and what depends on them.
//!
//! The evaluator calls it.

use callgate_protocol::json::Value;

use super::super::program::{Node, NodeId, Properties};
use super::super::violation;
use super::{Judged, Mode, Quick, Run};

impl<'p, 'v> Run<'p, 'v> {
    pub(super) fn properties<M: Mode>(
        &mut self,
        node: &'p Node,
        properties: &'p Properties,
        value: Value<'v>,
    ) -> Judged {
        let mut valid = true;
        let mut required = 0;
        let mut near = 0;
        for (name, member) in value.members() {
            self.budget.charge(1)?;
            let text = name.as_str().unwrap_or_default();
            let mut known = false;
            let mut fine = true;
            if let Some(property) = properties.find(&text, &mut near) {
                // Names are unique in an object, so counting them is enough.
                required += usize::from(property.required);
                if let Some(schema) = property.schema {
                    known = true;
                    fine = self.apply::<M>(schema, member)?;
                }
            }
            for (pattern, schema) in &properties.patterns {
                if !fine && !M::COLLECT {
                    break;
                }
                self.budget.charge(pattern.cost(&text))?;
                if pattern.matches(&text) {
                    known = true;
                    fine &= self.apply::<M>(*schema, member)?;
                }
            }
            if let (false, Some(schema)) = (known, properties.additional) {
                fine &= self.additional::<M>(node, properties, schema, member)?;
            }
            if !fine {
                if !M::COLLECT {
                    return Ok(false);
                }
                valid = false;
            }
        }
        if required == properties.required {
            return Ok(valid);
        }
        if M::COLLECT {
            self.report_missing(node, properties, value)?;
        }
        Ok(false)
    }

    fn additional<M: Mode>(
        &mut self,
        node: &'p Node,
        properties: &'p Properties,
        schema: NodeId,
        member: Value<'v>,
    ) -> Judged {
        if !self.program.refuses_all(schema) {
            return self.apply::<M>(schema, member);
        }
        if M::COLLECT {
            let expected = || violation::only_members(properties);
            self.report(node.place, "additionalProperties", member, expected)?;
        }
        Ok(false)
    }

    fn report_missing(
        &mut self,
        node: &'p Node,
        properties: &'p Properties,
        value: Value<'v>,
    ) -> Result<(), super::Halt> {
        for property in properties.names.iter().filter(|property| property.required) {
            self.budget.charge(1 + value.len() as u64)?;
            if value.get(&property.name).is_none() {
                let expected = || violation::member(&property.name);
                self.report(node.place, "required", value, expected)?;
            }
        }
        Ok(())
    }

    pub(super) fn property_names<M: Mode>(
        &mut self,
        node: &'p Node,
        names: NodeId,
        value: Value<'v>,
    ) -> Judged {
        let mut valid = true;
        for (name, _) in value.members() {
            if !self.apply::<Quick>(names, name)? {
                if !M::COLLECT {
                    return Ok(false);
                }
                let (program, sources) = (self.program, self.sources);
                let expected =
                    || format!("a member name that is {}", violation::describe(names, program, sources));
                self.report(node.place, "propertyNames", name, expected)?;
                valid = false;
            }
        }
        Ok(valid)
    }

    pub(super) fn dependent_required<M: Mode>(
        &mut self,
        node: &'p Node,
        lists: &'p [(Box<str>, Box<[Box<str>]>)],
        value: Value<'v>,
    ) -> Judged {
        let mut valid = true;
        for (name, required) in lists {
            self.budget.charge(1 + value.len() as u64)?;
            if value.get(name).is_none() {
                continue;
            }
            for other in required {
                self.budget.charge(1 + value.len() as u64)?;
                if value.get(other).is_some() {
                    continue;
                }
                if !M::COLLECT {
                    return Ok(false);
                }
                let expected = || format!("{} beside \"{name}\"", violation::member(other));
                self.report(node.place, "dependentRequired", value, expected)?;
                valid = false;
            }
        }
        Ok(valid)
    }

    pub(super) fn dependent_schemas<M: Mode>(
        &mut self,
        schemas: &'p [(Box<str>, NodeId)],
        value: Value<'v>,
    ) -> Judged {
        let mut valid = true;
        for (name, schema) in schemas {
            self.budget.charge(1 + value.len() as u64)?;
            if value.get(name).is_some() && !self.apply::<M>(*schema, value)? {
                if !M::COLLECT {
                    return Ok(false);
                }
                valid = false;
            }
        }
        Ok(valid)
    }
}
