//! Arbitrary bytes as a `callgate.toml`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_gateway::fuzzing::config(bytes));
