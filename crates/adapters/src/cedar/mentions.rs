//! What a policy looks at, found by reading it and never by running it.
//!
//! Too much may be found, never too little: what is not understood counts as everything. The loader and
//! the engine build on it that an argument nobody mentions need not be expressed, and that one which
//! cannot be expressed denies wherever it is mentioned.

use std::collections::BTreeSet;

use cedar_policy::{Policy, PrincipalConstraint};
use serde_json::Value;

/// What one policy, or several together, look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// Who calls, by the scope or in a condition.
    pub(super) caller: bool,
    pub(super) time: bool,
    pub(super) approved: bool,
    pub(super) second_person: bool,
    pub(super) inexpressible: bool,
    /// Variables of templates.
    pub(super) variables: bool,
    /// All arguments at once.
    pub(super) everything: bool,
    /// Arguments by their names at the top level.
    pub(super) arguments: BTreeSet<String>,
    /// Arguments and members of them whose values are looked at.
    pub(super) values: BTreeSet<Vec<String>>,
    /// Arguments and members of them of which it is asked only whether they are there.
    pub(super) presence: BTreeSet<Vec<String>>,
    /// Labels that tools are asked for.
    pub(super) labels: BTreeSet<String>,
    /// Scopes that callers are asked for.
    pub(super) scopes: BTreeSet<String>,
}

/// How a policy looks at something.
#[derive(Clone, Copy)]
enum Look {
    /// What it is.
    Value,
    /// Whether it is there.
    Presence,
}

/// Levels of a policy that are read; the parser of policies takes no deeper ones in practice.
const DEPTH: usize = 200;

impl Mentions {
    /// What a policy looks at.
    pub(super) fn of(policy: &Policy) -> Self {
        let mut mentions = Self::default();
        let scope = policy.principal_constraint();
        mentions.caller = !matches!(scope, PrincipalConstraint::Any | PrincipalConstraint::Is(_));
        match policy.to_json() {
            Ok(json) => mentions.read(json.get("conditions").unwrap_or(&Value::Null), DEPTH),
            Err(_) => mentions.all(),
        }
        mentions
    }

    /// What this one and another one look at.
    pub(super) fn add(&mut self, other: &Self) {
        self.caller |= other.caller;
        self.time |= other.time;
        self.approved |= other.approved;
        self.second_person |= other.second_person;
        self.inexpressible |= other.inexpressible;
        self.variables |= other.variables;
        self.everything |= other.everything;
        self.arguments.extend(other.arguments.iter().cloned());
        self.values.extend(other.values.iter().cloned());
        self.presence.extend(other.presence.iter().cloned());
    }

    /// Whether the argument is looked at.
    pub(super) fn has(&self, argument: &str) -> bool {
        self.everything || self.arguments.contains(argument)
    }

    /// Whether what is decided follows from the caller, the tool and an approval alone.
    pub(super) fn is_settled(&self) -> bool {
        !self.time && !self.inexpressible && !self.everything && self.arguments.is_empty()
    }

    /// Whether the variables of a template or the arguments of a prompt are looked at.
    pub(super) fn looks_at_inputs(&self) -> bool {
        self.variables || self.everything || !self.arguments.is_empty()
    }

    /// Whether it matters that the value at this place is there and not given: it is looked at, as a part of
    /// something larger too, or it is asked whether it is there.
    pub(super) fn misses(&self, place: &[String]) -> bool {
        let above = |path: &Vec<String>| place.starts_with(path);
        let below = |path: &Vec<String>| path.starts_with(place);
        self.everything
            || self.values.iter().any(|path| above(path) || below(path))
            || self.presence.iter().any(below)
    }

    fn all(&mut self) {
        self.caller = true;
        self.time = true;
        self.approved = true;
        self.second_person = true;
        self.inexpressible = true;
        self.variables = true;
        self.everything = true;
    }

