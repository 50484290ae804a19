//! Canonical JSON: the key order and escaping of RFC 8785, and numbers as exact decimals.
//!
//! Where a number is exactly what a double prints, the text is that of RFC 8785; where the RFC
//! would round, every digit stays. It must never build more of the text than its caller asks for,
//! and never recurse: depth is the parser's bound, not the stack's. Only the digest calls it.

use std::borrow::Cow;
use std::vec;

use callgate_protocol::json::{Decimal, Items, Kind, Members, Value, escape_into};
use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;

/// Where canonical text goes.
pub(super) trait Sink {
    fn push(&mut self, text: &str);
}

impl Sink for String {
    fn push(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl Sink for Sha256 {
    fn push(&mut self, text: &str) {
        self.update(text.as_bytes());
    }
}

/// The canonical text of a value, for people and tests; digests are made without building it.
#[must_use]
pub fn canonical(value: Value<'_>) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// A container whose end is not written yet.
enum Open<'d> {
    Array(Items<'d>),
    /// Its members stand in canonical order already.
    Ordered(Members<'d>),
    Sorted(vec::IntoIter<(Cow<'d, str>, Value<'d>)>),
}

/// The name of a member, as it was received or with its escapes resolved.
enum Name<'d> {
    Raw(Value<'d>),
    Text(Cow<'d, str>),
}

/// The containers that are open. Arguments are rarely deeper, and then nothing is allocated.
type Stack<'d> = SmallVec<[Open<'d>; 4]>;

pub(super) fn write(value: Value<'_>, sink: &mut impl Sink) {
    let mut open = Stack::new();
    let mut scratch = String::new();
    begin(value, sink, &mut open, &mut scratch);
    while let Some(container) = open.last_mut() {
        let next = match container {
            Open::Array(items) => items.next().map(|item| (None, item)),
            Open::Ordered(members) => members.next().map(|(name, member)| (Some(Name::Raw(name)), member)),
            Open::Sorted(members) => members.next().map(|(name, member)| (Some(Name::Text(name)), member)),
        };
        match (next, container) {
            (Some((name, part)), _) => {
                // The separator of the first part was written with the opening bracket.
                if let Some(name) = name {
                    match name {
                        Name::Raw(name) => raw_string(name, sink, &mut scratch),
                        Name::Text(name) => string(&name, sink, &mut scratch),
                    }
                    sink.push(":");
                }
                begin(part, sink, &mut open, &mut scratch);
            }
            (None, Open::Array(_)) => {
                sink.push("]");
                open.pop();
                separate(sink, &open);
            }
            (None, Open::Ordered(_) | Open::Sorted(_)) => {
                sink.push("}");
                open.pop();
                separate(sink, &open);
            }
        }
    }
}

/// Writes a scalar, or the opening bracket of a container and puts it on the stack.
fn begin<'d>(value: Value<'d>, sink: &mut impl Sink, open: &mut Stack<'d>, scratch: &mut String) {
    match value.kind() {
        Kind::Array => {
            sink.push("[");
            open.push(Open::Array(value.items()));
            return;
        }
        Kind::Object if is_canonical(value) => sink.push(value.raw()),
        Kind::Object => {
            sink.push("{");
            if is_ordered(value) {
                open.push(Open::Ordered(value.members()));
                return;
            }
            let mut members: Vec<_> =
                value.members().map(|(name, member)| (name.as_str().unwrap_or_default(), member)).collect();
            members.sort_unstable_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            open.push(Open::Sorted(members.into_iter()));
            return;
        }
        Kind::String => raw_string(value, sink, scratch),
        Kind::Number => {
            if let Some(decimal) = value.as_number() {
                number(decimal, sink, scratch);
            }
        }
        Kind::Null | Kind::Boolean => sink.push(value.raw()),
    }
    separate(sink, open);
}

/// True for an object whose text can be seen to be canonical already: no space, names in order, and only
/// values that have one spelling. Most arguments are such objects.
fn is_canonical(object: Value<'_>) -> bool {
    // The brackets, and a comma after each member but the last.
    let mut length = 2 + object.len().saturating_sub(1);
    let mut before: Option<&[u8]> = None;
    for entry in object.entries() {
        // The order of bytes is that of UTF-16 code units only for some names, ASCII among them.
        let Some(name) = entry.name.plain_bytes().filter(|name| name.is_ascii()) else { return false };
        if before.is_some_and(|before| before >= name) {
            return false;
        }
        before = Some(name);
        let has_one_spelling = match entry.value.kind() {
            Kind::Null | Kind::Boolean => true,
            Kind::String => entry.value.is_plain(),
            Kind::Number | Kind::Array | Kind::Object => false,
        };
        if !has_one_spelling {
            return false;
        }
        // The quotes of the name, and the colon.
        length += name.len() + 3 + entry.value.raw_len();
    }
    length == object.raw_len()
}

/// True when the members stand in the order of their UTF-16 code units. Names of ASCII letters are in
/// that order when their bytes are, which spares most objects the sorting and its memory.
fn is_ordered(object: Value<'_>) -> bool {
    if object.len() < 2 {
        return true;
    }
    let mut before: Option<Cow<'_, str>> = None;
    for (name, _) in object.members() {
        let name = name.as_str().unwrap_or_default();
        if let Some(before) = &before
            && before.encode_utf16().ge(name.encode_utf16())
        {
            return false;
        }
        before = Some(name);
    }
    true
}

/// After a complete part: the comma before the next one, if the container has a next one.
fn separate(sink: &mut impl Sink, open: &[Open<'_>]) {
    let more = match open.last() {
        Some(Open::Array(items)) => items.len() > 0,
        Some(Open::Ordered(members)) => members.len() > 0,
        Some(Open::Sorted(members)) => members.len() > 0,
        None => false,
    };
    if more {
        sink.push(",");
    }
}

/// Writes a string that was received. Without escapes it is in canonical form already, quotes and all,
/// because whatever must be escaped was.
fn raw_string(value: Value<'_>, sink: &mut impl Sink, scratch: &mut String) {
    if value.plain_bytes().is_some() {
        sink.push(value.raw());
    } else if let Some(text) = value.as_str() {
        string(&text, sink, scratch);
    }
}

fn string(text: &str, sink: &mut impl Sink, scratch: &mut String) {
    scratch.clear();
    scratch.push('"');
    escape_into(scratch, text);
    scratch.push('"');
    sink.push(scratch);
}

/// Exponents up to which digits are written without one, as ECMAScript prints numbers.
const PLAIN_DIGITS: i64 = 21;

/// Zeros after the point up to which a small number is written without an exponent.
const LEADING_ZEROS: i64 = 6;

/// Writes a number in the layout of ECMAScript, with all of its digits.
fn number(decimal: Decimal<'_>, sink: &mut impl Sink, text: &mut String) {
    text.clear();
    if decimal.is_zero() {
        sink.push("0");
        return;
    }
    if decimal.is_negative() {
        text.push('-');
    }
    let digits = decimal.digits().map(|digit| char::from(b'0' + digit));
    let precision = decimal.precision() as i64;
    // The number is 0.d1d2d3... times ten to this power.
    let point = decimal.scale() + precision;
    if (1..=PLAIN_DIGITS).contains(&point) {
        for (at, digit) in (0_i64..).zip(digits) {
            if at == point {
                text.push('.');
            }
            text.push(digit);
        }
        text.extend((precision..point).map(|_| '0'));
    } else if (-LEADING_ZEROS + 1..=0).contains(&point) {
        text.push_str("0.");
        text.extend((point..0).map(|_| '0'));
        text.extend(digits);
    } else {
        for (at, digit) in digits.enumerate() {
            if at == 1 {
                text.push('.');
            }
            text.push(digit);
        }
        text.push('e');
        text.push(if point > 0 { '+' } else { '-' });
        text.push_str(&(point - 1).unsigned_abs().to_string());
    }
    sink.push(text);
}
