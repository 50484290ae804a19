//! Keywords: from the members of one schema object to operations.
//!
//! Each keyword of the dialect is checked for the type of its value; members that the dialect does
//! not know are annotations. It must never let a known keyword pass unread. `compile.rs` calls it.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_protocol::json::{Kind, Value};

use super::super::format::Format;
use super::super::number::Factor;
use super::super::pattern::{COMPILED_BYTES, Pattern, PatternError};
use super::super::program::{Bound, Choice, Comparison, Condition, Edge, NodeId, Op, Types, Word};
use super::super::source::Place;
use super::super::{Dialect, Formats};
use super::{Compiler, Stop, at, shortened};

/// What has been read of one schema object.
pub(super) struct Parts {
    pub(super) node: NodeId,
    pub(super) place: Place,
    pub(super) resource: u32,
    pub(super) dialect: Dialect,
    pub(super) types: Types,
    pub(super) any: Vec<Op>,
    pub(super) number: Vec<Op>,
    pub(super) string: Vec<Op>,
    pub(super) array: Vec<Op>,
    pub(super) object: Vec<Op>,
}

/// Keywords that are translated together with others.
pub(super) type Members<'s> = BTreeMap<&'static str, Value<'s>>;

impl Parts {
    pub(super) fn new(node: NodeId, place: Place, resource: u32, dialect: Dialect) -> Self {
        Self {
            node,
            place,
            resource,
            dialect,
            types: Types::ALL,
            any: Vec::new(),
            number: Vec::new(),
            string: Vec::new(),
            array: Vec::new(),
            object: Vec::new(),
        }
    }
}

impl<'s> Compiler<'s> {
    pub(super) fn keywords(&mut self, parts: &mut Parts, value: Value<'s>) -> Result<(), Stop> {
        if parts.dialect == Dialect::Draft07
            && let Some(reference) = value.get("$ref")
        {
            return self.reference(parts, reference);
        }
        let mut joint = Members::new();
        for (name, member) in value.members() {
            self.charge(1)?;
            let keyword = name.as_str().unwrap_or_default();
            self.keyword(parts, &keyword, member, &mut joint)?;
        }
        self.condition(parts, &joint)?;
        self.objects(parts, &joint)?;
        self.arrays(parts, &joint)
    }

    /// Reads one keyword, or puts it aside for those that are read together.
    fn keyword(
        &mut self,
        parts: &mut Parts,
        keyword: &str,
        value: Value<'s>,
        joint: &mut Members<'s>,
    ) -> Result<(), Stop> {
        let modern = parts.dialect == Dialect::Draft202012;
        match keyword {
            "$ref" => self.reference(parts, value)?,
            "$dynamicRef" if modern => self.dynamic_reference(parts, value)?,
            "type" => self.types(parts, value),
            "const" => parts.any.push(match value.as_str() {
                Some(text) => Op::Word(Word::new(text)),
                None => Op::Constant(at(parts.place, value)),
            }),
            "enum" => self.enumeration(parts, value)?,
            "allOf" | "anyOf" | "oneOf" => self.combination(parts, keyword, value)?,
            "not" => {
                let node = self.child(parts, value)?;
                parts.any.push(Op::Not(node));
            }
            "minimum" => self.comparison(parts, "minimum", Comparison::AtLeast, value),
            "maximum" => self.comparison(parts, "maximum", Comparison::AtMost, value),
            "exclusiveMinimum" => self.comparison(parts, "exclusiveMinimum", Comparison::Above, value),
            "exclusiveMaximum" => self.comparison(parts, "exclusiveMaximum", Comparison::Below, value),
            "multipleOf" => self.multiple(parts, value),
            "minLength" => {
                let bound = self.count(parts, "minLength", value);
                parts.string.extend(bound.map(|bound| Op::Length(Edge::Least, bound)));
            }
            "maxLength" => {
                let bound = self.count(parts, "maxLength", value);
                parts.string.extend(bound.map(|bound| Op::Length(Edge::Most, bound)));
            }
            "pattern" => {
                let pattern = self.string(parts, "pattern", value).map(|text| text.into_owned());
                if let Some(pattern) = pattern {
                    let pattern = self.pattern("pattern", at(parts.place, value), &pattern)?;
                    parts.string.extend(pattern.map(Op::Pattern));
                }
            }
            "format" => self.format(parts, value),
            "default" => self.defaults.push((parts.node, at(parts.place, value))),
            _ => {
                let joined = JOINT.iter().find(|(name, in_draft_07, in_2020)| {
                    *name == keyword && if modern { *in_2020 } else { *in_draft_07 }
                });
                match joined {
                    Some((name, ..)) => {
                        joint.insert(name, value);
                    }
                    None => self.annotation(parts, keyword, value),
                }
            }
        }
        Ok(())
    }

