//! Times as people read and write them.
//!
//! Stores keep microseconds; everything shown is UTC. The command line and the export call it.

use jiff::{Span, Timestamp};

use crate::time::parse_rfc3339;

/// A time as RFC 3339 text in UTC, with microseconds.
#[must_use]
pub fn format_time(microseconds: i64) -> String {
    Timestamp::from_microsecond(microseconds)
        .map_or_else(|_| format!("{microseconds}us"), |time| format!("{time:.6}"))
}

/// Reads a time: RFC 3339, a date, or how long ago, as in `90s`, `15m`, `6h` and `7d`.
///
/// # Errors
/// What would have been accepted.
pub fn parse_time(text: &str, now_us: i64) -> Result<i64, String> {
    let expected = || {
        format!(
            "{text:?} is no time; write 2026-11-30T20:00:00Z, 2026-11-30, or how long ago as in 15m, 6h, 7d"
        )
    };
    // A date is its first moment in UTC.
    if let Ok(time) = parse_rfc3339(text).or_else(|_| parse_rfc3339(&format!("{text}T00:00:00Z"))) {
        return Ok(time.0);
    }
    let unit = text.chars().last().ok_or_else(expected)?;
    let count = text.get(..text.len() - unit.len_utf8()).unwrap_or_default();
    let count: i64 = count.parse().map_err(|_| expected())?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(expected()),
    };
    let span = Span::new().try_seconds(count.saturating_mul(seconds)).map_err(|_| expected())?;
    let now = Timestamp::from_microsecond(now_us).map_err(|_| expected())?;
    now.checked_sub(span).map(Timestamp::as_microsecond).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::{format_time, parse_time};

    #[test]
    fn times_are_read_in_each_form_and_written_in_one() {
        let now = parse_time("2026-11-30T20:00:00Z", 0).unwrap();
        assert_eq!(format_time(now + 7), "2026-11-30T20:00:00.000007Z");
        assert_eq!(parse_time("2026-11-30", 0).unwrap(), now - 20 * 3_600_000_000);
        assert_eq!(parse_time("90s", now).unwrap(), now - 90_000_000);
        assert_eq!(parse_time("7d", now).unwrap(), now - 7 * 86_400_000_000);
        assert_eq!(parse_time("2026-11-30T21:00:00+01:00", 0).unwrap(), now);
        for wrong in ["", "m", "yesterday", "5", "5w", "é", "99999999999999999d"] {
            assert!(parse_time(wrong, now).is_err(), "{wrong}");
        }
    }
}
