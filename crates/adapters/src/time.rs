//! Points in time as configuration, commands and reports write them.
//!
//! It must never guess a zone. The readers of tokens, policies and the audit trail call it.

use callgate_core::port::Timestamp;

/// Reads a point in time as RFC 3339 has it, with date, time and zone: `2026-12-01T10:00:00Z`.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse_rfc3339(text: &str) -> Result<Timestamp, String> {
    text.parse::<jiff::Timestamp>()
        .map(|time| Timestamp(time.as_microsecond()))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use callgate_core::port::Timestamp;

    use super::parse_rfc3339;

    #[test]
    fn a_time_needs_its_zone_and_every_zone_gives_the_same_moment() {
        let noon = Ok(Timestamp(1_796_126_400_000_000));
        assert_eq!(parse_rfc3339("2026-12-01T12:00:00Z"), noon);
        assert_eq!(parse_rfc3339("2026-12-01T13:00:00+01:00"), noon);
        for wrong in ["", "2026-12-01", "2026-12-01T12:00:00", "noon", "2026-13-01T12:00:00Z"] {
            assert!(parse_rfc3339(wrong).is_err(), "{wrong}");
        }
    }
}
