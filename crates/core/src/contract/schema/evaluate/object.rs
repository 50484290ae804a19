//! Keywords of objects: members, names and what depends on them.
//!
//! The evaluator calls it.

use callgate_protocol::json::Value;

use super::super::program::{Dependents, Node, NodeId, PatternProperty, Properties};
use super::super::violation;
use super::{Judged, Mode, Quick, Run};

impl<'p, 'v> Run<'p, 'v> {
    #[inline(never)]
    pub(super) fn properties<M: Mode>(
        &mut self,
        node: &'p Node,
        properties: &'p Properties,
        value: Value<'v>,
    ) -> Judged {
        let object = value.part();
        self.budget.descend()?;
        self.budget.charge(object.len() as u64)?;
        let mut valid = true;
        let mut required = 0;
        let mut near = &*properties.names;
        for entry in object.entries() {
            let mut schema = None;
            if let Some((property, others)) = properties.find(entry.name, near) {
                near = others;
                // Names are unique in an object, so counting them is enough.
                required += usize::from(property.required);
                if self.glance(&property.shortcut, entry.value)? {
                    continue;
                }
                schema = property.schema;
            }
            let fine = match schema {
                Some(schema) if properties.patterns.is_empty() => {
                    self.judge::<M>(schema, entry.value.position())?
                }
                _ => self.other_member::<M>(node, properties, schema, entry.value.position())?,
            };
            if !fine {
                valid = false;
                if !M::COLLECT {
                    break;
                }
            }
        }
        self.budget.ascend();
        if required == properties.required || (!valid && !M::COLLECT) {
            return Ok(valid);
        }
        if M::COLLECT {
            self.report_missing(node, properties, value)?;
        }
        Ok(false)
    }

    /// A member that has no subschema by its name, or not only that, given by its position.
    #[inline(never)]
    fn other_member<M: Mode>(
        &mut self,
        node: &'p Node,
        properties: &'p Properties,
        schema: Option<NodeId>,
        position: u32,
    ) -> Judged {
        let member = self.root.document().at(position);
        let name = self.root.document().at(position - 1);
        let mut known = schema.is_some();
        let mut valid = match schema {
            Some(schema) => self.apply::<M>(schema, member)?,
            None => true,
        };
        if !properties.patterns.is_empty() {
            let text = name.as_str().unwrap_or_default();
            for PatternProperty { pattern, schema } in &properties.patterns {
                if !valid && !M::COLLECT {
                    return Ok(false);
                }
                self.budget.charge(pattern.cost(text.len()))?;
                if pattern.matches(&text) {
                    known = true;
                    valid &= self.apply::<M>(*schema, member)?;
                }
            }
        }
        match properties.additional {
            Some(schema) if !known => self.additional::<M>(node, properties, schema, member),
            _ => Ok(valid),
        }
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
            let expected = |out: &mut String| violation::push_only_members(out, properties);
            self.report(node, "additionalProperties", member, expected)?;
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
            if value.get(property.name.text()).is_none() {
                let expected = |out: &mut String| violation::push_member(out, property.name.text());
                self.report(node, "required", value, expected)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    pub(super) fn property_names<M: Mode>(
        &mut self,
        node: &'p Node,
        names: NodeId,
        value: Value<'v>,
    ) -> Judged {
        self.budget.charge(value.len() as u64)?;
        let mut valid = true;
        for (name, _) in value.members() {
            if !self.apply::<Quick>(names, name)? {
                if !M::COLLECT {
                    return Ok(false);
                }
                let (program, sources) = (self.program, self.sources);
                let expected = |out: &mut String| {
                    out.push_str("a member name that is ");
                    violation::push_description(out, names, program, sources);
                };
                self.report(node, "propertyNames", name, expected)?;
                valid = false;
            }
        }
        Ok(valid)
    }

    #[inline(never)]
    pub(super) fn dependent_required<M: Mode>(
        &mut self,
        node: &'p Node,
        lists: &'p [Dependents],
        value: Value<'v>,
    ) -> Judged {
        let mut valid = true;
        for Dependents { name, names } in lists {
            self.budget.charge(1 + value.len() as u64)?;
            if value.get(name).is_none() {
                continue;
            }
            for other in names {
                self.budget.charge(1 + value.len() as u64)?;
                if value.get(other).is_some() {
                    continue;
                }
                if !M::COLLECT {
                    return Ok(false);
                }
                let expected = |out: &mut String| {
                    violation::push_member(out, other);
                    out.push_str(" beside ");
                    violation::push_quoted(out, name);
                };
                self.report(node, "dependentRequired", value, expected)?;
                valid = false;
            }
        }
        Ok(valid)
    }

    #[inline(never)]
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
