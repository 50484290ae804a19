//! Finds the characters of a JSON string that are not plain, eight bytes at a time.
//!
//! It must never skip a quote, a backslash or a control character. The parser and the writer call it.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// The first place from `start` on that holds a quote, a backslash or a control character, or the end.
#[inline]
pub(super) fn plain_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    // A word may reach beyond the string into what follows it, which costs nothing.
    while let Some(word) = bytes.get(at..at + 8) {
        // The range above is eight bytes long.
        let stops = stops(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&byte| !is_stop(byte)) {
        at += 1;
    }
    at
}

fn is_stop(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// Marks the high bit of each byte that is no plain one. A borrow can mark bytes above a marked one
/// wrongly, but the lowest mark is always right.
const fn stops(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let quotes = quote.wrapping_sub(ONES) & !quote;
    let backslashes = backslash.wrapping_sub(ONES) & !backslash;
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls) & HIGHS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    use super::{is_stop, plain_end};

    #[test]
    fn every_byte_at_every_place_of_a_word_is_told_apart() {
        for byte in 0..=u8::MAX {
            for place in 0..24 {
                let mut bytes = [b'a'; 24];
                bytes[place] = byte;
                let expected = if is_stop(byte) { place } else { 24 };
                assert_eq!(plain_end(&bytes, 0), expected, "{byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_first_stop_is_found_in_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let expected = bytes.iter().position(|&byte| is_stop(byte)).unwrap_or(bytes.len());
            prop_assert_eq!(plain_end(&bytes, 0), expected);
        }
    }
}
