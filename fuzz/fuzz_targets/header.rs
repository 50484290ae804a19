//! Arbitrary bytes as a header value, and as a schema with mirrored parameters.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_protocol::fuzzing::header(bytes));
