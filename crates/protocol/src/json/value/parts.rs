//! Items and members, one after the other.
//!
//! The plain iterators give values. Those over parts give what the index has of each value, looked up once, for
//! loops that look at many values and descend into few; the schema evaluator is made of such loops. None of
//! them allocates.

use super::{Document, Kind, Node, Tag, Value};

/// The items of an array. See [`Value::items`].
#[derive(Clone, Debug)]
pub struct Items<'d> {
    pub(super) document: &'d Document,
    pub(super) at: u32,
    pub(super) left: u32,
}

impl<'d> Iterator for Items<'d> {
    type Item = Value<'d>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = self.document.at(self.at);
        self.at = value.node().next;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Items<'_> {}

/// The members of an object, name and value. See [`Value::members`].
#[derive(Clone, Debug)]
pub struct Members<'d> {
    pub(super) document: &'d Document,
    pub(super) at: u32,
    pub(super) left: u32,
}

impl<'d> Iterator for Members<'d> {
    type Item = (Value<'d>, Value<'d>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let name = self.document.at(self.at);
        let value = self.document.at(self.at + 1);
        self.at = value.node().next;
        Some((name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Members<'_> {}

/// A value as the index has it, looked up once. See [`Value::part`].
#[derive(Clone, Copy, Debug)]
pub struct Part<'d> {
    pub(super) document: &'d Document,
    pub(super) node: &'d Node,
    pub(super) at: u32,
}

impl<'d> Part<'d> {
    /// The value itself.
    #[inline(always)]
    #[must_use]
    pub fn value(self) -> Value<'d> {
        self.document.at(self.at)
    }

    /// As [`Value::position`].
    #[inline(always)]
    #[must_use]
    pub fn position(self) -> u32 {
        self.at
    }

    /// As [`Value::kind`].
    #[inline(always)]
    #[must_use]
    pub fn kind(self) -> Kind {
        self.node.tag.kind()
    }

    /// As [`Value::raw_len`].
    #[inline(always)]
    #[must_use]
    pub fn raw_len(self) -> usize {
        // The parser has set the end behind the start.
        self.node.end.wrapping_sub(self.node.start) as usize
    }

    /// As [`Value::raw_bytes`].
    #[inline(always)]
    #[must_use]
    pub fn raw_bytes(self) -> &'d [u8] {
        let all = self.node.start as usize..self.node.end as usize;
        self.document.text.as_bytes().get(all).unwrap_or_default()
    }

    /// As [`Value::plain_bytes`].
    #[inline(always)]
    #[must_use]
    pub fn plain_bytes(self) -> Option<&'d [u8]> {
        if self.is_plain() { self.document.text.as_bytes().get(self.quoted()) } else { None }
    }

    /// Whether this is a string that was written without escapes.
    #[inline(always)]
    #[must_use]
    pub fn is_plain(self) -> bool {
        self.node.tag == Tag::String
    }

    /// What tells short strings apart; nothing for a string with escapes and for every other value.
    #[inline(always)]
    #[must_use]
    pub fn fingerprint(self) -> Option<Fingerprint> {
        if !self.is_plain() {
            return None;
        }
        let quoted = self.quoted();
        Some(Fingerprint::in_text(self.document.text.as_bytes(), quoted.start, quoted.end))
    }

    /// Where the text between the quotes of a string is.
    #[inline(always)]
    fn quoted(self) -> std::ops::Range<usize> {
        self.node.start as usize + 1..(self.node.end as usize).wrapping_sub(1)
    }
}

/// The length, beginning and end of a text: all of one that is short. Most comparisons of names and words
/// end here, without a call to compare memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    length: usize,
    /// The first eight bytes, the first in the lowest place; zeros where there are fewer.
    first: u64,
    /// The last eight bytes of a text that has more than eight.
    last: u64,
}

impl Fingerprint {
    /// Up to this length a fingerprint is the whole text.
    const COMPLETE: usize = 16;

