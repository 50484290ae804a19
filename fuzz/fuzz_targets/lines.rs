//! Arbitrary bytes as what a client writes to standard input, in reads of any size.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callgate_server::fuzzing::lines(bytes));
