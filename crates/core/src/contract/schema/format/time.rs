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
    let (full, rest) = text.split_first_chunk::<10>()?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *full else { return None };
    if ![y1, y2, y3, y4, m1, m2, d1, d2].iter().all(u8::is_ascii_digit) {
        return None;
    }
    *text = rest;
    let pair = |tens: u8, ones: u8| u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    let (year, month, day) = (pair(y1, y2) * 100 + pair(y3, y4), pair(m1, m2), pair(d1, d2));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(())
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

pub(super) fn is_date(text: &str) -> bool {
    whole(text, date)
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
