//! Dates, times and durations of RFC 3339.
//!
//! A text that names no moment is refused, however plausible it looks. `format.rs` calls it.

/// Takes exactly `count` digits from the front.
fn digits(text: &mut &[u8], count: usize) -> Option<u32> {
    let (digits, rest) = text.split_at_checked(count)?;
    let mut number = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u32::from(digit - b'0');
    }
    *text = rest;
    Some(number)
}

fn byte(text: &mut &[u8], accepted: &[u8]) -> Option<u8> {
    let (first, rest) = text.split_first()?;
    if !accepted.contains(first) {
        return None;
    }
    *text = rest;
    Some(*first)
}

fn date(text: &mut &[u8]) -> Option<()> {
    let (date, rest) = text.split_at_checked(10)?;
    *text = rest;
    is_date(date).then_some(())
}

/// The days of the months in a year that is no leap year; months begin with one.
const DAYS: [u8; 16] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0, 0, 0];

/// Whether the text is a `full-date`: digits where digits must be, and a day that exists.
#[inline]
pub(in crate::contract::schema) fn is_date(text: &[u8]) -> bool {
    /// What stands in a date at least: the dashes, and zeros for digits.
    const LEAST: u64 = u64::from_le_bytes(*b"0000-00-");
    /// What takes every byte beyond a nine, or beyond a dash, over the half of its range.
    const BEYOND: u64 = u64::from_le_bytes([0x76, 0x76, 0x76, 0x76, 0x7F, 0x76, 0x76, 0x7F]);
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let Some((front, &[d1, d2])) = text.split_first_chunk::<8>() else { return false };
    // A digit is left as its value, a dash as zero, and everything else as something larger.
    let digits = u64::from_le_bytes(*front) ^ LEAST;
    let (d1, d2) = (d1.wrapping_sub(b'0'), d2.wrapping_sub(b'0'));
    if (digits | digits.wrapping_add(BEYOND)) & HIGHS != 0 || d1 > 9 || d2 > 9 {
        return false;
    }
    let [y1, y2, y3, y4, _, m1, m2, _] = digits.to_le_bytes();
    // Below a hundred each.
    let (month, day) = (m1 * 10 + m2, d1 * 10 + d2);
    let days = DAYS.get(usize::from(month)).copied().unwrap_or(0);
    (1..=days).contains(&day) || (month == 2 && day == 29 && is_leap(y1 * 10 + y2, y3 * 10 + y4))
}

/// Whether a year, given in two halves, has a twenty-ninth of February.
fn is_leap(century: u8, year: u8) -> bool {
    (if year == 0 { century } else { year }).is_multiple_of(4)
}

const MINUTES_OF_A_DAY: u32 = 24 * 60;

fn time(text: &mut &[u8]) -> Option<()> {
    let hour = digits(text, 2)?;
    byte(text, b":")?;
    let minute = digits(text, 2)?;
    byte(text, b":")?;
    let second = digits(text, 2)?;
    if byte(text, b".").is_some() {
        let fraction = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        *text = text.get(fraction..).filter(|_| fraction > 0)?;
    }
    let (sign, offset) = match byte(text, b"Zz+-")? {
        b'Z' | b'z' => (b'+', 0),
        sign => {
            let hours = digits(text, 2)?;
            byte(text, b":")?;
            let minutes = digits(text, 2)?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            (sign, hours * 60 + minutes)
        }
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // A leap second is the last second of a day in UTC.
    let local = hour * 60 + minute;
    let utc = match sign {
        b'+' => local + MINUTES_OF_A_DAY - offset,
        _ => local + offset,
    };
    (second < 60 || utc % MINUTES_OF_A_DAY == MINUTES_OF_A_DAY - 1).then_some(())
}

fn whole(text: &str, read: impl Fn(&mut &[u8]) -> Option<()>) -> bool {
    let mut rest = text.as_bytes();
    read(&mut rest).is_some() && rest.is_empty()
}

pub(super) fn is_time(text: &str) -> bool {
    whole(text, time)
}

pub(super) fn is_date_time(text: &str) -> bool {
    whole(text, |rest| {
        date(rest)?;
        byte(rest, b"Tt")?;
        time(rest)
    })
}

pub(super) fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    if let Some(weeks) = rest.strip_suffix('W') {
        return !weeks.is_empty() && weeks.bytes().all(|byte| byte.is_ascii_digit());
    }
    match rest.split_once('T') {
        Some((days, times)) => (days.is_empty() || is_run(days, b"YMD")) && is_run(times, b"HMS"),
        None => is_run(rest, b"YMD"),
    }
}

/// Numbers followed by units that are neighbours in `units`, in that order, at least one.
fn is_run(text: &str, units: &[u8]) -> bool {
    let mut rest = text.as_bytes();
    let mut last: Option<usize> = None;
    while !rest.is_empty() {
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let unit = rest.get(length).and_then(|unit| units.iter().position(|known| known == unit));
        let Some(unit) = unit.filter(|_| length > 0) else { return false };
        if last.is_some_and(|last| unit != last + 1) {
            return false;
        }
        last = Some(unit);
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    last.is_some()
}
