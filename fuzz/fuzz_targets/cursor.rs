//! Arbitrary bytes as the cursor of a list and as sealed text.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_server::fuzzing::cursor(bytes));
