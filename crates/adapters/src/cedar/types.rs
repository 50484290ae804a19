//! From the input schema of a tool to the types that Cedar gives its arguments.
//!
//! The rule: what has exactly one type that Cedar holds exactly, whatever a caller sends, has that type;
//! everything else has none, and no policy can speak of it. Numbers that need not be whole, unions,
//! tuples and values of any kind have none. It must never give a type that a valid value does not have.
//! The schema and the arguments are made from it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use callgate_protocol::json::{Kind, Value};

/// The type of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// `String`
    Text,
    /// `Bool`
    Flag,
    /// `Long`
    Integer,
    /// `Set<...>`
    Set(Box<Self>),
    /// A record.
    Record(Vec<Member>),
}

/// One member of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) kind: Type,
    /// False where a caller may leave it out or say null.
    pub(super) required: bool,
}

/// A type, and whether null is a value besides.
struct Typed {
    kind: Type,
    nullable: bool,
}

/// The arguments of a tool that have a type.
pub(super) fn of_input(schema: Value<'_>, depth: usize) -> Vec<Member> {
    Reading { root: schema, references: !schema.document().text().contains("\"$id\"") }.members(schema, depth)
}

struct Reading<'s> {
    root: Value<'s>,
    /// Whether a reference means what it says of the root: an `$id` somewhere would change that.
    references: bool,
}

impl<'s> Reading<'s> {
    fn members(&self, schema: Value<'s>, depth: usize) -> Vec<Member> {
        let Some(properties) = schema.get("properties").filter(|it| it.kind() == Kind::Object) else {
            return Vec::new();
        };
        let required: BTreeSet<_> = schema
            .get("required")
            .filter(|it| it.kind() == Kind::Array)
            .into_iter()
            .flat_map(Value::items)
            .filter_map(Value::as_str)
            .collect();
        let member = |(name, property): (Value<'s>, Value<'s>)| {
            let name = name.as_str()?;
            let Typed { kind, nullable } = self.typed(property, depth)?;
            Some(Member { required: required.contains(&name) && !nullable, name: name.into_owned(), kind })
        };
        properties.members().filter_map(member).collect()
    }

    fn typed(&self, schema: Value<'s>, depth: usize) -> Option<Typed> {
        let depth = depth.checked_sub(1)?;
        if schema.kind() != Kind::Object {
            return None;
        }
        if let Some(reference) = schema.get("$ref") {
            return self.typed(self.target(&reference.as_str()?)?, depth);
        }
        let Some(named) = schema.get("type") else { return self.without_name(schema, depth) };
        let names: Vec<_> = match named.kind() {
            Kind::String => named.as_str().into_iter().collect(),
            Kind::Array => named.items().map(Value::as_str).collect::<Option<_>>()?,
            _ => return None,
        };
        let nullable = names.iter().any(|name| name == "null");
        let mut others = names.iter().filter(|name| *name != "null");
        let (name, None) = (others.next()?, others.next()) else { return None };
        let kind = match &**name {
            "string" => Type::Text,
            "boolean" => Type::Flag,
            "integer" => Type::Integer,
            "array" => self.set(schema, depth)?,
            "object" => Type::Record(self.members(schema, depth)),
            _ => return None,
        };
        Some(Typed { kind, nullable })
    }

    fn set(&self, schema: Value<'s>, depth: usize) -> Option<Type> {
        if schema.get("prefixItems").is_some() {
            return None;
        }
        let item = self.typed(schema.get("items")?, depth)?;
        (!item.nullable).then(|| Type::Set(Box::new(item.kind)))
    }

    /// A schema that does not name its type: values, or several schemas that agree.
    fn without_name(&self, schema: Value<'s>, depth: usize) -> Option<Typed> {
        if let Some(value) = schema.get("const") {
            return of_values(std::iter::once(value));
        }
        if let Some(values) = schema.get("enum").filter(|it| it.kind() == Kind::Array) {
            return of_values(values.items());
        }
        if let Some(all) = schema.get("allOf").filter(|it| it.kind() == Kind::Array && it.len() == 1) {
            return self.typed(all.items().next()?, depth);
        }
        let choices = ["anyOf", "oneOf"].into_iter().find_map(|keyword| schema.get(keyword))?;
        if choices.kind() != Kind::Array {
            return None;
        }
        let mut agreed: Option<Typed> = None;
        let mut nullable = false;
        for choice in choices.items() {
            if choice.get("type").is_some_and(|name| name.is_str("null")) {
                nullable = true;
                continue;
            }
            let typed = self.typed(choice, depth)?;
            nullable |= typed.nullable;
            match &agreed {
                Some(known) if known.kind != typed.kind => return None,
                Some(_) => {}
                None => agreed = Some(typed),
            }
        }
        agreed.map(|typed| Typed { nullable, ..typed })
    }