    fn types(&mut self, parts: &mut Parts, value: Value<'_>) {
        let bit =
            |value: Value<'_>| Types::NAMES.iter().find(|(name, _)| value.is_str(name)).map(|(_, bit)| *bit);
        let mut types = 0;
        let mut fine = !value.is_empty() || value.kind() == Kind::String;
        let one = (value.kind() == Kind::String).then_some(value);
        for name in one.into_iter().chain(value.items()) {
            match bit(name) {
                Some(bit) if types & bit == 0 => types |= bit,
                _ => fine = false,
            }
        }
        if fine {
            parts.types = Types(types);
            return;
        }
        self.finding(
            at(parts.place, value),
            "type",
            "a type is one of `null`, `boolean`, `integer`, `number`, `string`, `array`, `object`, or an array of \
             different ones",
            "write one of the seven names; leave `type` out to accept every type",
        );
    }

    fn enumeration(&mut self, parts: &mut Parts, value: Value<'_>) -> Result<(), Stop> {
        self.charge(value.len() as u64)?;
        if value.kind() != Kind::Array {
            self.finding(
                at(parts.place, value),
                "enum",
                "the accepted values are an array",
                "write an array of values",
            );
            return Ok(());
        }
        if value.is_empty() {
            self.note(at(parts.place, value), "enum", "an empty enumeration accepts nothing");
        }
        let words = value.items().all(|item| item.kind() == Kind::String);
        parts.any.push(if words {
            Op::Words(value.items().filter_map(|item| item.as_str().map(Word::new)).collect())
        } else {
            Op::Enumeration(value.items().map(|item| at(parts.place, item)).collect())
        });
        Ok(())
    }

    fn combination(&mut self, parts: &mut Parts, keyword: &str, value: Value<'_>) -> Result<(), Stop> {
        if value.kind() != Kind::Array || value.is_empty() {
            self.finding(
                at(parts.place, value),
                keyword,
                "the combined schemas are an array of at least one schema",
                "write an array of schemas",
            );
            return Ok(());
        }
        let nodes = self.children(parts, value)?;
        parts.any.push(match keyword {
            "allOf" => Op::AllOf(nodes),
            "anyOf" => Op::AnyOf(Box::new(Choice { nodes, tag: None })),
            _ => Op::OneOf(Box::new(Choice { nodes, tag: None })),
        });
        Ok(())
    }

    fn condition(&mut self, parts: &mut Parts, joint: &Members<'_>) -> Result<(), Stop> {
        let mut child = |keyword: &str| joint.get(keyword).map(|value| self.child(parts, *value)).transpose();
        let (condition, then, otherwise) = (child("if")?, child("then")?, child("else")?);
        match condition {
            Some(condition) => {
                parts.any.push(Op::If(Box::new(Condition { condition, then, otherwise })));
            }
            None => {
                for keyword in ["then", "else"] {
                    if let Some(value) = joint.get(keyword) {
                        let keyword = if keyword == "then" { "then" } else { "else" };
                        self.note(
                            at(parts.place, *value),
                            keyword,
                            "it has no effect without `if` beside it",
                        );
                    }
                }
            }
        }
        Ok(())
    }

