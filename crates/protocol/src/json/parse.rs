//! The parser: one pass over the text, an explicit stack, and a bound on everything that grows.
//!
//! It must never recurse and never allocate more than the bounds allow. Only
//! [`Document::parse`](super::Document::parse) calls it.

use smallvec::SmallVec;

use super::bounds::{Limits, ParseError, ParseErrorKind};
use super::scan::plain_prefix;
use super::value::{Node, Tag, decode_string};

/// Above this many members an object is checked for duplicates by sorting instead of by pairs.
const PAIRWISE_MEMBERS: u32 = 8;

/// Exponents beyond this magnitude have no use and would only make exact comparison costly.
const EXPONENT_MAGNITUDE: u64 = 1_000_000;

pub(super) fn parse(text: &str, limits: &Limits) -> Result<Vec<Node>, ParseError> {
    if text.len() > limits.bytes || u32::try_from(text.len()).is_err() {
        return Err(ParseError { offset: limits.bytes.min(text.len()), kind: ParseErrorKind::TooLong });
    }
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        limits,
        nodes: Vec::with_capacity((text.len() / 12 + 4).min(limits.nodes)),
        open: SmallVec::new(),
    };
    match parser.run() {
        Ok(()) => Ok(parser.nodes),
        Err(kind) => Err(ParseError { offset: parser.at, kind }),
    }
}

/// Its functions return only the kind of a refusal, which fits a register; the place is the cursor.
struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    limits: &'t Limits,
    nodes: Vec<Node>,
    /// The containers that are not closed yet.
    open: SmallVec<[Open; 8]>,
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

