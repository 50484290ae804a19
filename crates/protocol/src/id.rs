//! Request ids: compared by JSON type and value, echoed exactly as they were received.
//!
//! An id must never be `null`, never be a fraction and never pass through a float. The decoder makes
//! them; everything that correlates messages compares them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::json::{Decimal, Document, Kind, Limits, Value, push_integer, push_string};

/// Ids up to this length are kept without an allocation; counters and UUIDs in short form fit.
const INLINE_BYTES: usize = 22;

/// The id of a request: a string or a whole number, with the text that it arrived in.
///
/// `1`, `1.0` and `1e0` are one id, and so are `"a"` and `"\u0061"`; `1` and `"1"` are two.
#[derive(Clone)]
pub struct Id(Text);

#[derive(Clone)]
enum Text {
    Inline { len: u8, bytes: [u8; INLINE_BYTES] },
    Heap(Box<str>),
}

/// What an id is, by value.
enum Parts<'t> {
    Number(Decimal<'t>),
    String(std::borrow::Cow<'t, str>),
}

impl Id {
    /// The longest id that is accepted, in bytes of its JSON text. An id is echoed in each message of
    /// its request, so a long one would multiply.
    pub const MAX_BYTES: usize = 1024;

    /// Takes the id from a value, or nothing if it is no string and no whole number, or too long.
    #[must_use]
    pub fn from_value(value: Value<'_>) -> Option<Self> {
        let raw = value.raw();
        let valid = match value.kind() {
            Kind::String => true,
            // Nearly every id is a counter: digits only, which need no arithmetic.
            Kind::Number => {
                raw.bytes().all(|byte| byte.is_ascii_digit())
                    || value.as_number().is_some_and(Decimal::is_integer)
            }
            _ => false,
        };
        (valid && raw.len() <= Self::MAX_BYTES).then(|| Self::of_valid(raw))
    }

    /// Takes the id from its JSON text.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        let limits = Limits::DEFAULT.with_bytes(Self::MAX_BYTES).with_nodes(1);
        Self::from_value(Document::parse(text.trim(), &limits).ok()?.root())
    }

    /// A numeric id.
    #[must_use]
    pub fn number(number: i64) -> Self {
        let mut text = String::new();
        push_integer(&mut text, number);
        Self::of_valid(&text)
    }

    /// A string id. The text may be any string; it is escaped here.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut json = String::with_capacity(text.len() + 2);
        push_string(&mut json, text);
        Self::of_valid(&json)
    }

    /// The JSON text, exactly as received.
    #[must_use]
    pub fn as_json(&self) -> &str {
        match &self.0 {
            Text::Inline { len, bytes } => bytes
                .get(..usize::from(*len))
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .unwrap_or_default(),
            Text::Heap(text) => text,
        }
    }

    /// The length of that text in bytes.
    pub(crate) fn json_len(&self) -> usize {
        match &self.0 {
            Text::Inline { len, .. } => usize::from(*len),
            Text::Heap(text) => text.len(),
        }
    }

    /// True for a string id.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.as_json().starts_with('"')
    }

    fn of_valid(text: &str) -> Self {
        let mut bytes = [0; INLINE_BYTES];
        match bytes.get_mut(..text.len()) {
            Some(start) => {
                start.copy_from_slice(text.as_bytes());
                // The slice above exists only for texts of at most 22 bytes.
                Self(Text::Inline { len: text.len() as u8, bytes })
            }
            None => Self(Text::Heap(text.into())),
        }
    }

    fn parts(&self) -> Parts<'_> {
        let text = self.as_json();
        match Decimal::parse(text) {
            Some(number) => Parts::Number(number),
            None => Parts::String(crate::json::unescape(text)),
        }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        // The same text is the same id; only differing texts need to be understood.
        self.as_json() == other.as_json() || self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.parts() {
            Parts::Number(number) => {
                state.write_u8(0);
                number.is_negative().hash(state);
                number.scale().hash(state);
                for digit in number.digits() {
                    state.write_u8(digit);
                }
                state.write_u8(0xff);
            }
            Parts::String(text) => {
                state.write_u8(1);
                text.hash(state);
            }
        }
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Id {
    /// Numbers come before strings.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.parts(), other.parts()) {
            (Parts::Number(one), Parts::Number(another)) => one.cmp(&another),
            (Parts::String(one), Parts::String(another)) => one.cmp(&another),
            (Parts::Number(_), Parts::String(_)) => Ordering::Less,
            (Parts::String(_), Parts::Number(_)) => Ordering::Greater,
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.as_json())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}
