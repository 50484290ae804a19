//! Arithmetic on JSON numbers, exact however large or fine they are.
//!
//! Nothing passes through a float, and the cost of every operation is known before it starts. The
//! evaluator calls it.

use std::cmp::Ordering;

use callgate_protocol::json::{Decimal, Value};

use super::program::{Bound, Comparison};
use super::source::{Place, Sources};

/// True when the value is a number without fractional part, however it is spelled.
pub(super) fn is_integer(value: Value<'_>) -> bool {
    // Most integers are written as digits; only other spellings need a closer look.
    value.part().is_written_whole() || value.as_number().is_some_and(Decimal::is_integer)
}

/// The number as `i64` if it is written as at most 18 plain digits.
#[inline]
pub(super) fn small(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut number = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Eighteen digits stay below 2^63.
        number = number * 10 + i64::from(digit - b'0');
    }
    Some(if negative { -number } else { number })
}

impl Bound {
    pub(super) fn new(value: Value<'_>, place: Place) -> Self {
        Self { small: small(value.raw_bytes()), place }
    }

    /// Whether the number is on the right side of the bound.
    pub(super) fn admits(&self, comparison: Comparison, value: Value<'_>, sources: &Sources) -> bool {
        let ordering = match (self.small, small(value.raw_bytes())) {
            (Some(bound), Some(number)) => number.cmp(&bound),
            _ => match (value.as_number(), sources.value(self.place).as_number()) {
                (Some(number), Some(bound)) => number.cmp(&bound),
                _ => return false,
            },
        };
        match comparison {
            Comparison::AtLeast => ordering != Ordering::Less,
            Comparison::AtMost => ordering != Ordering::Greater,
            Comparison::Above => ordering == Ordering::Greater,
            Comparison::Below => ordering == Ordering::Less,
        }
    }
}

/// The value of `multipleOf`, prepared for exact division.
#[derive(Debug)]
pub(super) struct Factor {
    pub(super) place: Place,
    small: Option<i64>,
    /// The significant digits as a whole number, least significant limb first.
    limbs: Vec<u32>,
    precision: usize,
    scale: i64,
}

impl Factor {
    pub(super) fn new(number: Decimal<'_>, raw: &str, place: Place) -> Self {
        let mut limbs = Vec::new();
        for digit in number.digits() {
            push_digit(&mut limbs, digit);
        }
        Self {
            place,
            small: small(raw.as_bytes()).filter(|&number| number > 0),
            limbs,
            precision: number.precision(),
            scale: number.scale(),
        }
    }

    /// What [`Factor::divides`] may cost for a number written in that many bytes.
    pub(super) fn cost(&self, bytes: usize) -> u64 {
        let steps = bytes + self.zeros_that_matter();
        (steps * self.limbs.len() / 16) as u64 + 1
    }

    /// Whether the number is a whole multiple of this one.
    pub(super) fn divides(&self, value: Value<'_>) -> bool {
        if let (Some(factor), Some(number)) = (self.small, small(value.raw_bytes())) {
            return number % factor == 0;
        }
        let Some(number) = value.as_number() else { return false };
        if number.is_zero() {
            return true;
        }
        // digits * 10^scale must be a multiple of factor * 10^self.scale.
        let shift = number.scale() - self.scale;
        let Ok(shift) = usize::try_from(shift) else {
            // The significant digits do not end with a zero, so no power of ten divides them.
            return false;
        };
        // Ten to a power beyond the twos and fives of the factor changes nothing about divisibility.
        let zeros = shift.min(self.zeros_that_matter());
        let mut rest = Remainder::new(&self.limbs);
        number.digits().chain(std::iter::repeat_n(0, zeros)).for_each(|digit| rest.push(digit));
        rest.is_zero()
    }

    /// The factor has fewer twos and fives than bits, and less than four bits to a digit.
    fn zeros_that_matter(&self) -> usize {
        4 * self.precision
    }
}

