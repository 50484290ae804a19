//! Items and members, one after the other.
//!
//! The plain iterators give values. Those over parts give what the index has of each value, looked up once, for
//! loops that look at many values and descend into few; the schema evaluator is made of such loops. None of
//! them allocates.

use super::{Document, Fingerprint, Kind, Node, Tag, Value};

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

    /// As [`Value::len`].
    #[inline(always)]
    #[must_use]
    pub fn len(self) -> usize {
        self.node.count as usize
    }

    /// As [`Value::is_empty`].
    #[inline(always)]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.node.count == 0
    }

    /// As [`Value::parts`].
    #[inline(always)]
    #[must_use]
    pub fn parts(self) -> Parts<'d> {
        Parts { document: self.document, rest: self.inside(Tag::Array), at: self.at + 1 }
    }

    /// As [`Value::entries`].
    #[inline(always)]
    #[must_use]
    pub fn entries(self) -> Entries<'d> {
        Entries { document: self.document, rest: self.inside(Tag::Object) }
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

    /// The text of a string that was written without escapes; nothing for every other value.
    #[inline(always)]
    #[must_use]
    pub fn plain_text(self) -> Option<&'d str> {
        if self.is_plain() { self.document.text.get(self.quoted()) } else { None }
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

    /// Whether this is a string that was written without escapes and has that fingerprint; faster than
    /// taking the fingerprint, where only one is in question.
    #[inline(always)]
    #[must_use]
    pub fn has_fingerprint(self, print: &Fingerprint) -> bool {
        if !self.is_plain() || self.raw_len() != print.length + 2 {
            return false;
        }
        let (bytes, quoted) = (self.document.text.as_bytes(), self.quoted());
        Fingerprint::first_word(bytes, quoted.start) & print.mask == print.first
            && (print.length <= 8 || Fingerprint::last_word(bytes, quoted.end) == print.last)
    }

    /// The index of everything in a container of that kind.
    #[inline(always)]
    fn inside(self, container: Tag) -> &'d [Node] {
        if self.node.tag != container {
            return &[];
        }
        self.document.nodes.get(self.at as usize + 1..self.node.next as usize).unwrap_or_default()
    }

    /// Whether this is a number that is written without point and exponent, and so a whole one.
    #[inline(always)]
    #[must_use]
    pub fn is_written_whole(self) -> bool {
        if self.node.tag != Tag::Number {
            return false;
        }
        // The ends of most numbers are all of them.
        let (start, end) = (self.node.start as usize, self.node.end as usize);
        let print = Fingerprint::in_text(self.document.text.as_bytes(), start, end);
        let is_fraction = |word: u64| {
            // Of the characters of a number only `e` and `E` have the bit of letters. Where the point is, the
            // difference is zero, and only there does subtracting one set a high bit: no byte has one before.
            const ONES: u64 = u64::from_le_bytes([1; 8]);
            let point = (word ^ (ONES * b'.' as u64)).wrapping_sub(ONES);
            word & (ONES << 6) != 0 || point & (ONES << 7) != 0
        };
        if is_fraction(print.first) || is_fraction(print.last) {
            return false;
        }
        print.is_complete() || !self.raw_bytes().iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
    }

    /// Where the text between the quotes of a string is.
    #[inline(always)]
    fn quoted(self) -> std::ops::Range<usize> {
        self.node.start as usize + 1..(self.node.end as usize).wrapping_sub(1)
    }
}

/// The items of an array as the index has them. See [`Value::parts`].
#[derive(Clone, Debug)]
pub struct Parts<'d> {
    document: &'d Document,
    /// The index from the next item to the end of the array.
    rest: &'d [Node],
    at: u32,
}

impl<'d> Iterator for Parts<'d> {
    type Item = Part<'d>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (node, at) = (self.rest.first()?, self.at);
        self.rest = self.rest.get(node.next.wrapping_sub(at) as usize..).unwrap_or_default();
        self.at = node.next;
        Some(Part { document: self.document, node, at })
    }
}

/// The members of an object as the index has them. See [`Value::entries`].
#[derive(Clone, Debug)]
pub struct Entries<'d> {
    document: &'d Document,
    /// The index from the next name to the end of the object.
    rest: &'d [Node],
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
        let [name, value, ..] = self.rest else { return None };
        // A name has no parts, so its value is what comes next.
        let at = name.next.wrapping_sub(1);
        self.rest = self.rest.get(value.next.wrapping_sub(at) as usize..).unwrap_or_default();
        Some(Entry {
            name: Part { document: self.document, node: name, at },
            value: Part { document: self.document, node: value, at: name.next },
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
        fn whole_numbers_are_known_by_how_they_are_written(
            number in "-?[1-9][0-9]{0,20}([.][0-9]{1,9})?([eE][+-]?[0-9]{1,2})?",
            after in "[.eE0-9]{0,9}",
        ) {
            for text in [number.clone(), format!(r#"[{number},"{after}"]"#)] {
                let document = Document::parse(text, &Limits::DEFAULT).unwrap();
                let root = document.root().part();
                let part = root.parts().next().unwrap_or(root);
                prop_assert_eq!(part.is_written_whole(), !number.contains(['.', 'e', 'E']));
            }
        }
    }

    #[test]
    fn parts_agree_with_the_values_they_are() {
        let text = r#"{"a":[1,"x\n",{}],"b":{"c":null},"long name":"a text of more than sixteen bytes"}"#;
        let document = Document::parse(text, &Limits::DEFAULT).unwrap();
        let mut seen = Vec::new();
        for entry in document.root().entries() {
            seen.extend([entry.name, entry.value]);
            seen.extend(entry.value.parts());
            seen.extend(entry.value.entries().flat_map(|entry| [entry.name, entry.value]));
        }
        assert_eq!(seen.len(), 11);
        for part in seen {
            let value = part.value();
            assert_eq!(part.position(), value.position());
            assert_eq!(part.kind(), value.kind());
            assert_eq!(part.raw_len(), value.raw_len());
            assert_eq!(part.raw_bytes(), value.raw_bytes());
            assert_eq!(part.plain_text().map(str::as_bytes), value.plain_bytes());
            assert_eq!((part.len(), part.is_empty()), (value.len(), value.is_empty()));
            assert_eq!(part.plain_bytes(), value.plain_bytes());
            assert_eq!(part.is_plain(), value.plain_bytes().is_some());
            assert_eq!(part.fingerprint(), value.plain_bytes().map(Fingerprint::of));
            assert_eq!(value.part().position(), part.position());
        }
    }
}
