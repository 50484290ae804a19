//! Arbitrary text as a SQL statement with parameters.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_adapters::fuzzing::sql(bytes));
