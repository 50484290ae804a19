//! The parser: one pass over the text, an explicit stack, and a bound on everything that grows.
//!
//! It must never recurse and never allocate more than the bounds allow. Only
//! [`Document::parse`](super::Document::parse) calls it. It runs for every message and for every
//! structured result, so the cursor is a local variable and names are compared only where their hashes
//! meet.

mod token;

use smallvec::SmallVec;

use super::bounds::{Limits, ParseError, ParseErrorKind};
use super::memory::Familiar;
use super::value::{Node, Tag, decode_string};
use token::{Refusal, byte, skip_space, unexpected};

/// Above this many members an object is checked for duplicates by sorting instead of by pairs.
const PAIRWISE_MEMBERS: u32 = 8;

/// Parses a text into `nodes`, which are empty. `familiar` is an object that an earlier text had where this
/// one may have it again.
pub(super) fn parse(
    text: &str,
    limits: &Limits,
    mut nodes: Vec<Node>,
    familiar: Option<&Familiar>,
) -> Result<Parsed, ParseError> {
    if text.len() > limits.bytes || u32::try_from(text.len()).is_err() {
        return Err(ParseError { offset: limits.bytes.min(text.len()), kind: ParseErrorKind::TooLong });
    }
    nodes.reserve((text.len() / 12 + 4).min(limits.nodes));
    let room = nodes.capacity().min(limits.nodes);
    let outer = SmallVec::new();
    let mut parser = Parser { text, limits, nodes, room, familiar, recognized: false, outer };
    match parser.run() {
        Ok(()) => Ok(Parsed { nodes: parser.nodes, recognized: parser.recognized }),
        Err(Refusal { offset, kind }) => Err(ParseError { offset, kind }),
    }
}

/// What the parser makes of a text.
pub(super) struct Parsed {
    pub(super) nodes: Vec<Node>,
    /// True when the familiar object was in the text.
    pub(super) recognized: bool,
}

/// How many containers are around the object that messages repeat: `_meta` stands in `params`.
const FAMILIAR_DEPTH: usize = 2;

struct Parser<'t> {
    text: &'t str,
    limits: &'t Limits,
    nodes: Vec<Node>,
    /// How many nodes there may be before the index has to grow.
    room: usize,
    familiar: Option<&'t Familiar>,
    recognized: bool,
    /// The containers around the innermost one; the first stands for what is around the outermost value.
    outer: SmallVec<[Open; 8]>,
}

/// A container that is not closed yet.
#[derive(Clone, Copy)]
struct Open {
    index: u32,
    count: u32,
    is_object: bool,
    /// One bit for each member name so far, chosen by a hash of the name.
    names: u64,
    /// True when two names chose the same bit, so that the names themselves must be compared.
    names_collide: bool,
}

impl Open {
    /// What stands around the outermost value.
    const OUTSIDE: Self = Self { index: 0, count: 0, is_object: false, names: 0, names_collide: false };
}

