//! The document and the view of one value in it.
//!
//! It must never change the text that it was made from. Everything that reads JSON calls it.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use super::bounds::{Limits, ParseError, ParseErrorKind};
use super::memory::Memory;
use super::number::Decimal;
use super::parse::{Parsed, parse};

mod escape;
mod fingerprint;
mod parts;

pub(super) use escape::decode_string;
pub use escape::unescape;
pub use fingerprint::Fingerprint;
pub use parts::{Entries, Entry, Items, Members, Part, Parts};

/// What a node of the index stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Tag {
    Null,
    False,
    True,
    Number,
    String,
    EscapedString,
    Array,
    Object,
}

impl Tag {
    #[inline]
    fn kind(self) -> Kind {
        /// By the number of the tag; a table is read faster than a jump is taken.
        const KINDS: [Kind; 8] = [
            Kind::Null,
            Kind::Boolean,
            Kind::Boolean,
            Kind::Number,
            Kind::String,
            Kind::String,
            Kind::Array,
            Kind::Object,
        ];
        KINDS.get(self as usize).copied().unwrap_or(Kind::Null)
    }
}

/// One part of the text: a value or a member name, in the order of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The index of the part after this one and everything in it.
    pub(super) next: u32,
    /// Items of an array, members of an object.
    pub(super) count: u32,
    pub(super) tag: Tag,
}

impl Node {
    pub(super) const NULL: Self = Self { start: 0, end: 0, next: 0, count: 0, tag: Tag::Null };

    pub(super) fn tag(self) -> Tag {
        self.tag
    }

    /// The same node in a text and an index that begin so much later.
    #[inline]
    pub(super) fn moved(self, offset: u32, index: u32) -> Self {
        Self {
            start: self.start.wrapping_sub(offset),
            end: self.end.wrapping_sub(offset),
            next: self.next.wrapping_sub(index),
            ..self
        }
    }
}

/// The text of one JSON value, checked and indexed once.
pub struct Document {
    text: String,
    nodes: Vec<Node>,
}

impl Document {
    /// Checks and indexes a text.
    ///
    /// # Errors
    /// The first place at which the text breaks RFC 8259 or a bound, or repeats a member name.
    pub fn parse(text: impl Into<String>, limits: &Limits) -> Result<Self, ParseError> {
        let text = text.into();
        let nodes = parse(&text, limits, Vec::new(), None)?.nodes;
        Ok(Self { text, nodes })
    }

    /// As [`Document::parse`], with what an earlier message has left, but gives the text back with the refusal,
    /// for a caller that looks into it once more.
    pub(crate) fn parse_or_return(
        text: String,
        memory: &mut Memory,
        limits: &Limits,
    ) -> Result<Self, (ParseError, String)> {
        let nodes = memory.take_nodes();
        match parse(&text, limits, nodes, memory.familiar(limits)) {
            Ok(Parsed { nodes, recognized }) => {
                memory.recognized(recognized);
                Ok(Self { text, nodes })
            }
            Err(error) => Err((error, text)),
        }
    }