impl Parser<'_> {
    fn run(&mut self) -> Result<(), ParseErrorKind> {
        loop {
            self.skip_space();
            let opened = self.value()?;
            if opened {
                // A container was opened and is not empty: its first part comes next.
                continue;
            }
            if self.close_and_advance()? {
                break;
            }
        }
        self.skip_space();
        if self.at < self.bytes.len() {
            return Err(ParseErrorKind::TrailingText);
        }
        Ok(())
    }

    /// Reads one value, or opens a container. True means that a container with parts was opened and
    /// the cursor stands before its first value.
    fn value(&mut self) -> Result<bool, ParseErrorKind> {
        match self.peek() {
            Some(b'{') => self.open(Tag::Object, b'}'),
            Some(b'[') => self.open(Tag::Array, b']'),
            Some(b'"') => self.string().map(|()| false),
            Some(b't') => self.literal("true", Tag::True).map(|()| false),
            Some(b'f') => self.literal("false", Tag::False).map(|()| false),
            Some(b'n') => self.literal("null", Tag::Null).map(|()| false),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| false),
            Some(_) => Err(ParseErrorKind::UnexpectedCharacter),
            None => Err(ParseErrorKind::UnexpectedEnd),
        }
    }

    /// After a value: closes every container that ends here, or moves past a comma to the next value.
    /// True means that the outermost value is complete.
    fn close_and_advance(&mut self) -> Result<bool, ParseErrorKind> {
        loop {
            let Some(container) = self.open.last_mut() else { return Ok(true) };
            container.count += 1;
            let is_object = container.is_object;
            self.skip_space();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    if is_object {
                        self.skip_space();
                        self.member_name()?;
                    }
                    return Ok(false);
                }
                Some(b'}') if is_object => self.close()?,
                Some(b']') if !is_object => self.close()?,
                Some(_) => return Err(ParseErrorKind::UnexpectedCharacter),
                None => return Err(ParseErrorKind::UnexpectedEnd),
            }
        }
    }

    fn open(&mut self, tag: Tag, end: u8) -> Result<bool, ParseErrorKind> {
        if self.open.len() >= self.limits.depth {
            return Err(ParseErrorKind::TooDeep);
        }
        let index = self.push(self.at, self.at, tag)?;
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(end) {
            self.at += 1;
            self.close_node(index, 0);
            return Ok(false);
        }
        let is_object = tag == Tag::Object;
        self.open.push(Open { index, count: 0, is_object, names: 0, names_collide: false });
        if is_object {
            self.member_name()?;
        }
        Ok(true)
    }

    /// Reads a member name and its colon.
    fn member_name(&mut self) -> Result<(), ParseErrorKind> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(_) => return Err(ParseErrorKind::UnexpectedCharacter),
            None => return Err(ParseErrorKind::UnexpectedEnd),
        }
        let bit = self.name_bit(start);
        if let Some(object) = self.open.last_mut() {
            object.names_collide |= bit == 0 || object.names & bit != 0;
            object.names |= bit;
        }
        self.skip_space();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return Err(ParseErrorKind::UnexpectedCharacter),
            None => return Err(ParseErrorKind::UnexpectedEnd),
        }
        Ok(())
    }

    /// The bit of the name that was just read, by its length and its last bytes; equal names have one
    /// bit. None for a name with escapes, which may be equal to another one that is spelled otherwise.
    fn name_bit(&self, start: usize) -> u64 {
        let plain = self.nodes.last().is_some_and(|name| name.tag == Tag::String);
        let window = self.at.checked_sub(8).and_then(|from| self.bytes.get(from..self.at));
        let (true, Some(window)) = (plain, window) else { return 0 };
        let word = u64::from_le_bytes(window.try_into().unwrap_or_default());
        let length = self.at - start;
        // A short name shares the window with what stands before it, which is shifted out.
        let word = if length < 8 { word >> (64 - 8 * length) } else { word };
        // This multiplier also keeps the names of JSON-RPC envelopes and of request metadata apart.
        let hash = (word ^ length as u64).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        1 << (hash >> 58)
    }

    /// Closes the innermost container, on its last character.
    fn close(&mut self) -> Result<(), ParseErrorKind> {
        self.at += 1;
        if let Some(container) = self.open.pop() {
            self.close_node(container.index, container.count);
            if container.names_collide {
                self.refuse_duplicates(container.index)?;
            }
        }
        Ok(())
    }

    fn close_node(&mut self, container: u32, count: u32) {
        let end = self.at as u32;
        let next = self.nodes.len() as u32;
        let node = self.node_mut(container);
        node.end = end;
        node.next = next;
        node.count = count;
    }

    fn string(&mut self) -> Result<(), ParseErrorKind> {
        let start = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += plain_prefix(rest);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(ParseErrorKind::String),
                None => return Err(ParseErrorKind::UnexpectedEnd),
            }
        }
        self.at += 1;
        self.push(start, self.at, if escaped { Tag::EscapedString } else { Tag::String })?;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), ParseErrorKind> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let unit = self.hex_unit()?;
                match unit {
                    0xD800..=0xDBFF => {
                        if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
                            return Err(ParseErrorKind::Surrogate);
                        }
                        self.at += 1;
                        if !(0xDC00..=0xDFFF).contains(&self.hex_unit()?) {
                            return Err(ParseErrorKind::Surrogate);
                        }
                    }
                    0xDC00..=0xDFFF => return Err(ParseErrorKind::Surrogate),
                    _ => {}
                }
            }
            Some(_) => return Err(ParseErrorKind::String),
            None => return Err(ParseErrorKind::UnexpectedEnd),
        }
        Ok(())
    }

    /// Reads `uXXXX` with the cursor on the `u`.
    fn hex_unit(&mut self) -> Result<u16, ParseErrorKind> {
        let digits = self
            .text
            .get(self.at + 1..self.at + 5)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .ok_or(ParseErrorKind::String)?;
        self.at += 5;
        u16::from_str_radix(digits, 16).map_err(|_| ParseErrorKind::String)
    }

    fn number(&mut self) -> Result<(), ParseErrorKind> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(ParseErrorKind::Number),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let exponent_at = self.at;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits()?;
            let exponent = self.text.get(exponent_at..self.at).and_then(|text| text.parse::<i64>().ok());
            if exponent.is_none_or(|exponent| exponent.unsigned_abs() > EXPONENT_MAGNITUDE) {
                return Err(self.refuse_at(start, ParseErrorKind::NumberRange));
            }
        }
        if self.at - start > self.limits.number_bytes {
            return Err(self.refuse_at(start, ParseErrorKind::NumberRange));
        }
        // `01`, `1.` and `1x` end here and are refused by whoever expects a separator.
        self.push(start, self.at, Tag::Number)?;
        Ok(())
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), ParseErrorKind> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(ParseErrorKind::Number) } else { Ok(()) }
    }

    fn literal(&mut self, word: &str, tag: Tag) -> Result<(), ParseErrorKind> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end) != Some(word.as_bytes()) {
            return Err(ParseErrorKind::UnexpectedCharacter);
        }
        let start = self.at;
        self.at = end;
        self.push(start, end, tag)?;
        Ok(())
    }

    fn push(&mut self, start: usize, end: usize, tag: Tag) -> Result<u32, ParseErrorKind> {
        let index = self.nodes.len();
        if index >= self.limits.nodes {
            return Err(self.refuse_at(start, ParseErrorKind::TooManyNodes));
        }
        // The text is shorter than 4 GiB (checked on entry), and there are fewer nodes than bytes.
        let index = index as u32;
        self.nodes.push(Node { start: start as u32, end: end as u32, next: index + 1, count: 0, tag });
        Ok(index)
    }

    fn refuse_duplicates(&mut self, object: u32) -> Result<(), ParseErrorKind> {
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
                let start = self.node(name).start as usize;
                Err(self.refuse_at(start, ParseErrorKind::DuplicateMember))
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

    #[expect(clippy::indexing_slicing, reason = "callers pass only indices that `push` returned")]
    fn node_mut(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index as usize]
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Puts the cursor, which tells where parsing stopped, on an earlier place.
    fn refuse_at(&mut self, start: usize, kind: ParseErrorKind) -> ParseErrorKind {
        self.at = start;
        kind
    }
}
