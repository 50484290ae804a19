//! Keywords of objects.
//!
//! `keyword.rs` calls it after it has read all members of a schema.

use callgate_protocol::json::{Kind, Value};

use super::super::Dialect;
use super::super::program::{
    Dependents, Edge, LINEAR_NAMES, NodeId, Op, PatternProperty, Properties, Property, Word,
};
use super::super::source::Place;
use super::keyword::{Members, Parts};
use super::{Compiler, Stop, at};

impl<'s> Compiler<'s> {
    pub(super) fn objects(&mut self, parts: &mut Parts, joint: &Members<'s>) -> Result<(), Stop> {
        for (keyword, edge) in [("minProperties", Edge::Least), ("maxProperties", Edge::Most)] {
            if let Some(value) = joint.get(keyword) {
                let bound = self.count(parts, keyword, *value);
                parts.object.extend(bound.map(|bound| Op::Members(edge, bound)));
            }
        }
        self.properties(parts, joint)?;
        if let Some(value) = joint.get("propertyNames") {
            let node = self.child(parts, *value)?;
            parts.object.push(Op::PropertyNames(node));
        }
        self.dependencies(parts, joint)?;
        if let Some(value) = joint.get("unevaluatedProperties") {
            let node = self.child(parts, *value)?;
            // Last, because it judges what the others leave.
            parts.object.push(Op::UnevaluatedProperties(node));
        }
        Ok(())
    }

    fn properties(&mut self, parts: &mut Parts, joint: &Members<'s>) -> Result<(), Stop> {
        let keywords = ["properties", "patternProperties", "additionalProperties", "required"];
        if keywords.iter().all(|keyword| !joint.contains_key(keyword)) {
            return Ok(());
        }
        let mut names: Vec<Property> = Vec::new();
        if let Some(value) = joint.get("properties").copied()
            && let Some(value) = self.map(parts, "properties", value)
        {
            for (name, schema) in value.members() {
                let schema = Some(self.child(parts, schema)?);
                let name = Word::new(name.as_str().unwrap_or_default());
                names.push(Property::new(name, schema, false));
            }
        }
        let mut required = 0;
        if let Some(value) = joint.get("required") {
            let list = self.names(parts, "required", *value)?;
            required = list.len();
            self.require(&mut names, list)?;
        }
        let patterns = match joint.get("patternProperties").copied() {
            Some(value) => self.pattern_properties(parts, value)?,
            None => Box::default(),
        };
        let additional = match joint.get("additionalProperties") {
            Some(value) => Some(self.child(parts, *value)?),
            None => None,
        };
        let mut sorted: Vec<u32> = Vec::new();
        if names.len() > LINEAR_NAMES {
            sorted = (0..names.len() as u32).collect();
            sorted.sort_by_key(|&at| names.get(at as usize).map(|property| property.name.text()));
        }
        let (names, sorted) = (names.into_boxed_slice(), sorted.into_boxed_slice());
        parts.object.push(Op::Properties(Box::new(Properties {
            names,
            sorted,
            required,
            patterns,
            additional,
        })));
        Ok(())
    }

    /// Marks properties as required, and adds those that are only required.
    fn require(&mut self, names: &mut Vec<Property>, list: Box<[Box<str>]>) -> Result<(), Stop> {
        let mut known: Vec<(Box<str>, usize)> =
            names.iter().enumerate().map(|(at, property)| (property.name.text().into(), at)).collect();
        known.sort_unstable();
        self.charge((names.len() + list.len()) as u64)?;
        for name in list {
            let found = known.binary_search_by(|(known, _)| known.cmp(&name)).ok();
            let property = found.and_then(|found| known.get(found)).and_then(|&(_, at)| names.get_mut(at));
            match property {
                Some(property) => property.required = true,
                None => names.push(Property::new(Word::new(name), None, true)),
            }
        }
        Ok(())
    }

    fn pattern_properties(
        &mut self,
        parts: &Parts,
        value: Value<'s>,
    ) -> Result<Box<[PatternProperty]>, Stop> {
        let mut patterns = Vec::new();
        let Some(value) = self.map(parts, "patternProperties", value) else { return Ok(Box::default()) };
        for (name, schema) in value.members() {
            let source = name.as_str().unwrap_or_default();
            let place = at(parts.place, name);
            if let Some(pattern) = self.pattern("patternProperties", place, &source)? {
                let schema = self.child(parts, schema)?;
                patterns.push(PatternProperty { pattern, schema });
            }
        }
        Ok(patterns.into_boxed_slice())
    }

    fn dependencies(&mut self, parts: &mut Parts, joint: &Members<'s>) -> Result<(), Stop> {
        let mut required = Vec::new();
        let mut schemas: Vec<(Box<str>, NodeId)> = Vec::new();
        if let Some(value) = joint.get("dependencies").copied()
            && let Some(value) = self.map(parts, "dependencies", value)
        {
            if parts.dialect == Dialect::Draft202012 {
                let place: Place = at(parts.place, value);
                let message = "2020-12 splits it into `dependentRequired` and `dependentSchemas`; it is enforced here, \
                               other implementations may ignore it";
                self.note(place, "dependencies", message);
            }
            for (name, part) in value.members() {
                let name: Box<str> = name.as_str().unwrap_or_default().into();
                if part.kind() == Kind::Array {
                    let names = self.names(parts, "dependencies", part)?;
                    required.push(Dependents { name, names });
                } else {
                    schemas.push((name, self.child(parts, part)?));
                }
            }
        }
        if let Some(value) = joint.get("dependentRequired").copied()
            && let Some(value) = self.map(parts, "dependentRequired", value)
        {
            for (name, part) in value.members() {
                let name: Box<str> = name.as_str().unwrap_or_default().into();
                let names = self.names(parts, "dependentRequired", part)?;
                required.push(Dependents { name, names });
            }
        }
        if let Some(value) = joint.get("dependentSchemas").copied()
            && let Some(value) = self.map(parts, "dependentSchemas", value)
        {
            for (name, part) in value.members() {
                schemas.push((name.as_str().unwrap_or_default().into(), self.child(parts, part)?));
            }
        }
        if !required.is_empty() {
            parts.object.push(Op::DependentRequired(required.into_boxed_slice()));
        }
        if !schemas.is_empty() {
            parts.object.push(Op::DependentSchemas(schemas.into_boxed_slice()));
        }
        Ok(())
    }
}