    /// What `#/$defs/name` points to.
    fn target(&self, reference: &str) -> Option<Value<'s>> {
        let pointer = reference.strip_prefix("#/").filter(|_| self.references)?;
        let mut value = self.root;
        for step in pointer.split('/') {
            if step.contains('%') || value.kind() != Kind::Object {
                return None;
            }
            value = value.get(&step.replace("~1", "/").replace("~0", "~"))?;
        }
        Some(value)
    }
}

/// The type of values that are listed.
fn of_values<'v>(values: impl Iterator<Item = Value<'v>>) -> Option<Typed> {
    let mut agreed: Option<Type> = None;
    let mut nullable = false;
    for value in values {
        let kind = match value.kind() {
            Kind::Null => {
                nullable = true;
                continue;
            }
            Kind::String => Type::Text,
            Kind::Boolean => Type::Flag,
            Kind::Number if value.as_number().is_some_and(|number| number.is_integer()) => Type::Integer,
            _ => return None,
        };
        match &agreed {
            Some(known) if *known != kind => return None,
            Some(_) => {}
            None => agreed = Some(kind),
        }
    }
    agreed.map(|kind| Typed { kind, nullable })
}

/// Writes a type as a Cedar schema has it.
pub(super) fn write_type(kind: &Type, out: &mut String) {
    match kind {
        Type::Text => out.push_str("String"),
        Type::Flag => out.push_str("Bool"),
        Type::Integer => out.push_str("Long"),
        Type::Set(item) => {
            out.push_str("Set<");
            write_type(item, out);
            out.push('>');
        }
        Type::Record(members) => write_record(members, out),
    }
}

/// Writes the type of a record.
pub(super) fn write_record(members: &[Member], out: &mut String) {
    out.push('{');
    for (at, member) in members.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        // Quoted, because a name may be a word of Cedar or hold any character. Writing cannot fail.
        let _ = write!(out, "{}{}: ", quoted(&member.name), if member.required { "" } else { "?" });
        write_type(&member.kind, out);
    }
    out.push('}');
}

/// A text as a Cedar literal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            character if character.is_control() => {
                // Writing into a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::{of_input, write_record};
    use callgate_protocol::json::{Document, Limits};

    fn record(properties: &str, rest: &str) -> String {
        let text = format!(r#"{{"type":"object","properties":{{{properties}}}{rest}}}"#);
        let document = Document::parse(text, &Limits::DEFAULT).unwrap();
        let mut out = String::new();
        write_record(&of_input(document.root(), 8), &mut out);
        out
    }

    #[test]
    fn what_has_one_exact_type_has_it_and_nothing_else_has_one() {
        for (schema, expected) in [
            (r#"{"type":"string"}"#, "String"),
            (r#"{"enum":["a","b"]}"#, "String"),
            (r#"{"const":true}"#, "Bool"),
            (r#"{"type":"integer"}"#, "Long"),
            (r#"{"enum":[1,2.0]}"#, "Long"),
            (r#"{"type":["string","null"]}"#, "String"),
            (r#"{"type":"array","items":{"type":"integer"}}"#, "Set<Long>"),
            (r#"{"anyOf":[{"type":"null"},{"type":"boolean"}]}"#, "Bool"),
            (r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#, "String"),
            (r##"{"$ref":"#/$defs/A~1b"}"##, "Long"),
            (r##"{"allOf":[{"$ref":"#/$defs/A~1b"}]}"##, "Long"),
            (
                r#"{"type":"object","properties":{"in":{"type":"string"},"n":{"type":"number"}},"required":["in"]}"#,
                r#"{"in": String}"#,
            ),
        ] {
            let defs = r#","$defs":{"A/b":{"type":"integer"}}"#;
            assert_eq!(
                record(&format!(r#""x":{schema}"#), defs),
                format!(r#"{{"x"?: {expected}}}"#),
                "{schema}"
            );
        }
        for schema in [
            r#"{"type":"number"}"#,
            r#"{"type":["integer","string"]}"#,
            r#"{"type":["integer","number"]}"#,
            r#"{"type":"null"}"#,
            r#"{"anyOf":[{"type":"integer"},{"type":"string"}]}"#,
            r#"{"enum":[1,"a"]}"#,
            r#"{"enum":[1.5]}"#,
            r#"{"type":"array"}"#,
            r#"{"type":"array","items":{"type":["string","null"]}}"#,
            r#"{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"string"}}"#,
            r##"{"$ref":"#"}"##,
            r##"{"$ref":"#/$defs/loop"}"##,
            "true",
            "{}",
        ] {
            let defs = r##","$defs":{"loop":{"$ref":"#/$defs/loop"}}"##;
            assert_eq!(record(&format!(r#""x":{schema}"#), defs), "{}", "{schema}");
        }
    }

    #[test]
    fn only_what_must_be_there_and_is_not_null_is_required() {
        let properties = r#""a":{"type":"string"},"b":{"type":["string","null"]},"c":{"type":"string"}"#;
        assert_eq!(
            record(properties, r#","required":["a","b"]"#),
            r#"{"a": String, "b"?: String, "c"?: String}"#
        );
    }
}