    fn comparison(
        &mut self,
        parts: &mut Parts,
        keyword: &'static str,
        comparison: Comparison,
        value: Value<'_>,
    ) {
        let place = at(parts.place, value);
        if value.kind() == Kind::Number {
            parts.number.push(Op::Compare(comparison, Bound::new(value, place)));
        } else {
            let remedy = match value.as_bool() {
                Some(_) => "booleans are draft-04; write the bound itself as a number",
                None => "write a number",
            };
            self.finding(place, keyword, "the bound is a number", remedy);
        }
    }

    fn multiple(&mut self, parts: &mut Parts, value: Value<'_>) {
        let place = at(parts.place, value);
        match value.as_number().filter(|number| !number.is_zero() && !number.is_negative()) {
            Some(number) => {
                parts.number.push(Op::MultipleOf(Box::new(Factor::new(number, value.raw(), place))));
            }
            None => self.finding(
                place,
                "multipleOf",
                "the factor is a number greater than zero",
                "write a positive number",
            ),
        }
    }

    fn format(&mut self, parts: &mut Parts, value: Value<'_>) {
        let Some(name) = self.string(parts, "format", value) else { return };
        match Format::of_name(&name) {
            Some(format) if self.formats == Formats::Asserted => parts.string.push(Op::Format(format)),
            Some(_) => {}
            None => {
                let message =
                    format!("the format `{}` is not asserted, so it describes only", shortened(&name));
                self.note(at(parts.place, value), "format", message);
            }
        }
    }

    /// Compiles a pattern; equal ones of a schema share a program.
    pub(super) fn pattern(
        &mut self,
        keyword: &'static str,
        place: Place,
        source: &str,
    ) -> Result<Option<Arc<Pattern>>, Stop> {
        if let Some(pattern) = self.patterns.get(source) {
            return Ok(Some(Arc::clone(pattern)));
        }
        // Reading tables of Unicode and building automata take many steps for each byte.
        self.charge(PATTERN_STEPS + 16 * source.len() as u64)?;
        match Pattern::compile(source, self.limits) {
            Ok(pattern) => {
                self.charge(pattern.steps_to_compile())?;
                let pattern = Arc::new(pattern);
                self.patterns.insert(source.to_owned(), Arc::clone(&pattern));
                Ok(Some(pattern))
            }
            Err(error) => {
                let remedy = match error {
                    PatternError::Syntax { .. } => "correct the pattern by the grammar of ECMA-262",
                    PatternError::Unsupported { .. } => {
                        "say it with several patterns in `allOf` and `not`, or with other keywords"
                    }
                    PatternError::TooLarge { .. } => "shorten the pattern; bound lengths with `maxLength`",
                };
                let message = format!("the pattern `{}` cannot be used: {error}", shortened(source));
                self.finding(place, keyword, &message, remedy);
                if matches!(error, PatternError::TooLarge { .. }) {
                    // It has cost as much as the largest accepted one.
                    self.charge((self.limits.pattern_program_bytes / COMPILED_BYTES) as u64)?;
                }
                Ok(None)
            }
        }
    }
}

/// Steps charged for each pattern before it is read.
const PATTERN_STEPS: u64 = 200;

/// Keywords that are read together, and whether draft-07 and 2020-12 have them.
const JOINT: [(&str, bool, bool); 25] = [
    ("if", true, true),
    ("then", true, true),
    ("else", true, true),
    ("properties", true, true),
    ("patternProperties", true, true),
    ("additionalProperties", true, true),
    ("required", true, true),
    ("propertyNames", true, true),
    ("minProperties", true, true),
    ("maxProperties", true, true),
    ("dependencies", true, true),
    ("dependentRequired", false, true),
    ("dependentSchemas", false, true),
    ("unevaluatedProperties", false, true),
    ("prefixItems", false, true),
    ("items", true, true),
    ("additionalItems", true, false),
    ("contains", true, true),
    ("minContains", false, true),
    ("maxContains", false, true),
    ("minItems", true, true),
    ("maxItems", true, true),
    ("uniqueItems", true, true),
    ("unevaluatedItems", false, true),
    ("contentSchema", false, true),
];