    fn read(&mut self, expression: &Value, depth: usize) {
        if depth == 0 {
            return self.all();
        }
        if let Some((variable, path)) = path(expression, depth) {
            return self.looked_at(variable, &path, Look::Value);
        }
        match expression {
            Value::Object(members) => {
                for (operator, operands) in members {
                    match operator.as_str() {
                        // A literal looks at nothing.
                        "Value" => {}
                        // The only operands whose names the author chooses: they are no operators.
                        "Record" => match operands {
                            Value::Object(values) => {
                                values.values().for_each(|value| self.read(value, depth - 1));
                            }
                            _ => self.all(),
                        },
                        "has" => self.read_has(operands, depth),
                        "contains" | "containsAny" | "containsAll" => {
                            self.read_contains(operands, depth);
                            self.read(operands, depth - 1);
                        }
                        _ => self.read(operands, depth - 1),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.read(item, depth - 1)),
            _ => {}
        }
    }

    /// `left has a` and `left has a.b`.
    fn read_has(&mut self, operands: &Value, depth: usize) {
        let left = operands.get("left").unwrap_or(&Value::Null);
        match path(left, depth) {
            Some((variable, mut path)) => {
                match operands.get("attr") {
                    Some(Value::String(attribute)) => path.push(attribute),
                    Some(Value::Array(attributes)) => {
                        path.extend(attributes.iter().filter_map(Value::as_str))
                    }
                    _ => {}
                }
                self.looked_at(variable, &path, Look::Presence);
            }
            None => self.read(left, depth - 1),
        }
    }

    /// Labels of tools and scopes of callers that are compared with literals.
    fn read_contains(&mut self, operands: &Value, depth: usize) {
        let left = operands.get("left").and_then(|left| path(left, depth));
        let into = match left {
            Some(("resource", path)) if path == ["labels"] => &mut self.labels,
            Some(("principal", path)) if path == ["scopes"] => &mut self.scopes,
            _ => return,
        };
        let right = operands.get("right").unwrap_or(&Value::Null);
        let literal = |value: &Value| value.get("Value").and_then(Value::as_str).map(str::to_owned);
        into.extend(literal(right));
        into.extend(right.get("Set").and_then(Value::as_array).into_iter().flatten().filter_map(literal));
    }

    fn looked_at(&mut self, variable: &str, path: &[&str], look: Look) {
        match (variable, path) {
            ("principal", _) => self.caller = true,
            ("context", ["arguments", inside @ ..]) if !inside.is_empty() => {
                self.arguments.extend(inside.first().map(|name| (*name).to_owned()));
                let path = inside.iter().map(|name| (*name).to_owned()).collect();
                match look {
                    Look::Value => self.values.insert(path),
                    Look::Presence => self.presence.insert(path),
                };
            }
            ("context", ["time", ..]) => self.time = true,
            ("context", ["approved", ..]) => self.approved = true,
            ("context", ["second_person", ..]) => self.second_person = true,
            ("context", ["inexpressible", ..]) => self.inexpressible = true,
            ("context", ["variables", ..]) => self.variables = true,
            ("context", ["tenant" | "purpose", ..]) => self.caller = true,
            ("context", _) => self.all(),
            _ => {}
        }
    }
}

/// The variable and the attributes of `variable.a.b`.
fn path(expression: &Value, depth: usize) -> Option<(&str, Vec<&str>)> {
    if depth == 0 {
        return None;
    }
    if let Some(variable) = expression.get("Var") {
        return Some((variable.as_str()?, Vec::new()));
    }
    let access = expression.get(".")?;
    let (variable, mut attributes) = path(access.get("left")?, depth - 1)?;
    attributes.push(access.get("attr")?.as_str()?);
    Some((variable, attributes))
}

#[cfg(test)]
mod tests {
    use super::Mentions;
    use cedar_policy::Policy;

    fn of(conditions: &str) -> Mentions {
        let text = format!("permit(principal, action, resource) {conditions};");
        Mentions::of(&Policy::parse(None, text).unwrap())
    }

    #[test]
    fn arguments_are_found_wherever_they_stand() {
        for condition in [
            "when { context.arguments.a > 1 }",
            "unless { context.arguments has a }",
            "when { context has arguments.a }",
            "when { context.arguments[\"a\"].b like \"x*\" }",
            "when { if true then [1].contains(context.arguments.a) else false }",
            "when { {x: context.arguments.a} == {x: 1} }",
            "when { resource.labels.contains(context.arguments.a) }",
            "when { decimal(\"1.0\").lessThan(decimal(context.arguments.a)) }",
            "when { {\"has\": context.arguments.a == 1}[\"has\"] }",
            "when { {\"Value\": context.arguments has a}[\"Value\"] }",
            "when { {\"contains\": {\"Var\": {\".\": context.arguments.a}}}.contains.Var[\".\"] == 1 }",
        ] {
            let mentions = of(condition);
            assert!(mentions.has("a") && !mentions.has("b") && !mentions.caller, "{condition}: {mentions:?}");
        }
    }

    #[test]
    fn what_is_not_understood_counts_as_everything() {
        for condition in [
            "when { context.arguments == {a: 1} }",
            "when { context has arguments }",
            "when { (if true then context else context).arguments.a == 1 }",
            "when { context == context }",
        ] {
            let mentions = of(condition);
            assert!(mentions.has("b") && mentions.time && mentions.caller, "{condition}: {mentions:?}");
        }
    }

    #[test]
    fn callers_times_labels_and_scopes_are_found() {
        assert!(of("when { principal.subject == \"a\" }").caller);
        assert!(of("when { context has tenant }").caller);
        assert!(of("when { {\"has\": principal in Group::\"g\"}[\"has\"] }").caller);
        assert!(of("when { {\"Value\": context.time > datetime(\"2026-01-01\")}[\"Value\"] }").time);
        assert!(of("when { context.time < datetime(\"2026-01-01\") }").time);
        assert!(of("unless { context.approved }").approved);
        let mentions = of("unless { context.second_person }");
        assert!(mentions.second_person && !mentions.approved);
        let mentions =
            of("when { resource.labels.containsAny([\"a\", \"b\"]) && principal.scopes.contains(\"c\") }");
        assert_eq!(mentions.labels.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(mentions.scopes.iter().collect::<Vec<_>>(), ["c"]);
        assert_eq!(of("when { resource.changes }"), Mentions::default());
    }

    #[test]
    fn a_missing_value_matters_to_who_looks_at_it_or_at_what_it_is_part_of() {
        for (condition, misses) in [
            ("when { context.arguments.order == {qty: 1} }", true),
            ("when { context.arguments.orders.contains({qty: 1}) }", false),
            ("when { context.arguments.order.price == 1 }", true),
            ("when { context.arguments.order.price.net == 1 }", true),
            ("when { context.arguments has order.price }", true),
            ("when { context.arguments.order has price }", true),
            ("when { context.arguments has order && context.arguments.order.qty == 1 }", false),
            ("when { context.arguments has order.qty }", false),
            ("when { context.arguments == context.arguments }", true),
            ("when { (if true then context.arguments.order else {qty: 1}).qty == 1 }", true),
        ] {
            let place = ["order".to_owned(), "price".to_owned()];
            assert_eq!(of(condition).misses(&place), misses, "{condition}");
        }
    }
}