    /// Checks that the bytes are UTF-8, then as [`Document::parse`].
    ///
    /// # Errors
    /// As [`Document::parse`]; bytes that are not UTF-8 are refused, never replaced.
    pub fn parse_bytes(bytes: Vec<u8>, limits: &Limits) -> Result<Self, ParseError> {
        if bytes.len() > limits.bytes {
            return Err(ParseError { offset: limits.bytes, kind: ParseErrorKind::TooLong });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(text, limits),
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                Err(ParseError { offset, kind: ParseErrorKind::Encoding })
            }
        }
    }

    /// Leaves the memory of the document for the next one.
    pub(crate) fn leave(self, memory: &mut Memory) {
        memory.keep(self.text, self.nodes);
    }

    /// The document `{}`, which stands for arguments that were not sent.
    #[must_use]
    pub fn empty_object() -> &'static Self {
        static EMPTY: LazyLock<Document> = LazyLock::new(|| Document {
            text: String::from("{}"),
            nodes: vec![Node { start: 0, end: 2, next: 1, count: 0, tag: Tag::Object }],
        });
        &EMPTY
    }

    /// The document `null`.
    pub(crate) fn null() -> Self {
        Self {
            text: String::from("null"),
            nodes: vec![Node { start: 0, end: 4, next: 1, count: 0, tag: Tag::Null }],
        }
    }

    /// The whole value.
    #[must_use]
    pub fn root(&self) -> Value<'_> {
        self.at(0)
    }

    /// The value at a position that [`Value::position`] gave for this document. A position of another
    /// document gives `null` or an unrelated value, never a panic.
    #[must_use]
    #[inline]
    pub fn at(&self, position: u32) -> Value<'_> {
        Value { document: self, at: position }
    }

    /// The text, as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many values and member names the document has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Always false: a document holds at least one value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    #[inline]
    fn node(&self, at: u32) -> Node {
        *self.node_ref(at)
    }

    #[inline]
    fn node_ref(&self, at: u32) -> &Node {
        self.nodes.get(at as usize).unwrap_or(&Node::NULL)
    }
}

impl fmt::Debug for Document {
    /// Shows the size only: arguments and results do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({} bytes, {} nodes)", self.text.len(), self.nodes.len())
    }
}

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number of any size.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A value in a [`Document`]. Copying it copies a pointer and a position.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document,
    at: u32,
}

