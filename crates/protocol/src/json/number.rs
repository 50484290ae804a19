//! Exact decimals over the text of a JSON number.
//!
//! Nothing here passes through a float: two numbers are equal when they are the same number, however
//! they are written. The schema evaluator, the digest and the header codec call it.

use std::cmp::Ordering;

/// A JSON number, kept as text: sign, significant digits and a power of ten.
///
/// Equality and order are those of the numbers, so `1`, `1.0` and `1e0` are equal.
#[derive(Clone, Copy, Debug)]
pub struct Decimal<'t> {
    negative: bool,
    /// Digits before the point, without leading zeros.
    whole: &'t [u8],
    /// Digits after the point, without trailing zeros.
    fraction: &'t [u8],
    exponent: i64,
}

impl<'t> Decimal<'t> {
    /// Reads a text that must be exactly one JSON number.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        let bytes = text.as_bytes();
        let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
        let valid_start = match unsigned {
            [b'0', b'0'..=b'9', ..] => false,
            [b'0'..=b'9', ..] => true,
            _ => false,
        };
        let mantissa_end = unsigned.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let mantissa = unsigned.get(..mantissa_end.unwrap_or(unsigned.len()))?;
        let exponent = match mantissa_end {
            Some(at) => Some(unsigned.get(at + 1..)?),
            None => None,
        };
        let mut parts = mantissa.splitn(2, |&byte| byte == b'.');
        let all_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        let valid = valid_start
            && parts.next().is_some_and(all_digits)
            && parts.next().is_none_or(all_digits)
            && exponent.is_none_or(|part| {
                all_digits(part.strip_prefix(b"+").or_else(|| part.strip_prefix(b"-")).unwrap_or(part))
                    && part.len() <= 8
            });
        valid.then(|| Self::of_valid(text))
    }

    /// Reads a text that the parser has accepted as a number.
    pub(super) fn of_valid(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let (negative, unsigned) = match bytes.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, bytes),
        };
        let split = unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(unsigned.len());
        let mantissa = unsigned.get(..split).unwrap_or_default();
        let exponent = std::str::from_utf8(unsigned.get(split + 1..).unwrap_or_default())
            .ok()
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0);
        let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
        let whole = trim_start(mantissa.get(..point).unwrap_or_default());
        let fraction = trim_end(mantissa.get(point + 1..).unwrap_or_default());
        let mut number = Self { negative, whole, fraction, exponent };
        if whole.is_empty() && fraction.is_empty() {
            // Zero has one form: no sign and no exponent.
            number.negative = false;
            number.exponent = 0;
        }
        number
    }

    /// True below zero. Minus zero is zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// True for zero in any spelling.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// True when the fractional part is zero, whatever the spelling and the size.
    #[must_use]
    pub fn is_integer(self) -> bool {
        self.is_zero() || self.scale() >= 0
    }

    /// The significant digits as values 0 to 9, the first and the last of them not zero.
    pub fn digits(self) -> impl DoubleEndedIterator<Item = u8> + Clone + use<'t> {
        let leading = if self.whole.is_empty() { trim_start(self.fraction) } else { self.fraction };
        let whole = if self.fraction.is_empty() { trim_end(self.whole) } else { self.whole };
        whole.iter().chain(leading).map(|digit| digit - b'0')
    }

    /// How many significant digits there are.
    #[must_use]
    pub fn precision(self) -> usize {
        if self.whole.is_empty() {
            trim_start(self.fraction).len()
        } else if self.fraction.is_empty() {
            trim_end(self.whole).len()
        } else {
            self.whole.len() + self.fraction.len()
        }
    }

    /// The power of ten by which the significant digits, read as a whole number, are multiplied.
    #[must_use]
    pub fn scale(self) -> i64 {
        if self.is_zero() {
            return 0;
        }
        let zeros = if self.fraction.is_empty() { self.whole.len() - trim_end(self.whole).len() } else { 0 };
        self.exponent - self.fraction.len() as i64 + zeros as i64
    }

    /// The number as `i128`, if it is whole and in range.
    #[must_use]
    pub fn to_i128(self) -> Option<i128> {
        if self.exponent == 0 && self.fraction.is_empty() {
            // The common case: plain digits.
            return self.accumulate(self.whole.iter().map(|digit| digit - b'0'), 0);
        }
        let scale = self.scale();
        if !(0..=39).contains(&scale) {
            return None;
        }
        self.accumulate(self.digits(), scale)
    }

    /// The number as the nearest `f64`, for receivers that asked for a float.
    #[must_use]
    pub fn to_f64_lossy(self) -> f64 {
        let mut text = String::with_capacity(self.whole.len() + self.fraction.len() + 24);
        if self.negative {
            text.push('-');
        }
        text.push('0');
        text.extend(self.whole.iter().map(|&digit| char::from(digit)));
        text.push('.');
        text.extend(self.fraction.iter().map(|&digit| char::from(digit)));
        text.push('e');
        super::write::push_integer(&mut text, self.exponent);
        text.parse().unwrap_or(f64::NAN)
    }

    fn accumulate(self, digits: impl Iterator<Item = u8>, zeros: i64) -> Option<i128> {
        let mut number = 0_i128;
        for digit in digits {
            number = number.checked_mul(10)?.checked_sub(i128::from(digit))?;
        }
        for _ in 0..zeros {
            number = number.checked_mul(10)?;
        }
        // Accumulated below zero, where the range is one larger.
        if self.negative { Some(number) } else { number.checked_neg() }
    }

    /// The power of ten of the first significant digit.
    fn magnitude(self) -> i64 {
        self.scale() + self.precision() as i64
    }

    fn compare_absolute(self, other: Self) -> Ordering {
        self.magnitude().cmp(&other.magnitude()).then_with(|| {
            let mut ours = self.digits();
            let mut theirs = other.digits();
            loop {
                match (ours.next(), theirs.next()) {
                    (None, None) => return Ordering::Equal,
                    (None, Some(_)) => return Ordering::Less,
                    (Some(_), None) => return Ordering::Greater,
                    (Some(one), Some(another)) if one != another => return one.cmp(&another),
                    (Some(_), Some(_)) => {}
                }
            }
        })
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal<'_> {}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return if other.negative { Ordering::Greater } else { Ordering::Less },
            (false, true) => return if self.negative { Ordering::Less } else { Ordering::Greater },
            (false, false) => {}
        }
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_absolute(*other),
            (true, true) => other.compare_absolute(*self),
        }
    }
}

fn trim_start(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

fn trim_end(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
    digits.get(..digits.len() - zeros).unwrap_or_default()
}
