//! What tells short texts apart without a call to compare memory.
//!
//! It must never call two texts equal that are not: whoever compares longer ones compares their bytes too.
//! The view of a value takes fingerprints, the schema evaluator compares them.

/// The length, beginning and end of a text: all of one that is short. Most comparisons of names and words
/// end here, without a call to compare memory.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint {
    pub(super) length: usize,
    /// Which bits of the first eight bytes belong to the text.
    pub(super) mask: u64,
    /// The first eight bytes, the first in the lowest place; zeros where there are fewer.
    pub(super) first: u64,
    /// The last eight bytes of a text that has more than eight.
    pub(super) last: u64,
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
    pub(super) fn in_text(bytes: &[u8], start: usize, end: usize) -> Self {
        let length = end.wrapping_sub(start);
        let first = Self::first_word(bytes, start);
        // What stands behind a shorter text is no part of it.
        let mask = if length < 8 { !(u64::MAX << (8 * length)) } else { u64::MAX };
        let last = if length > 8 { Self::last_word(bytes, end) } else { 0 };
        Self { length, mask, first: first & mask, last }
    }

    /// The eight bytes from a place on.
    #[inline(always)]
    pub(super) fn first_word(bytes: &[u8], start: usize) -> u64 {
        match bytes.get(start..start + 8).and_then(<[u8]>::first_chunk) {
            Some(word) => u64::from_le_bytes(*word),
            None => Self::at_the_end(bytes, start),
        }
    }

    /// The eight bytes before a place, which is beyond the eighth.
    #[inline(always)]
    pub(super) fn last_word(bytes: &[u8], end: usize) -> u64 {
        let word = bytes.get(end.wrapping_sub(8)..end).and_then(<[u8]>::first_chunk);
        word.map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// The first word of bytes that are fewer than a word.
    #[cold]
    fn at_the_end(bytes: &[u8], start: usize) -> u64 {
        let left = bytes.get(start..).unwrap_or_default().iter();
        left.rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }
}

impl PartialEq for Fingerprint {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        // The mask follows from the length.
        self.first == other.first && self.last == other.last && self.length == other.length
    }
}

impl Eq for Fingerprint {}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::super::super::bounds::Limits;
    use super::super::Document;
    use super::Fingerprint;

    proptest! {
        #[test]
        fn fingerprints_of_equal_texts_are_equal_wherever_they_stand(name in "[a-z]{0,20}", after in "[a-z]{0,9}") {
            for text in [format!(r#"{{"{name}":"{after}"}}"#), format!(r#"{{"{name}":0}}"#)] {
                let document = Document::parse(text, &Limits::DEFAULT).unwrap();
                let entry = document.root().entries().next().unwrap();
                let print = Fingerprint::of(name.as_bytes());
                prop_assert_eq!(entry.name.fingerprint(), Some(print));
                assert!(entry.name.has_fingerprint(&print));
                let other = Fingerprint::of(after.as_bytes());
                prop_assert_eq!(entry.name.has_fingerprint(&other), name == after);
            }
        }

        #[test]
        fn complete_fingerprints_tell_texts_apart(one in "[ab]{0,16}", other in "[ab]{0,16}") {
            let (left, right) = (Fingerprint::of(one.as_bytes()), Fingerprint::of(other.as_bytes()));
            prop_assert_eq!(left == right, one == other);
            assert!(left.is_complete());
        }
    }
}
