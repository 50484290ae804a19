//! Arbitrary text as a header, a token, claims and a set of keys.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_adapters::fuzzing::credential(bytes));
