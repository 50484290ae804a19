//! The parser: one pass over the text, an explicit stack, and a bound on everything that grows.
//!
//! It must never recurse and never allocate more than the bounds allow. Only
//! [`Document::parse`](super::Document::parse) calls it. It runs for every message and for every
//! structured result, so the cursor is a local variable and names are compared only where their hashes
//! meet.

mod token;

use smallvec::SmallVec;

use super::bounds::{Limits, ParseError, ParseErrorKind};
use super::value::{Node, Tag, decode_string};
use token::{Refusal, byte, skip_space, unexpected};

/// Above this many members an object is checked for duplicates by sorting instead of by pairs.
const PAIRWISE_MEMBERS: u32 = 8;

pub(super) fn parse(text: &str, limits: &Limits) -> Result<Vec<Node>, ParseError> {
    if text.len() > limits.bytes || u32::try_from(text.len()).is_err() {
        return Err(ParseError { offset: limits.bytes.min(text.len()), kind: ParseErrorKind::TooLong });
    }
    let nodes = Vec::with_capacity((text.len() / 12 + 4).min(limits.nodes));
    let mut parser =
        Parser { text, limits, nodes, depth: 0, innermost: Open::OUTSIDE, outer: SmallVec::new() };
    match parser.run() {
        Ok(()) => Ok(parser.nodes),
        Err(Refusal { offset, kind }) => Err(ParseError { offset, kind }),
    }
}

struct Parser<'t> {
    text: &'t str,
    limits: &'t Limits,
    nodes: Vec<Node>,
    /// How many containers are not closed yet.
    depth: usize,
    /// The innermost of them, which nearly every step looks at.
    innermost: Open,
    /// Those around it.
    outer: SmallVec<[Open; 8]>,
}

