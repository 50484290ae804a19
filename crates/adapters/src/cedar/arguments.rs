//! The arguments of one call as Cedar sees them.
//!
//! A value is given exactly or not at all: nothing is rounded or converted. Of an object the members that have
//! a type are given, and what is left out is noted with its place, so that a policy which looks at the whole
//! is not deceived. What is not given, wholly or in part, is named. The engine calls it for those arguments that
//! a policy looks at.

use std::collections::BTreeSet;

use callgate_protocol::json::{Kind, Value};
use cedar_policy::RestrictedExpression;

use super::limits::PolicyLimits;
use super::mentions::Mentions;
use super::types::{Member, Type};

/// The arguments that are given, and those that are not.
#[derive(Debug, Default)]
pub(super) struct Expressed {
    pub(super) arguments: Vec<(String, RestrictedExpression)>,
    /// The names of arguments that are not given, or not in full.
    pub(super) inexpressible: BTreeSet<String>,
    /// The places of values that are there and not given, as far as it matters to a policy that they are not.
    pub(super) missing: BTreeSet<Vec<String>>,
}

/// What is left of the bounds, and what was left out of the argument in hand.
struct Budget<'m> {
    mentions: &'m Mentions,
    values: usize,
    bytes: usize,
    depth: usize,
    is_cut: bool,
    missing: BTreeSet<Vec<String>>,
}

/// Expresses the arguments that policies look at.
pub(super) fn express(
    arguments: Value<'_>,
    members: &[Member],
    mentions: &Mentions,
    limits: &PolicyLimits,
) -> Expressed {
    let mut expressed = Expressed::default();
    let mut budget = Budget {
        mentions,
        values: limits.argument_values,
        bytes: limits.argument_bytes,
        depth: limits.type_depth,
        is_cut: false,
        missing: BTreeSet::new(),
    };
    for member in members {
        if !mentions.has(&member.name) && !mentions.inexpressible {
            continue;
        }
        let Some(value) = optional(arguments, member) else { continue };
        let place = vec![member.name.clone()];
        budget.is_cut = false;
        let given = budget.express(value, &member.kind, &place, 0);
        if given.is_none() || budget.is_cut {
            expressed.inexpressible.insert(member.name.clone());
        }
        match given {
            Some(expression) => expressed.arguments.push((member.name.clone(), expression)),
            None => budget.leave_out(place),
        }
    }
    // What has no type is named as well for a policy that asks what it does not see, or asks for it by name.
    if mentions.inexpressible || mentions.everything || !mentions.arguments.is_empty() {
        let has_type = |name: &str| members.iter().any(|member| member.name == name);
        let names = arguments.members().filter_map(|(name, _)| name.as_str());
        for name in names.filter(|name| !has_type(name)) {
            if mentions.inexpressible || mentions.has(&name) {
                expressed.inexpressible.insert(name.clone().into_owned());
            }
            budget.leave_out(vec![name.into_owned()]);
        }
    }
    expressed.missing = budget.missing;
    expressed
}

/// The value of a member, where null means that it is not there if the schema takes null for it.
fn optional<'v>(record: Value<'v>, member: &Member) -> Option<Value<'v>> {
    let value = record.get(&member.name)?;
    // A member that may be null is never required, so a policy has to ask whether it is there.
    if value.is_null() && !member.required { None } else { Some(value) }
}

impl Budget<'_> {
    /// Expresses the value at a place, so many levels below the arguments.
    fn express(
        &mut self,
        value: Value<'_>,
        kind: &Type,
        place: &[String],
        level: usize,
    ) -> Option<RestrictedExpression> {
        self.values = self.values.checked_sub(1)?;
        if level >= self.depth {
            return None;
        }
        Some(match kind {
            Type::Text => {
                let text = value.as_str()?;
                self.bytes = self.bytes.checked_sub(text.len())?;
                RestrictedExpression::new_string(text.into_owned())
            }
            Type::Flag => RestrictedExpression::new_bool(value.as_bool()?),
            Type::Integer => {
                let number = value.as_number().filter(|number| number.is_integer())?;
                RestrictedExpression::new_long(i64::try_from(number.to_i128()?).ok()?)
            }
            Type::Set(item) => {
                if value.kind() != Kind::Array {
                    return None;
                }
                // The items have the place of the set: a policy cannot look at one of them.
                let items: Option<Vec<_>> =
                    value.items().map(|value| self.express(value, item, place, level + 1)).collect();
                RestrictedExpression::new_set(items?)
            }
            Type::Record(members) => {
                if value.kind() != Kind::Object {
                    return None;
                }
                let mut pairs = Vec::with_capacity(members.len());
                for member in members {
                    if let Some(value) = optional(value, member) {
                        let place = inside(place, &member.name);
                        let given = self.express(value, &member.kind, &place, level + 1)?;
                        pairs.push((member.name.clone(), given));
                    }
                }
                self.cut(value, members, place)?;
                RestrictedExpression::new_record(pairs).ok()?
            }
        })
    }

    /// Notes the members of an object that have no type. They count as values, so that they are bounded too.
    fn cut(&mut self, value: Value<'_>, members: &[Member], place: &[String]) -> Option<()> {
        for name in value.members().filter_map(|(name, _)| name.as_str()) {
            if !members.iter().any(|member| member.name == *name) {
                self.values = self.values.checked_sub(1)?;
                self.is_cut = true;
                self.leave_out(inside(place, &name));
            }
        }
        Some(())
    }

    fn leave_out(&mut self, place: Vec<String>) {
        if self.mentions.misses(&place) {
            self.missing.insert(place);
        }
    }
}

