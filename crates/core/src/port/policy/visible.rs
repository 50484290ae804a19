//! The set of tools that a principal may see, as a key for what is rendered of it.
//!
//! It names tools by their place in one catalogue, so it means nothing beside another one. Policies
//! make sets; the server compares them and shares lists between principals whose sets are equal.

use std::sync::Arc;

/// Tools of one catalogue, by their places in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisibleSet {
    words: Arc<[u64]>,
    len: usize,
}

impl VisibleSet {
    /// The set of the places for which the iterator says true.
    #[must_use]
    pub fn of(visible: impl IntoIterator<Item = bool>) -> Self {
        let (mut words, mut len) = (Vec::new(), 0);
        for is_visible in visible {
            if len % 64 == 0 {
                words.push(0);
            }
            if let Some(word) = words.last_mut() {
                *word |= u64::from(is_visible) << (len % 64);
            }
            len += 1;
        }
        Self { words: words.into(), len }
    }

    /// Whether the tool at that place is in the set. A place beyond the catalogue is not.
    #[must_use]
    pub fn contains(&self, place: usize) -> bool {
        self.words.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// How many tools the catalogue has.
    #[must_use]
    pub fn catalogue_len(&self) -> usize {
        self.len
    }

    /// Whether every tool of the catalogue is in the set.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.words.iter().map(|word| word.count_ones() as usize).sum::<usize>() == self.len
    }
}

#[cfg(test)]
mod tests {
    use super::VisibleSet;

    #[test]
    fn a_set_contains_the_places_that_were_visible_and_no_others() {
        for len in [0, 1, 63, 64, 65, 200] {
            let set = VisibleSet::of((0..len).map(|place| place % 3 == 0));
            for place in 0..len + 70 {
                assert_eq!(set.contains(place), place < len && place % 3 == 0, "{place} of {len}");
            }
            assert_eq!(set.catalogue_len(), len);
            assert_eq!(set.is_whole(), len <= 1);
        }
    }
}