    /// The fingerprint of a text.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        Self::in_text(text, 0, text.len())
    }

    /// Whether equal fingerprints mean equal texts.
    #[inline(always)]
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.length <= Self::COMPLETE
    }

    /// The fingerprint of the bytes from `start` to `end`, which may read a word beyond them.
    #[inline(always)]
    fn in_text(bytes: &[u8], start: usize, end: usize) -> Self {
        let length = end.wrapping_sub(start);
        let first = match bytes.get(start..start + 8).and_then(<[u8]>::first_chunk) {
            Some(word) => u64::from_le_bytes(*word),
            None => Self::at_the_end(bytes, start),
        };
        if length < 8 {
            // What stands behind the text is no part of it.
            return Self { length, first: first & !(u64::MAX << (8 * length)), last: 0 };
        }
        let last = if length == 8 {
            0
        } else {
            bytes.get(..end).and_then(<[u8]>::last_chunk).map_or(0, |word| u64::from_le_bytes(*word))
        };
        Self { length, first, last }
    }

    /// The first word of bytes that are fewer than a word.
    #[cold]
    fn at_the_end(bytes: &[u8], start: usize) -> u64 {
        let left = bytes.get(start..).unwrap_or_default().iter();
        left.rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }
}

/// The items of an array as the index has them. See [`Value::parts`].
#[derive(Clone, Debug)]
pub struct Parts<'d> {
    pub(super) items: Items<'d>,
}

impl<'d> Iterator for Parts<'d> {
    type Item = Part<'d>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.items.left = self.items.left.checked_sub(1)?;
        let (document, at) = (self.items.document, self.items.at);
        let node = document.nodes.get(at as usize)?;
        self.items.at = node.next;
        Some(Part { document, node, at })
    }
}

/// The members of an object as the index has them. See [`Value::entries`].
#[derive(Clone, Debug)]
pub struct Entries<'d> {
    pub(super) members: Members<'d>,
}

/// One member, looked up once.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'d> {
    /// The name, which is a string.
    pub name: Part<'d>,
    /// The value.
    pub value: Part<'d>,
}

impl<'d> Iterator for Entries<'d> {
    type Item = Entry<'d>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.members.left = self.members.left.checked_sub(1)?;
        let (document, at) = (self.members.document, self.members.at);
        let [name, value] = document.nodes.get(at as usize..)?.first_chunk::<2>()?;
        self.members.at = value.next;
        Some(Entry {
            name: Part { document, node: name, at },
            value: Part { document, node: value, at: at + 1 },
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::super::super::bounds::Limits;
    use super::{Document, Fingerprint};

    proptest! {
        #[test]
        fn fingerprints_of_equal_texts_are_equal_wherever_they_stand(name in "[a-z]{0,20}", after in "[a-z]{0,9}") {
            for text in [format!(r#"{{"{name}":"{after}"}}"#), format!(r#"{{"{name}":0}}"#)] {
                let document = Document::parse(text, &Limits::DEFAULT).unwrap();
                let entry = document.root().entries().next().unwrap();
                prop_assert_eq!(entry.name.fingerprint(), Some(Fingerprint::of(name.as_bytes())));
            }
        }

        #[test]
        fn complete_fingerprints_tell_texts_apart(one in "[ab]{0,16}", other in "[ab]{0,16}") {
            let (left, right) = (Fingerprint::of(one.as_bytes()), Fingerprint::of(other.as_bytes()));
            prop_assert_eq!(left == right, one == other);
            assert!(left.is_complete());
        }
    }

    #[test]
    fn parts_agree_with_the_values_they_are() {
        let text = r#"{"a":[1,"x\n",{}],"b":{"c":null},"long name":"a text of more than sixteen bytes"}"#;
        let document = Document::parse(text, &Limits::DEFAULT).unwrap();
        let mut seen = Vec::new();
        for entry in document.root().entries() {
            seen.extend([entry.name, entry.value]);
            seen.extend(entry.value.value().parts());
        }
        assert_eq!(seen.len(), 9);
        for part in seen {
            let value = part.value();
            assert_eq!(part.position(), value.position());
            assert_eq!(part.kind(), value.kind());
            assert_eq!(part.raw_len(), value.raw_len());
            assert_eq!(part.raw_bytes(), value.raw_bytes());
            assert_eq!(part.plain_bytes(), value.plain_bytes());
            assert_eq!(part.is_plain(), value.plain_bytes().is_some());
            assert_eq!(part.fingerprint(), value.plain_bytes().map(Fingerprint::of));
            assert_eq!(value.part().position(), part.position());
        }
    }
}