fn inside(place: &[String], name: &str) -> Vec<String> {
    place.iter().cloned().chain([name.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::super::types::of_input;
    use super::super::{limits::PolicyLimits, mentions::Mentions};
    use super::express;

    fn of(arguments: &str, limits: &PolicyLimits) -> (Vec<String>, Vec<String>) {
        let schema = r#"{"type":"object","required":["n"],"properties":{
            "n":{"type":"integer"},"s":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}},
            "price":{"type":"number"},"who":{"type":"object","properties":{"age":{"type":"integer"}}}}}"#;
        let schema = Document::parse(schema, &Limits::DEFAULT).unwrap();
        let arguments = Document::parse(arguments, &Limits::DEFAULT).unwrap();
        let mentions = Mentions { everything: true, inexpressible: true, ..Mentions::default() };
        let expressed = express(arguments.root(), &of_input(schema.root(), 8), &mentions, limits);
        (
            expressed.arguments.into_iter().map(|(name, _)| name).collect(),
            expressed.inexpressible.into_iter().collect(),
        )
    }

    #[test]
    fn what_cedar_cannot_hold_is_absent_and_named() {
        let limits = PolicyLimits::default();
        for (arguments, given, missing) in [
            (r#"{"n":1}"#, &["n"][..], &[][..]),
            (r#"{"n":9223372036854775807,"s":null}"#, &["n"], &[]),
            (r#"{"n":-9223372036854775808,"s":"x"}"#, &["n", "s"], &[]),
            (r#"{"n":9223372036854775808}"#, &[], &["n"]),
            (r#"{"n":-9223372036854775809}"#, &[], &["n"]),
            (r#"{"n":1e400}"#, &[], &["n"]),
            (r#"{"n":5.0,"price":1.5}"#, &["n"], &["price"]),
            (r#"{"n":1,"price":1}"#, &["n"], &["price"]),
            (r#"{"n":1,"other":{}}"#, &["n"], &["other"]),
            (r#"{"n":1,"tags":["a","b"]}"#, &["n", "tags"], &[]),
            (r#"{"n":1,"tags":["a",1]}"#, &["n"], &["tags"]),
            (r#"{"n":1,"who":{"age":1e30}}"#, &["n"], &["who"]),
            (r#"{"n":1,"who":{"age":3,"x":1.5}}"#, &["n", "who"], &["who"]),
            (r#"{"n":1,"who":{"age":3}}"#, &["n", "who"], &[]),
        ] {
            let (found, absent) = of(arguments, &limits);
            assert_eq!((&found[..], &absent[..]), (&own(given)[..], &own(missing)[..]), "{arguments}");
        }
    }

    #[test]
    fn arguments_beyond_a_bound_are_absent_and_named() {
        let limits = PolicyLimits { argument_values: 4, argument_bytes: 3, ..PolicyLimits::default() };
        assert_eq!(of(r#"{"n":1,"tags":["a","b"]}"#, &limits).1, own(&[]));
        assert_eq!(of(r#"{"n":1,"tags":["a","b","c"]}"#, &limits).1, own(&["tags"]));
        assert_eq!(of(r#"{"n":1,"s":"abcd"}"#, &limits).1, own(&["s"]));
    }

    #[test]
    fn what_cannot_be_expressed_uses_up_no_depth_of_the_next() {
        let properties: Vec<_> = (0..20).map(|at| format!(r#""a{at:02}":{{"type":"integer"}}"#)).collect();
        let schema = format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","));
        let arguments: Vec<_> = (0..19).map(|at| format!(r#""a{at:02}":1e30"#)).collect();
        let arguments = format!(r#"{{{},"a19":1}}"#, arguments.join(","));
        let document = |text: String| Document::parse(text, &Limits::DEFAULT).unwrap();
        let (schema, arguments) = (document(schema), document(arguments));
        let mentions = Mentions { everything: true, ..Mentions::default() };
        let members = of_input(schema.root(), 8);
        let found = express(arguments.root(), &members, &mentions, &PolicyLimits::default());
        assert_eq!(found.arguments.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a19"]);
        assert_eq!(found.inexpressible.len(), 19);
    }

    #[test]
    fn untyped_members_count_towards_the_bound_of_values() {
        let limits = PolicyLimits { argument_values: 5, ..PolicyLimits::default() };
        let at_bound = of(r#"{"n":1,"who":{"a":1.5,"b":1,"c":null}}"#, &limits);
        assert_eq!(at_bound, (own(&["n", "who"]), own(&["who"])));
        let beyond = of(r#"{"n":1,"who":{"a":1.5,"b":1,"c":null,"d":1}}"#, &limits);
        assert_eq!(beyond, (own(&["n"]), own(&["who"])));
    }

    fn own(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}
