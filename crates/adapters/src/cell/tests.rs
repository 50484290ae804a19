//! The written mapping, value by value.

use super::*;

fn json(form: Form, cell: Cell<'_>) -> Option<String> {
    let mut out = String::new();
    push(&mut out, form, cell).ok().map(|()| out)
}

#[track_caller]
fn is(form: Form, cell: Cell<'_>, expected: &str) {
    assert_eq!(json(form, cell).as_deref(), Some(expected));
}

#[track_caller]
fn refused(form: Form, cell: Cell<'_>) {
    assert_eq!(json(form, cell), None);
}

#[test]
fn whole_numbers_are_exact() {
    is(Form::Integer, Cell::Integer(9_007_199_254_740_993), "9007199254740993");
    is(Form::Integer, Cell::Number("123456789012345678901234567890.000"), "123456789012345678901234567890");
    is(Form::Integer, Cell::Text("-7"), "-7");
    is(Form::Integer, Cell::Real(5.0), "5");
    refused(Form::Integer, Cell::Real(5.7));
    refused(Form::Integer, Cell::Real(1e300));
    refused(Form::Integer, Cell::Number("5.7"));
    refused(Form::Integer, Cell::Text("5 apples"));
    refused(Form::Integer, Cell::Text(""));
    is(Form::String, Cell::Integer(i64::MIN), "\"-9223372036854775808\"");
}

#[test]
fn decimals_keep_their_digits_as_numbers_and_as_strings() {
    is(Form::Number, Cell::Number("0.1000000000000000055"), "0.1000000000000000055");
    is(Form::String, Cell::Number("12.50"), "\"12.50\"");
    is(Form::Number, Cell::Real(0.1), "0.1");
    is(Form::Number, Cell::Real(1e300), "1e300");
    is(Form::Number, Cell::Number("1e+20"), "1e+20");
}

#[test]
fn what_is_no_finite_number_is_refused() {
    for text in ["NaN", "Infinity", "-Infinity", "inf", "0x10", "01", "+1", "1."] {
        refused(Form::Number, Cell::Number(text));
        refused(Form::Integer, Cell::Number(text));
        refused(Form::String, Cell::Number(text));
    }
    refused(Form::Number, Cell::Real(f64::NAN));
    refused(Form::Any, Cell::Real(f64::INFINITY));
}

#[test]
fn truth_values_are_booleans_or_one_and_zero() {
    is(Form::Boolean, Cell::Boolean(true), "true");
    is(Form::Boolean, Cell::Integer(0), "false");
    refused(Form::Boolean, Cell::Integer(2));
    refused(Form::Boolean, Cell::Text("true"));
    is(Form::String, Cell::Boolean(false), "\"false\"");
}

#[test]
fn points_in_time_leave_in_utc_with_their_zone() {
    is(Form::DateTime, Cell::Timestamp("2026-11-30 18:20:21.5+00"), "\"2026-11-30T18:20:21.5Z\"");
    is(Form::DateTime, Cell::Text("2026-11-30T20:20:21+02:00"), "\"2026-11-30T18:20:21Z\"");
    is(Form::DateTime, Cell::Text("2026-11-30 18:20:21"), "\"2026-11-30T18:20:21Z\"");
    is(Form::Any, Cell::Timestamp("2026-11-30 18:20:21+00"), "\"2026-11-30T18:20:21Z\"");
    is(Form::String, Cell::Timestamp("2026-11-30 18:20:21+00"), "\"2026-11-30T18:20:21Z\"");
    for text in ["infinity", "0044-03-15 12:00:00+00 BC", "tomorrow"] {
        refused(Form::DateTime, Cell::Timestamp(text));
    }
    refused(Form::DateTime, Cell::Text("2026-11-30"));
    refused(Form::DateTime, Cell::Text("2026-13-30 18:20:21"));
    refused(Form::DateTime, Cell::Integer(1_796_000_000));
}

#[test]
fn dates_and_times_are_checked() {
    is(Form::Date, Cell::Text("2028-02-29"), "\"2028-02-29\"");
    refused(Form::Date, Cell::Text("2026-02-29"));
    refused(Form::Date, Cell::Text("2026-11-30 00:00:00"));
    refused(Form::Date, Cell::Text("infinity"));
    is(Form::Time, Cell::ZonedTime("18:20:21+02"), "\"18:20:21+02:00\"");
    is(Form::Time, Cell::Text("18:20:21.25Z"), "\"18:20:21.25Z\"");
    refused(Form::Time, Cell::Text("18:20:21"));
    refused(Form::Time, Cell::Text("25:00:00Z"));
    is(Form::String, Cell::Text("18:20:21"), "\"18:20:21\"");
}

#[test]
fn bytes_are_base64_only_where_declared() {
    is(Form::Base64, Cell::Blob(&[0, 255, 16]), "\"AP8Q\"");
    is(Form::Base64, Cell::Hex("\\x00ff10"), "\"AP8Q\"");
    is(Form::Base64, Cell::Hex("\\x"), "\"\"");
    refused(Form::Base64, Cell::Hex("\\x0"));
    refused(Form::Base64, Cell::Text("AP8Q"));
    refused(Form::String, Cell::Blob(b"text"));
}

#[test]
fn stored_json_is_passed_on_as_it_is_if_it_is_json() {
    is(Form::Json, Cell::Json("{\"b\":1.0,\"a\":9007199254740993}"), "{\"b\":1.0,\"a\":9007199254740993}");
    is(Form::Json, Cell::Text(" [1, 2] "), "[1, 2]");
    refused(Form::Json, Cell::Text("{\"a\":1,\"a\":2}"));
    refused(Form::Json, Cell::Text("{'a':1}"));
}

#[test]
fn text_is_escaped_and_kept() {
    is(Form::String, Cell::Text("a\"b\\c\u{0}\u{1f}é💡\u{2028}"), "\"a\\\"b\\\\c\\u0000\\u001fé💡\u{2028}\"");
}
