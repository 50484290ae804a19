//! Arbitrary bytes as the inside of a page cursor.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_gateway::fuzzing::cursor(bytes));
