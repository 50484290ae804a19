//! Alternatives, and the member that tells them apart.
//!
//! A tag only saves work: it must never choose where trying all alternatives would give another
//! verdict. The compiler finds it, the evaluator asks it.

use callgate_protocol::json::{Kind, Value};

use super::property::{LINEAR_NAMES, Properties};
use super::{Node, NodeId, Op, Word};

/// The alternatives of `anyOf` or `oneOf`.
#[derive(Debug)]
pub(in crate::contract::schema) struct Choice {
    pub(in crate::contract::schema) nodes: Box<[NodeId]>,
    /// What tells the alternatives apart, if one member does.
    pub(in crate::contract::schema) tag: Option<Tag>,
}

/// A member that every alternative requires, each with another constant string: whatever the rest of an
/// object is, only one alternative can accept it.
#[derive(Debug)]
pub(in crate::contract::schema) struct Tag {
    pub(in crate::contract::schema) name: Word,
    /// The constants, in the order of the alternatives.
    pub(in crate::contract::schema) words: Box<[Word]>,
}

impl Tag {
    /// The member that tells apart the alternatives, if there is one.
    pub(in crate::contract::schema) fn of(
        alternatives: &[NodeId],
        nodes: &[Node],
        ops: &[Op],
    ) -> Option<Self> {
        let (first, others) = alternatives.split_first().filter(|(_, others)| !others.is_empty())?;
        let words_of = |name: &str| {
            let mut words: Vec<&str> = vec![constant(*first, name, nodes, ops)?];
            for alternative in others {
                let word = constant(*alternative, name, nodes, ops)?;
                if words.contains(&word) {
                    return None;
                }
                words.push(word);
            }
            Some(words.into_iter().map(Word::new).collect())
        };
        let names = properties_of(*first, nodes, ops)?.names.iter().take(LINEAR_NAMES);
        names.filter(|property| property.required).find_map(|property| {
            Some(Self { words: words_of(property.name.text())?, name: property.name.clone() })
        })
    }

    /// The alternative that alone can accept an object.
    #[inline(always)]
    pub(in crate::contract::schema) fn chosen(&self, object: Value<'_>) -> Option<usize> {
        let member = match object.entries().find(|entry| self.name.is_plain_value(entry.name)) {
            Some(entry) => entry.value,
            // The name may have been written with escapes.
            None => object.get(self.name.text())?.part(),
        };
        Word::position(&self.words, member)
    }
}

fn properties_of<'o>(id: NodeId, nodes: &[Node], ops: &'o [Op]) -> Option<&'o Properties> {
    let span = nodes.get(id as usize)?.of_kind(Kind::Object);
    ops.get(span.start as usize..span.end as usize)?.iter().find_map(|op| match op {
        Op::Properties(properties) => Some(&**properties),
        _ => None,
    })
}

/// The only string that a subschema accepts as a member that it requires.
fn constant<'o>(id: NodeId, name: &str, nodes: &[Node], ops: &'o [Op]) -> Option<&'o str> {
    let mut names = properties_of(id, nodes, ops)?.names.iter().take(LINEAR_NAMES);
    let property = names.find(|property| property.required && property.name.text() == name)?;
    let span = nodes.get(property.schema? as usize)?.any;
    ops.get(span.start as usize..span.end as usize)?.iter().find_map(|op| match op {
        Op::Word(word) => Some(word.text()),
        _ => None,
    })
}