/// Appends a decimal digit to a whole number.
fn push_digit(limbs: &mut Vec<u32>, digit: u8) {
    let mut carry = u64::from(digit);
    for limb in limbs.iter_mut() {
        let grown = u64::from(*limb) * 10 + carry;
        *limb = grown as u32;
        carry = grown >> 32;
    }
    if carry > 0 {
        limbs.push(carry as u32);
    }
}

/// The remainder of a number, read digit by digit, by a fixed divisor.
struct Remainder<'f> {
    divisor: &'f [u32],
    rest: Vec<u32>,
}

impl<'f> Remainder<'f> {
    fn new(divisor: &'f [u32]) -> Self {
        Self { divisor, rest: Vec::with_capacity(divisor.len() + 1) }
    }

    fn push(&mut self, digit: u8) {
        push_digit(&mut self.rest, digit);
        // The rest was below the divisor, so it is now below ten times the divisor.
        while self.at_least_divisor() {
            self.subtract();
        }
    }

    fn is_zero(&self) -> bool {
        self.rest.iter().all(|&limb| limb == 0)
    }

    fn at_least_divisor(&self) -> bool {
        let limb = |limbs: &[u32], at: usize| limbs.get(at).copied().unwrap_or(0);
        let length = self.rest.len().max(self.divisor.len());
        (0..length)
            .rev()
            .map(|at| limb(&self.rest, at).cmp(&limb(self.divisor, at)))
            .find(|&ordering| ordering != Ordering::Equal)
            .is_none_or(Ordering::is_gt)
    }

    fn subtract(&mut self) {
        let mut borrow = 0_i64;
        for (at, limb) in self.rest.iter_mut().enumerate() {
            let divisor = i64::from(self.divisor.get(at).copied().unwrap_or(0));
            let difference = i64::from(*limb) - divisor + borrow;
            *limb = difference as u32;
            borrow = difference >> 32;
        }
    }
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Decimal, Document, Limits};

    use super::{Factor, is_integer, small};
    use crate::contract::schema::source::Place;

    fn divides(factor: &str, number: &str) -> bool {
        let document = Document::parse(number, &Limits::DEFAULT).unwrap();
        Factor::new(Decimal::parse(factor).unwrap(), factor, Place { document: 0, position: 0 })
            .divides(document.root())
    }

    #[test]
    fn multiples_are_exact_at_every_size() {
        for (factor, number) in [
            ("0.01", "19.99"),
            ("0.0001", "0.0075"),
            ("1e-8", "12391239123"),
            ("3", "9007199254740993"),
            ("0.1", "1e400"),
            ("1e-1000", "7"),
            ("2.5e-3", "1"),
            ("123456789012345678901234567890", "123456789012345678901234567890000"),
            ("18446744073709551616", "36893488147419103232"),
            ("1024", "1e10"),
            ("5", "0"),
            ("7", "-49"),
            ("1e2", "300"),
        ] {
            assert!(divides(factor, number), "{number} is a multiple of {factor}");
        }
        for (factor, number) in [
            ("0.01", "19.999"),
            ("3", "9007199254740992"),
            ("3", "1e1000000"),
            ("1e3", "300"),
            ("123456789012345678901234567890", "123456789012345678901234567891"),
            ("2048", "1e10"),
            ("7", "50"),
            ("1", "0.5"),
            ("1e-1", "1e-1000"),
        ] {
            assert!(!divides(factor, number), "{number} is no multiple of {factor}");
        }
    }

    #[test]
    fn integers_are_those_without_a_fraction() {
        let integer = |text: &str| is_integer(Document::parse(text, &Limits::DEFAULT).unwrap().root());
        for text in ["5", "5.0", "5e0", "1E2", "-0", "1e400", "0.0e-9", "9007199254740993", "120e-1"] {
            assert!(integer(text), "{text}");
        }
        for text in ["5.7", "0.5", "1e-1", "12e-1"] {
            assert!(!integer(text), "{text}");
        }
        assert_eq!(small(b"-999999999999999999"), Some(-999_999_999_999_999_999));
        assert_eq!(small(b"1000000000000000000"), None);
        assert_eq!(small(b"1.0"), None);
        assert_eq!(small(b"-"), None);
    }
}