impl Parser<'_> {
    /// One step for each value, with its name where it is the member of an object. The innermost
    /// container is a local variable, because nearly every line looks at it.
    fn run(&mut self) -> Result<(), Refusal> {
        let bytes = self.text.as_bytes();
        let mut at = skip_space(bytes, 0);
        let mut inner = Open::OUTSIDE;
        loop {
            if inner.is_object {
                at = self.member_name(bytes, at, &mut inner)?;
            }
            // The cursor stands on the first byte of a value.
            let start = at;
            match byte(bytes, at) {
                b'"' => {
                    let tag;
                    (at, tag) = token::string(bytes, at)?;
                    self.push(start, at, tag)?;
                }
                b'{' if self.outer.len() == FAMILIAR_DEPTH && self.recognize(bytes, &mut at) => {}
                opening @ (b'{' | b'[') => {
                    let is_object = opening == b'{';
                    let (tag, end) = if is_object { (Tag::Object, b'}') } else { (Tag::Array, b']') };
                    if self.outer.len() >= self.limits.depth {
                        return Err(Refusal { offset: at, kind: ParseErrorKind::TooDeep });
                    }
                    let index = self.push(at, at, tag)?;
                    at = skip_space(bytes, at + 1);
                    if byte(bytes, at) != end {
                        self.outer.push(inner);
                        inner = Open { index, is_object, ..Open::OUTSIDE };
                        continue;
                    }
                    // An empty container is closed at once.
                    at += 1;
                    self.close(index, 0, at);
                }
                b'-' | b'0'..=b'9' => {
                    at = token::number(bytes, at, self.limits.number_bytes)?;
                    self.push(start, at, Tag::Number)?;
                }
                other => {
                    let (word, tag): (&[u8], Tag) = match other {
                        b't' => (b"true", Tag::True),
                        b'f' => (b"false", Tag::False),
                        b'n' => (b"null", Tag::Null),
                        _ => return Err(unexpected(bytes, at)),
                    };
                    at = token::literal(bytes, at, word)?;
                    self.push(start, at, tag)?;
                }
            }
            // Closes every container that ends after this value.
            loop {
                at = skip_space(bytes, at);
                inner.count += 1;
                match byte(bytes, at) {
                    // A comma outside of every container is text after the value.
                    b',' if !self.outer.is_empty() => {
                        at = skip_space(bytes, at + 1);
                        break;
                    }
                    b'}' if inner.is_object => {}
                    b']' if !inner.is_object && !self.outer.is_empty() => {}
                    _ if !self.outer.is_empty() => return Err(unexpected(bytes, at)),
                    _ if at < bytes.len() => {
                        return Err(Refusal { offset: at, kind: ParseErrorKind::TrailingText });
                    }
                    _ => return Ok(()),
                }
                at += 1;
                self.close(inner.index, inner.count, at);
                if inner.names_collide {
                    self.refuse_duplicates(inner.index)?;
                }
                inner = self.outer.pop().unwrap_or(Open::OUTSIDE);
            }
        }
    }

    /// Reads a member name and its colon, and gives the place of its value.
    #[inline(always)]
    fn member_name(&mut self, bytes: &[u8], start: usize, object: &mut Open) -> Result<usize, Refusal> {
        if byte(bytes, start) != b'"' {
            return Err(unexpected(bytes, start));
        }
        let (end, tag) = token::string(bytes, start)?;
        self.push(start, end, tag)?;
        let bit = if tag == Tag::String { name_bit(bytes, start, end) } else { 0 };
        object.names_collide |= bit == 0 || object.names & bit != 0;
        object.names |= bit;
        let colon = if byte(bytes, end) == b':' { end } else { skip_space(bytes, end) };
        if byte(bytes, colon) != b':' {
            return Err(unexpected(bytes, colon));
        }
        Ok(skip_space(bytes, colon + 1))
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "callers pass only indices that `push` returned")]
    fn close(&mut self, container: u32, count: u32, end: usize) {
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[container as usize];
        (node.end, node.next, node.count) = (end as u32, next, count);
    }

    #[inline(always)]
    fn push(&mut self, start: usize, end: usize, tag: Tag) -> Result<u32, Refusal> {
        if self.nodes.len() >= self.room {
            self.grow(start)?;
        }
        // The text is shorter than 4 GiB (checked on entry), and there are fewer nodes than bytes.
        let index = self.nodes.len() as u32;
        self.nodes.push(Node { start: start as u32, end: end as u32, next: index + 1, count: 0, tag });
        Ok(index)
    }

    /// Takes over the index of the familiar object, if it stands here.
    fn recognize(&mut self, bytes: &[u8], at: &mut usize) -> bool {
        let Some((end, nodes)) = self.familiar.and_then(|familiar| familiar.at(bytes, *at)) else {
            return false;
        };
        // Where there is no room for all of it, it is parsed up to the node that is one too many.
        if nodes.len() > self.limits.nodes.saturating_sub(self.nodes.len()) {
            return false;
        }
        // Texts and indexes are shorter than 4 GiB.
        let (offset, index) = (*at as u32, self.nodes.len() as u32);
        let (offset, index) = (offset.wrapping_neg(), index.wrapping_neg());
        self.nodes.extend(nodes.iter().map(|node| node.moved(offset, index)));
        self.room = self.nodes.capacity().min(self.limits.nodes);
        self.recognized = true;
        *at = end;
        true
    }

    /// Makes room for more nodes, never for more than the bound; only a full index has to be held against it.
    #[cold]
    fn grow(&mut self, start: usize) -> Result<(), Refusal> {
        if self.nodes.len() >= self.limits.nodes {
            return Err(Refusal { offset: start, kind: ParseErrorKind::TooManyNodes });
        }
        self.nodes.reserve(self.nodes.len().max(8));
        self.room = self.nodes.capacity().min(self.limits.nodes);
        Ok(())
    }

    #[cold]
    fn refuse_duplicates(&self, object: u32) -> Result<(), Refusal> {
        let count = self.node(object).count;
        let mut names: SmallVec<[u32; 16]> = SmallVec::new();
        let mut at = object + 1;
        for _ in 0..count {
            names.push(at);
            at = self.node(at + 1).next;
        }
        let duplicate = if count <= PAIRWISE_MEMBERS {
            names.iter().enumerate().find_map(|(later, &name)| {
                names.iter().take(later).any(|&earlier| self.same_name(earlier, name)).then_some(name)
            })
        } else {
            let mut decoded: Vec<_> = names.iter().map(|&name| (self.name(name), name)).collect();
            decoded.sort_unstable();
            decoded.windows(2).find_map(|pair| match pair {
                [(earlier, _), (later, at)] if earlier == later => Some(*at),
                _ => None,
            })
        };
        match duplicate {
            Some(name) => {
                let offset = self.node(name).start as usize;
                Err(Refusal { offset, kind: ParseErrorKind::DuplicateMember })
            }
            None => Ok(()),
        }
    }

    fn same_name(&self, one: u32, other: u32) -> bool {
        let (one, other) = (self.node(one), self.node(other));
        if one.tag() == Tag::String && other.tag() == Tag::String {
            self.slice(one) == self.slice(other)
        } else {
            decode_string(self.slice(one)) == decode_string(self.slice(other))
        }
    }

    fn name(&self, at: u32) -> std::borrow::Cow<'_, str> {
        decode_string(self.slice(self.node(at)))
    }

    fn slice(&self, node: Node) -> &str {
        self.text.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    fn node(&self, index: u32) -> Node {
        self.nodes.get(index as usize).copied().unwrap_or(Node::NULL)
    }
}

/// The bit of a name without escapes, by its length and its first and last byte; equal names have one bit.
/// Names of an ordinary object mostly have bits of their own, which is all that is needed.
#[inline]
fn name_bit(bytes: &[u8], start: usize, end: usize) -> u64 {
    // The byte after the opening quote and the one before the closing quote; the quotes of an empty name.
    let first = usize::from(byte(bytes, start + 1));
    let last = usize::from(byte(bytes, end - 2));
    1 << ((first ^ (last << 2) ^ (end - start)) & 63)
}
