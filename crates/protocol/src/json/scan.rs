//! Finds the characters of a JSON string that are not plain, sixteen bytes at a time.
//!
//! It must never skip a quote, a backslash or a control character. The parser and the writer call it.

use wide::u8x16;

/// How many bytes are looked at in one step.
const CHUNK: usize = 16;

/// The first place from `start` on that holds a quote, a backslash or a control character, or the end.
#[inline]
pub(super) fn plain_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    // A chunk may reach beyond the string into what follows it, which costs nothing.
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<CHUNK>) {
        let stops = stops_in_chunk(*chunk);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize;
        }
        at += CHUNK;
    }
    rest_end(bytes, at)
}

/// Calls `visit` with the place of each byte that is no plain one, and with the byte.
#[inline]
pub(super) fn for_each_stop(bytes: &[u8], mut visit: impl FnMut(usize, u8)) {
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let chunk = rest.first_chunk::<CHUNK>().copied().unwrap_or_else(|| filled_up(rest));
        let mut stops = stops_in_chunk(chunk);
        while stops != 0 {
            let stop = start + stops.trailing_zeros() as usize;
            visit(stop, bytes.get(stop).copied().unwrap_or_default());
            stops &= stops - 1;
        }
        start += CHUNK;
    }
}

/// The end of a text as a chunk, filled up with plain bytes.
fn filled_up(rest: &[u8]) -> [u8; CHUNK] {
    let mut chunk = [b' '; CHUNK];
    if let Some(start) = chunk.get_mut(..rest.len()) {
        start.copy_from_slice(rest);
    }
    chunk
}

/// [`plain_end`] for the end of a text, which is less than a chunk.
fn rest_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let stops = stops_in_word(u64::from_le_bytes(*word));
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

/// One bit for each byte that is no plain one.
#[inline]
fn stops_in_chunk(chunk: [u8; CHUNK]) -> u32 {
    let chunk = u8x16::new(chunk);
    let quotes = chunk.simd_eq(u8x16::splat(b'"'));
    let backslashes = chunk.simd_eq(u8x16::splat(b'\\'));
    // Whatever the largest control character does not exceed is one.
    let controls = chunk.min(u8x16::splat(0x1f)).simd_eq(chunk);
    (quotes | backslashes | controls).to_bitmask()
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

fn is_stop(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// Marks the high bit of each byte that is no plain one. A borrow can mark bytes above a marked one
/// wrongly, but the lowest mark is always right.
const fn stops_in_word(word: u64) -> u64 {
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

    use super::{for_each_stop, is_stop, plain_end};

    #[test]
    fn every_byte_at_every_place_is_told_apart() {
        for byte in 0..=u8::MAX {
            for place in 0..40 {
                let mut bytes = [b'a'; 40];
                bytes[place] = byte;
                let expected = if is_stop(byte) { place } else { 40 };
                assert_eq!(plain_end(&bytes, 0), expected, "{byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_first_stop_is_found_in_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let expected = bytes.iter().position(|&byte| is_stop(byte)).unwrap_or(bytes.len());
            prop_assert_eq!(plain_end(&bytes, 0), expected);
        }

        #[test]
        fn every_stop_is_visited_once_and_in_order(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let mut visited = Vec::new();
            for_each_stop(&bytes, |at, byte| visited.push((at, byte)));
            let expected: Vec<_> = bytes.iter().copied().enumerate().filter(|(_, byte)| is_stop(*byte)).collect();
            prop_assert_eq!(visited, expected);
        }
    }
}
