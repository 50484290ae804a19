//! Patterns that need no engine: an anchored run of characters, each from a set, counted.
//!
//! Identifiers, codes and currencies look like this. A run is only taken over when reading as much as
//! possible at each step cannot be wrong, so there is nothing to go back to. It must never accept
//! another text than the engine. `pattern.rs` calls it.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};

/// One step: so many characters from a set.
#[derive(Debug)]
struct Step {
    /// The members below 128, by their bit.
    ascii: [u64; 2],
    /// The ranges of the others.
    wide: Box<[(char, char)]>,
    least: u32,
    most: u32,
}

/// An anchored run.
#[derive(Debug)]
pub(super) struct Simple {
    steps: Box<[Step]>,
    /// The range of each character, where each is of one range of ASCII and none is optional.
    ranges: Box<[Range]>,
    /// Whether the text ends with the run.
    whole: bool,
}

/// The first of some neighbours, and how many others there are.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: u8,
    others: u8,
}

/// Steps beyond which the engine is as good.
const MOST_STEPS: usize = 64;

impl Simple {
    /// The run that an expression is, if it is one.
    pub(super) fn of(expression: &Hir) -> Option<Self> {
        let HirKind::Concat(parts) = expression.kind() else { return None };
        let parts = parts.strip_prefix(&[Hir::look(Look::Start)])?;
        let (parts, whole) = match parts.split_last() {
            Some((last, rest)) if *last.kind() == HirKind::Look(Look::End) => (rest, true),
            _ => (parts, false),
        };
        let mut steps = Vec::new();
        for part in parts {
            match part.kind() {
                HirKind::Repetition(repetition) => {
                    let set = set_of(&repetition.sub)?;
                    steps.push(Step::new(&set, repetition.min, repetition.max.unwrap_or(u32::MAX)));
                }
                HirKind::Literal(literal) => {
                    for character in std::str::from_utf8(&literal.0).ok()?.chars() {
                        steps.push(Step::new(&one(character), 1, 1));
                    }
                }
                _ => steps.push(Step::new(&set_of(part)?, 1, 1)),
            }
        }
        (steps.len() <= MOST_STEPS && is_determined(&steps)).then(|| {
            let ranges = ranges(&steps).unwrap_or_default();
            Self { steps: steps.into(), ranges, whole }
        })
    }

    /// Whether the bytes of a text are such a run.
    #[inline]
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        if self.ranges.is_empty() {
            return self.matches_stepwise(text);
        }
        let long_enough = match self.whole {
            true => text.len() == self.ranges.len(),
            false => text.len() >= self.ranges.len(),
        };
        long_enough && self.ranges.iter().zip(text).all(|(range, byte)| range.has(*byte))
    }

    fn matches_stepwise(&self, text: &[u8]) -> bool {
        let mut rest = text;
        for step in &self.steps {
            let mut count = 0;
            while count < step.most {
                let Some(after) = step.take(rest) else { break };
                rest = after;
                count += 1;
            }
            if count < step.least {
                return false;
            }
        }
        !self.whole || rest.is_empty()
    }
}

impl Range {
    #[inline]
    fn has(self, byte: u8) -> bool {
        byte.wrapping_sub(self.first) <= self.others
    }
}

/// The range of each character of a run in which every step has one and a fixed count.
fn ranges(steps: &[Step]) -> Option<Box<[Range]>> {
    let mut ranges = Vec::new();
    for step in steps {
        let range = step.range().filter(|_| step.least == step.most)?;
        let count = step.least as usize;
        if ranges.len() + count > MOST_STEPS {
            return None;
        }
        ranges.extend(std::iter::repeat_n(range, count));
    }
    Some(ranges.into())
}

impl Step {
    /// The members, if they are neighbours and all of ASCII.
    fn range(&self) -> Option<Range> {
        let [low, high] = self.ascii;
        let members = u128::from(high) << 64 | u128::from(low);
        let (first, count) = (members.trailing_zeros(), members.count_ones());
        let last = 127_u32.checked_sub(members.leading_zeros())?;
        let alone = self.wide.is_empty() && last + 1 - first == count;
        // Both are below 128.
        alone.then_some(Range { first: first as u8, others: (count - 1) as u8 })
    }

    fn new(set: &ClassUnicode, least: u32, most: u32) -> Self {
        let mut ascii = [0_u64; 2];
        let mut wide = Vec::new();
        for range in set.ranges() {
            let (start, end) = (u32::from(range.start()), u32::from(range.end()));
            for code in start..=end.min(127) {
                if let Some(half) = ascii.get_mut(code as usize / 64) {
                    *half |= 1 << (code % 64);
                }
            }
            if end > 127 {
                wide.push((range.start().max('\u{80}'), range.end()));
            }
        }
        Self { ascii, wide: wide.into(), least, most }
    }

    /// The text after one character, if that is in the set.
    #[inline]
    fn take<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let (&first, rest) = text.split_first()?;
        if first < 128 {
            let half = self.ascii.get(usize::from(first / 64)).copied().unwrap_or_default();
            return (half >> (first % 64) & 1 == 1).then_some(rest);
        }
        if self.wide.is_empty() {
            return None;
        }
        let length = match first {
            0xF0.. => 4,
            0xE0.. => 3,
            _ => 2,
        };
        let (character, rest) = text.split_at_checked(length)?;
        let character = std::str::from_utf8(character).ok()?.chars().next()?;
        self.has_wide(character).then_some(rest)
    }

    fn has_wide(&self, character: char) -> bool {
        let at = self.wide.partition_point(|&(_, end)| end < character);
        self.wide.get(at).is_some_and(|&(start, _)| start <= character)
    }

    fn shares_with(&self, other: &Self) -> bool {
        let ascii = self.ascii.iter().zip(&other.ascii).any(|(ours, theirs)| ours & theirs != 0);
        let overlap = |&(start, end): &(char, char)| {
            let at = other.wide.partition_point(|&(_, theirs)| theirs < start);
            other.wide.get(at).is_some_and(|&(theirs, _)| theirs <= end)
        };
        ascii || self.wide.iter().any(overlap)
    }
}

/// Whether each step may take all it can: what follows a step of open length begins with other
/// characters, until something must follow.
fn is_determined(steps: &[Step]) -> bool {
    steps.iter().enumerate().filter(|(_, step)| step.least != step.most).all(|(at, step)| {
        let mut followers = steps.iter().skip(at + 1);
        loop {
            match followers.next() {
                Some(follower) if step.shares_with(follower) => return false,
                Some(follower) if follower.least == 0 => {}
                _ => return true,
            }
        }
    })
}

fn set_of(expression: &Hir) -> Option<ClassUnicode> {
    match expression.kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set.clone()),
        HirKind::Class(Class::Bytes(set)) => set.to_unicode_class(),
        HirKind::Literal(literal) => {
            let mut characters = std::str::from_utf8(&literal.0).ok()?.chars();
            let character = characters.next()?;
            characters.next().is_none().then(|| one(character))
        }
        _ => None,
    }
}

fn one(character: char) -> ClassUnicode {
    ClassUnicode::new([regex_syntax::hir::ClassUnicodeRange::new(character, character)])
}