impl<'d> Value<'d> {
    /// The document that this value is part of.
    #[inline]
    #[must_use]
    pub fn document(self) -> &'d Document {
        self.document
    }

    /// The position of this value in its document; unique there, and stable.
    #[inline]
    #[must_use]
    pub fn position(self) -> u32 {
        self.at
    }

    /// The kind of the value.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        self.node().tag.kind()
    }

    /// The text of the value, byte for byte as received.
    #[inline]
    #[must_use]
    pub fn raw(self) -> &'d str {
        let node = self.node();
        self.document.text.get(node.start as usize..node.end as usize).unwrap_or("null")
    }

    /// The byte at which the value starts in its document.
    #[inline]
    #[must_use]
    pub fn offset(self) -> usize {
        self.node().start as usize
    }

    /// True for `null`.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        self.node().tag == Tag::Null
    }

    /// The boolean, or nothing if it is none.
    #[inline]
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.node().tag {
            Tag::True => Some(true),
            Tag::False => Some(false),
            _ => None,
        }
    }

    /// The string with escapes resolved, or nothing if it is none. Borrows when there is no escape.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        match self.node().tag {
            Tag::String => {
                let quoted = self.node().start as usize + 1..(self.node().end as usize).saturating_sub(1);
                Some(Cow::Borrowed(self.document.text.get(quoted).unwrap_or_default()))
            }
            Tag::EscapedString => Some(decode_string(self.raw())),
            _ => None,
        }
    }

    /// The bytes of a string that was written without escapes; nothing for every other value. For
    /// readers who compare many short strings.
    #[inline]
    #[must_use]
    pub fn plain_bytes(self) -> Option<&'d [u8]> {
        (self.node().tag == Tag::String).then(|| self.inner())
    }

    /// The text of the value as bytes.
    #[inline]
    #[must_use]
    pub fn raw_bytes(self) -> &'d [u8] {
        let all = self.node().start as usize..self.node().end as usize;
        self.document.text.as_bytes().get(all).unwrap_or_default()
    }

    /// The number of bytes of the value's text, without looking at the text.
    #[inline]
    #[must_use]
    pub fn raw_len(self) -> usize {
        let node = self.node();
        (node.end - node.start) as usize
    }

    /// The number as an exact decimal, or nothing if it is none.
    #[must_use]
    pub fn as_number(self) -> Option<Decimal<'d>> {
        (self.node().tag == Tag::Number).then(|| Decimal::of_valid(self.raw()))
    }

    /// The number as `i64`, if it is a whole number in that range (`5.0` and `5e0` are).
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.as_number().and_then(|number| number.to_i128()).and_then(|number| i64::try_from(number).ok())
    }

    /// The number as `u64`, if it is a whole number in that range.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.as_number().and_then(|number| number.to_i128()).and_then(|number| u64::try_from(number).ok())
    }

    /// Items of an array or members of an object; zero for everything else.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.node().count as usize
    }

    /// True when [`Value::len`] is zero.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The items of an array; none for everything else.
    #[inline]
    #[must_use]
    pub fn items(self) -> Items<'d> {
        let left = if self.node().tag == Tag::Array { self.node().count } else { 0 };
        Items { document: self.document, at: self.at + 1, left }
    }

    /// The members of an object in the order of the text; none for everything else.
    #[inline]
    #[must_use]
    pub fn members(self) -> Members<'d> {
        let left = if self.node().tag == Tag::Object { self.node().count } else { 0 };
        Members { document: self.document, at: self.at + 1, left }
    }

    /// The items as the index has them, for loops that look at many of them.
    #[inline]
    #[must_use]
    pub fn parts(self) -> Parts<'d> {
        self.part().parts()
    }

    /// The members as the index has them, for loops that look at many of them.
    #[inline]
    #[must_use]
    pub fn entries(self) -> Entries<'d> {
        self.part().entries()
    }

    /// This value as the index has it.
    #[inline]
    #[must_use]
    pub fn part(self) -> Part<'d> {
        Part { document: self.document, node: self.document.node_ref(self.at), at: self.at }
    }

    /// Calls `visit` with each member, the bytes of its name with escapes resolved and its value; for
    /// readers who tell several names apart in one pass.
    #[inline]
    pub fn each_member(self, mut visit: impl FnMut(&[u8], Value<'d>)) {
        for entry in self.entries() {
            let decoded;
            let name = match entry.name.plain_bytes() {
                Some(name) => name,
                None => {
                    decoded = entry.name.value().decoded();
                    decoded.as_bytes()
                }
            };
            visit(name, entry.value.value());
        }
    }

    /// The member of that name, in time linear in the number of members.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Value<'d>> {
        let found = self.entries().find(|entry| match entry.name.plain_bytes() {
            Some(key) => key == name.as_bytes(),
            None => *entry.name.value().decoded() == *name,
        })?;
        Some(found.value.value())
    }

    /// True when this is a string equal to `text`; does not allocate when there is no escape.
    #[must_use]
    pub fn is_str(self, text: &str) -> bool {
        match self.node().tag {
            Tag::String => self.inner() == text.as_bytes(),
            Tag::EscapedString => decode_string(self.raw()) == text,
            _ => false,
        }
    }

    /// The value at a path of member names, or nothing where the path ends early.
    #[must_use]
    pub fn path<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Option<Value<'d>> {
        names.into_iter().try_fold(self, Value::get)
    }

    /// The index of this value and of everything in it.
    pub(super) fn subtree(self) -> &'d [Node] {
        self.document.nodes.get(self.at as usize..self.node().next as usize).unwrap_or_default()
    }

    #[inline]
    fn node(self) -> Node {
        self.document.node(self.at)
    }

    /// A string that was written with escapes.
    #[cold]
    fn decoded(self) -> Cow<'d, str> {
        self.as_str().unwrap_or_default()
    }

    /// The bytes between the quotes of a string; escapes are not resolved.
    #[inline]
    fn inner(self) -> &'d [u8] {
        let node = self.node();
        let quoted = node.start as usize + 1..(node.end as usize).saturating_sub(1);
        self.document.text.as_bytes().get(quoted).unwrap_or_default()
    }
}

impl fmt::Debug for Value<'_> {
    /// Shows kind and place only: arguments and results do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({:?} at byte {})", self.kind(), self.offset())
    }
}