/// A container that is not closed yet.
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
    fn run(&mut self) -> Result<(), Refusal> {
        let bytes = self.text.as_bytes();
        let mut at = skip_space(bytes, 0);
        loop {
            // The cursor stands on the first byte of a value.
            let start = at;
            let tag;
            match byte(bytes, at) {
                b'"' => (at, tag) = token::string(bytes, at)?,
                b'{' => {
                    if let Some(first) = self.open(bytes, at, Tag::Object, b'}')? {
                        at = self.member_name(bytes, first)?;
                        continue;
                    }
                    at = self.end_of_last();
                    tag = Tag::Object;
                }
                b'[' => {
                    if let Some(first) = self.open(bytes, at, Tag::Array, b']')? {
                        at = first;
                        continue;
                    }
                    at = self.end_of_last();
                    tag = Tag::Array;
                }
                b'-' | b'0'..=b'9' => {
                    at = token::number(bytes, at, self.limits.number_bytes)?;
                    tag = Tag::Number;
                }
                b't' => (at, tag) = (token::literal(bytes, at, b"true")?, Tag::True),
                b'f' => (at, tag) = (token::literal(bytes, at, b"false")?, Tag::False),
                b'n' => (at, tag) = (token::literal(bytes, at, b"null")?, Tag::Null),
                _ => return Err(unexpected(bytes, at)),
            }
            if !matches!(tag, Tag::Object | Tag::Array) {
                self.push(start, at, tag)?;
            }
            match self.after_value(bytes, at)? {
                Next::Value(next) => at = next,
                Next::End(end) => {
                    let end = skip_space(bytes, end);
                    if end < bytes.len() {
                        return Err(Refusal { offset: end, kind: ParseErrorKind::TrailingText });
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Opens a container: the place of its first part, or nothing when it is empty and so closed again.
    fn open(&mut self, bytes: &[u8], at: usize, tag: Tag, end: u8) -> Result<Option<usize>, Refusal> {
        if self.depth >= self.limits.depth {
            return Err(Refusal { offset: at, kind: ParseErrorKind::TooDeep });
        }
        let index = self.push(at, at, tag)?;
        let first = skip_space(bytes, at + 1);
        if byte(bytes, first) == end {
            self.close(index, 0, first + 1);
            return Ok(None);
        }
        let is_object = tag == Tag::Object;
        let container = Open { index, is_object, ..Open::OUTSIDE };
        self.outer.push(std::mem::replace(&mut self.innermost, container));
        self.depth += 1;
        Ok(Some(first))
    }

    /// Closes every container that ends after the value before the cursor, or finds the next value.
    fn after_value(&mut self, bytes: &[u8], mut at: usize) -> Result<Next, Refusal> {
        loop {
            if self.depth == 0 {
                return Ok(Next::End(at));
            }
            self.innermost.count += 1;
            let is_object = self.innermost.is_object;
            at = skip_space(bytes, at);
            match byte(bytes, at) {
                b',' => {
                    let next = skip_space(bytes, at + 1);
                    return Ok(Next::Value(if is_object { self.member_name(bytes, next)? } else { next }));
                }
                b'}' if is_object => {}
                b']' if !is_object => {}
                _ => return Err(unexpected(bytes, at)),
            }
            at += 1;
            self.depth -= 1;
            let container = std::mem::replace(&mut self.innermost, self.outer.pop().unwrap_or(Open::OUTSIDE));
            self.close(container.index, container.count, at);
            if container.names_collide {
                self.refuse_duplicates(container.index)?;
            }
        }
    }

    /// Reads a member name and its colon, and gives the place of its value.
    fn member_name(&mut self, bytes: &[u8], start: usize) -> Result<usize, Refusal> {
        if byte(bytes, start) != b'"' {
            return Err(unexpected(bytes, start));
        }
        let (end, tag) = token::string(bytes, start)?;
        self.push(start, end, tag)?;
        let bit = if tag == Tag::String { name_bit(bytes, start, end) } else { 0 };
        let object = &mut self.innermost;
        object.names_collide |= bit == 0 || object.names & bit != 0;
        object.names |= bit;
        let colon = skip_space(bytes, end);
        if byte(bytes, colon) != b':' {
            return Err(unexpected(bytes, colon));
        }
        Ok(skip_space(bytes, colon + 1))
    }

    /// The end of the container that was opened and closed at once.
    fn end_of_last(&self) -> usize {
        self.nodes.last().map_or(0, |node| node.end as usize)
    }

    #[expect(clippy::indexing_slicing, reason = "callers pass only indices that `push` returned")]
    fn close(&mut self, container: u32, count: u32, end: usize) {
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[container as usize];
        (node.end, node.next, node.count) = (end as u32, next, count);
    }

    fn push(&mut self, start: usize, end: usize, tag: Tag) -> Result<u32, Refusal> {
        let index = self.nodes.len();
        if index >= self.limits.nodes {
            return Err(Refusal { offset: start, kind: ParseErrorKind::TooManyNodes });
        }
        // The text is shorter than 4 GiB (checked on entry), and there are fewer nodes than bytes.
        let index = index as u32;
        self.nodes.push(Node { start: start as u32, end: end as u32, next: index + 1, count: 0, tag });
        Ok(index)
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

/// What follows a value.
enum Next {
    /// Another value, at this place.
    Value(usize),
    /// Nothing: the outermost value is complete and ends here.
    End(usize),
}

/// The bit of a name without escapes, by its length and its last bytes; equal names have one bit.
/// None for a name too near to the start of the text to be read in one word.
fn name_bit(bytes: &[u8], start: usize, end: usize) -> u64 {
    let Some(window) = end.checked_sub(8).and_then(|from| bytes.get(from..end)) else { return 0 };
    let word = u64::from_le_bytes(window.try_into().unwrap_or_default());
    let length = end - start;
    // A short name shares the window with what stands before it, which is shifted out.
    let word = if length < 8 { word >> (64 - 8 * length) } else { word };
    // This multiplier also keeps the names of JSON-RPC envelopes and of request metadata apart.
    let hash = (word ^ length as u64).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    1 << (hash >> 58)
}
