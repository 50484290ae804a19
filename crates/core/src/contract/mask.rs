//! Masked fields: strings of a structured result that leave as a mark of fixed length.
//!
//! A tool declares the places; the check step replaces what stands there before the schema is asked, so
//! that what is judged is what leaves. It must never show how long a string was, and never let a place
//! pass that it cannot mask. Making a contract compiles the places, the check step applies them.

use callgate_protocol::json::{Document, Kind, Value, push_string};

mod place;

pub(super) use place::compile;

/// What stands for the hidden characters of a string, however many there were.
const MARK: &str = "\u{2022}\u{2022}\u{2022}\u{2022}";
/// One hidden character in the place of a last character that must not be shown.
const DOT: char = '\u{2022}';

/// A field of the structured result that is masked.
///
/// Every string there leaves as `••••`, or as `•••• 4242` where its last characters are shown; a string
/// that is not at least twice as long as what would be shown leaves as `•••• ••••`. Null stays null, and a
/// result with anything else there is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mask {
    /// The place in the structured result: a JSON pointer in which `*` stands for every item of an array,
    /// as in `/rows/*/account`.
    pub path: String,
    /// How many last characters stay visible.
    pub keep_last: usize,
}

impl Mask {
    /// The field at a place, of which that many last characters stay visible.
    #[must_use]
    pub fn new(path: impl Into<String>, keep_last: usize) -> Self {
        Self { path: path.into(), keep_last }
    }
}

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The member of an object.
    Member(String),
    /// Every item of an array.
    Items,
}

/// The masked places of a contract, as one tree.
#[derive(Debug, Default)]
pub(crate) struct Masks {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    /// At the end of a path: how many last characters stay visible.
    keep_last: Option<usize>,
    steps: Vec<(Step, Node)>,
}

/// A place holds something that cannot be masked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unmaskable;

/// A string of the text and what stands for it.
struct Edit {
    start: usize,
    end: usize,
    mark: String,
}

impl Masks {
    /// Adds a path; false when it was there before.
    fn insert(&mut self, path: &[Step], keep_last: usize) -> bool {
        let mut node = &mut self.root;
        for step in path {
            let at = node.steps.iter().position(|(other, _)| other == step).unwrap_or_else(|| {
                node.steps.push((step.clone(), Node::default()));
                node.steps.len() - 1
            });
            let Some((_, next)) = node.steps.get_mut(at) else { return false };
            node = next;
        }
        node.keep_last.replace(keep_last).is_none()
    }

    /// The text of the result with every masked string replaced; nothing when there was none.
    pub(crate) fn apply(&self, document: &Document) -> Result<Option<String>, Unmaskable> {
        let mut edits = Vec::new();
        self.root.collect(document.root(), &mut edits)?;
        if edits.is_empty() {
            return Ok(None);
        }
        edits.sort_unstable_by_key(|edit| edit.start);
        let text = document.text();
        let mut out = String::with_capacity(text.len() + edits.len() * 16);
        let mut at = 0;
        for edit in edits {
            out.push_str(text.get(at..edit.start).ok_or(Unmaskable)?);
            push_string(&mut out, &edit.mark);
            at = edit.end;
        }
        out.push_str(text.get(at..).ok_or(Unmaskable)?);
        Ok(Some(out))
    }
}

impl Node {
    fn collect(&self, value: Value<'_>, edits: &mut Vec<Edit>) -> Result<(), Unmaskable> {
        if value.is_null() {
            return Ok(());
        }
        if let Some(keep_last) = self.keep_last {
            let text = value.as_str().ok_or(Unmaskable)?;
            let start = value.offset();
            edits.push(Edit { start, end: start + value.raw_len(), mark: mark(&text, keep_last) });
        }
        for (step, next) in &self.steps {
            match (step, value.kind()) {
                (Step::Member(name), Kind::Object) => {
                    if let Some(member) = value.get(name) {
                        next.collect(member, edits)?;
                    }
                }
                (Step::Items, Kind::Array) => {
                    for item in value.items() {
                        next.collect(item, edits)?;
                    }
                }
                // A result of another shape than the path expects may hold the field anywhere.
                (Step::Member(_) | Step::Items, _) => return Err(Unmaskable),
            }
        }
        Ok(())
    }
}

/// What leaves for a string. Its length depends on `keep_last` alone.
fn mark(text: &str, keep_last: usize) -> String {
    let mut out = String::from(MARK);
    if keep_last == 0 {
        return out;
    }
    out.push(' ');
    let mut tail: Vec<char> = text.chars().rev().take(keep_last).collect();
    // Of a short string the last characters would be most of it.
    if text.chars().take(keep_last * 2).count() < keep_last * 2 {
        tail = vec![DOT; keep_last];
    }
    out.extend(tail.into_iter().rev());
    out
}

#[cfg(test)]
mod tests;
