//! One stored value as JSON, in the form that the output declares.
//!
//! The mapping is written down in `docs/configuration.md`. No number passes through a float unless it is
//! stored as one, a value that does not have the declared form is refused and never bent, and nothing
//! here knows a store. The row writer calls it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callgate_core::port::Form;
use callgate_protocol::json::{self, Decimal, Document, push_integer, push_string};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// A stored value, as far as a store can say what it is.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    all(not(test), not(all(feature = "sqlite", feature = "postgres"))),
    expect(dead_code, reason = "each store has values that the other one has not")
)]
pub(crate) enum Cell<'c> {
    Null,
    Boolean(bool),
    Integer(i64),
    Real(f64),
    /// The exact text of a number, or of what the store calls one (`NaN`).
    Number(&'c str),
    Text(&'c str),
    Json(&'c str),
    Blob(&'c [u8]),
    /// Bytes as `\x` and hexadecimal digits.
    Hex(&'c str),
    /// A point in time as PostgreSQL writes it for the zone UTC.
    Timestamp(&'c str),
    /// A time of day with its offset, as PostgreSQL writes it.
    ZonedTime(&'c str),
}

/// Appends a value that is not NULL.
///
/// # Errors
/// What was expected, when the value does not have the form. The value itself is never in it.
pub(crate) fn push(out: &mut String, form: Form, cell: Cell<'_>) -> Result<(), &'static str> {
    match form {
        Form::String => push_text(out, cell),
        Form::Integer => push_whole(out, cell),
        Form::Number => push_number(out, cell),
        Form::Boolean => push_boolean(out, cell),
        Form::Date => push_date(out, cell),
        Form::Time => push_time(out, cell),
        Form::DateTime => push_date_time(out, cell),
        Form::Base64 => push_base64(out, cell),
        Form::Json => push_json(out, cell),
        // `Form` may grow; what has no form of its own here takes the natural one.
        _ => push_natural(out, cell),
    }
}

fn push_natural(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    match cell {
        Cell::Null => {
            out.push_str("null");
            Ok(())
        }
        Cell::Boolean(_) => push_boolean(out, cell),
        Cell::Integer(_) | Cell::Real(_) | Cell::Number(_) => push_number(out, cell),
        Cell::Text(_) | Cell::ZonedTime(_) => push_text(out, cell),
        Cell::Json(_) => push_json(out, cell),
        Cell::Blob(_) | Cell::Hex(_) => push_base64(out, cell),
        Cell::Timestamp(_) => push_date_time(out, cell),
    }
}

fn push_text(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    match cell {
        Cell::Text(text) | Cell::Json(text) => push_string(out, text),
        Cell::Boolean(flag) => push_string(out, if flag { "true" } else { "false" }),
        Cell::Integer(_) | Cell::Real(_) | Cell::Number(_) => {
            out.push('"');
            push_number(out, cell)?;
            out.push('"');
        }
        Cell::Timestamp(_) => return push_date_time(out, cell),
        Cell::ZonedTime(_) => return push_time(out, cell),
        Cell::Null | Cell::Blob(_) | Cell::Hex(_) => {
            return Err("text; bytes need `contentEncoding = \"base64\"` in the output");
        }
    }
    Ok(())
}

fn push_whole(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    const EXPECTED: &str = "a whole number";
    match cell {
        Cell::Integer(number) => push_integer(out, number),
        // Beyond 2^53 a float does not say which whole number was meant.
        Cell::Real(number) if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 => {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, checked above")]
            push_integer(out, number as i64);
        }
        Cell::Number(text) | Cell::Text(text) => out.push_str(whole(text).ok_or(EXPECTED)?),
        _ => return Err(EXPECTED),
    }
    Ok(())
}

/// The digits of a decimal text that is a whole number, without an all-zero fraction.
fn whole(text: &str) -> Option<&str> {
    Decimal::parse(text)?;
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (plain && fraction.bytes().all(|byte| byte == b'0')).then_some(digits)
}

fn push_number(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    const EXPECTED: &str = "a finite number";
    match cell {
        Cell::Integer(number) => push_integer(out, number),
        // The shortest text that reads back as the same float.
        Cell::Real(number) if number.is_finite() => out.push_str(&format!("{number:?}")),
        Cell::Number(text) | Cell::Text(text) => {
            Decimal::parse(text).ok_or(EXPECTED)?;
            out.push_str(text);
        }
        _ => return Err(EXPECTED),
    }
    Ok(())
}

fn push_boolean(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    out.push_str(match cell {
        Cell::Boolean(true) | Cell::Integer(1) => "true",
        Cell::Boolean(false) | Cell::Integer(0) => "false",
        _ => return Err("true or false, or the integer 1 or 0"),
    });
    Ok(())
}

fn push_date(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    const EXPECTED: &str = "a date such as 2026-11-30";
    let Cell::Text(text) = cell else { return Err(EXPECTED) };
    if text.len() != 10 || text.parse::<Date>().is_err() {
        return Err(EXPECTED);
    }
    push_string(out, text);
    Ok(())
}

fn push_time(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    const EXPECTED: &str = "a time of day with its zone, such as 18:20:21Z";
    let (Cell::Text(text) | Cell::ZonedTime(text)) = cell else { return Err(EXPECTED) };
    // PostgreSQL writes a whole offset without its minutes.
    let (clock, offset) = text.find(['+', '-', 'Z']).map(|at| text.split_at(at)).ok_or(EXPECTED)?;
    let minutes = if offset.len() == 3 { ":00" } else { "" };
    let full = format!("{clock}{offset}{minutes}");
    if format!("2000-01-02T{full}").parse::<Timestamp>().is_err() || clock.len() < 8 {
        return Err(EXPECTED);
    }
    push_string(out, &full);
    Ok(())
}

fn push_date_time(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    const EXPECTED: &str = "a point in time such as 2026-11-30T18:20:21Z, or without zone in UTC";
    let instant = match cell {
        Cell::Timestamp(text) => text.parse::<Timestamp>().ok(),
        Cell::Text(text) if text.contains(':') => text.parse::<Timestamp>().ok().or_else(|| {
            // SQLite's own functions give UTC without saying so.
            TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok()
        }),
        _ => None,
    };
    let instant = instant.ok_or(EXPECTED)?;
    push_string(out, &instant.to_string());
    Ok(())
}

fn push_base64(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    const EXPECTED: &str = "bytes";
    out.push('"');
    match cell {
        Cell::Blob(bytes) => STANDARD.encode_string(bytes, out),
        Cell::Hex(text) => STANDARD.encode_string(unhex(text).ok_or(EXPECTED)?, out),
        _ => return Err(EXPECTED),
    }
    out.push('"');
    Ok(())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(value(*high)? << 4 | value(*low)?),
        _ => None,
    });
    pairs.collect()
}

fn push_json(out: &mut String, cell: Cell<'_>) -> Result<(), &'static str> {
    const EXPECTED: &str = "a JSON value without repeated member names";
    match cell {
        Cell::Json(text) | Cell::Text(text) => {
            let limits = json::Limits::default();
            let document = Document::parse(text, &limits).map_err(|_| EXPECTED)?;
            out.push_str(document.root().raw());
            Ok(())
        }
        Cell::Integer(_) | Cell::Real(_) | Cell::Number(_) => push_number(out, cell),
        Cell::Boolean(_) => push_boolean(out, cell),
        _ => Err(EXPECTED),
    }
}

#[cfg(test)]
mod tests;
