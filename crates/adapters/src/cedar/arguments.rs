//! The arguments of one call as Cedar sees them.
//!
//! A value is given exactly or not at all: nothing is rounded, cut or converted. What is not given is
//! named, so that policies can see that something is missing. The engine calls it for those arguments
//! that a policy looks at.

use std::collections::BTreeSet;

use callgate_protocol::json::{Kind, Value};
use cedar_policy::RestrictedExpression;

use super::limits::PolicyLimits;
use super::mentions::Mentions;
use super::types::{Member, Type};

/// The arguments that are given, and the names of those that are not.
#[derive(Debug, Default)]
pub(super) struct Expressed {
    pub(super) arguments: Vec<(String, RestrictedExpression)>,
    pub(super) inexpressible: BTreeSet<String>,
}

/// What is left of the bounds.
struct Budget {
    values: usize,
    bytes: usize,
    depth: usize,
}

/// Expresses the arguments that policies look at.
pub(super) fn express(
    arguments: Value<'_>,
    members: &[Member],
    mentions: &Mentions,
    limits: &PolicyLimits,
) -> Expressed {
    let mut expressed = Expressed::default();
    let mut budget =
        Budget { values: limits.argument_values, bytes: limits.argument_bytes, depth: limits.type_depth };
    for member in members {
        if !mentions.has(&member.name) && !mentions.inexpressible {
            continue;
        }
        match optional(arguments, member) {
            None => {}
            Some(value) => match budget.express(value, &member.kind) {
                Some(expression) => expressed.arguments.push((member.name.clone(), expression)),
                None => {
                    expressed.inexpressible.insert(member.name.clone());
                }
            },
        }
    }
    // What has no type is named as well for a policy that asks what it does not see.
    if mentions.inexpressible || mentions.everything {
        let has_type = |name: &str| members.iter().any(|member| member.name == name);
        let names = arguments.members().filter_map(|(name, _)| name.as_str());
        expressed.inexpressible.extend(names.filter(|name| !has_type(name)).map(|name| name.into_owned()));
    }
    expressed
}

/// The value of a member, where null means that it is not there if the schema takes null for it.
fn optional<'v>(record: Value<'v>, member: &Member) -> Option<Value<'v>> {
    let value = record.get(&member.name)?;
    // A member that may be null is never required, so a policy has to ask whether it is there.
    if value.is_null() && !member.required { None } else { Some(value) }
}

impl Budget {
    fn express(&mut self, value: Value<'_>, kind: &Type) -> Option<RestrictedExpression> {
        self.values = self.values.checked_sub(1)?;
        self.depth = self.depth.checked_sub(1)?;
        let expression = match kind {
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
                let items: Option<Vec<_>> = value.items().map(|value| self.express(value, item)).collect();
                RestrictedExpression::new_set(items?)
            }
            Type::Record(members) => {
                if value.kind() != Kind::Object {
                    return None;
                }
                let mut pairs = Vec::with_capacity(members.len());
                for member in members {
                    if let Some(value) = optional(value, member) {
                        pairs.push((member.name.clone(), self.express(value, &member.kind)?));
                    }
                }
                RestrictedExpression::new_record(pairs).ok()?
            }
        };
        self.depth += 1;
        Some(expression)
    }
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
            (r#"{"n":1,"who":{"age":3,"x":1.5}}"#, &["n", "who"], &[]),
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

    fn own(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}
