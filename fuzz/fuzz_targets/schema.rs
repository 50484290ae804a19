//! Arbitrary text as a schema, and after a NUL byte as the value that it judges.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_core::contract::schema::fuzzing::fuzz_schema(bytes));
