//! The binary as a person or a client meets it.

mod check;
mod demo;
mod examples;
mod serve;
mod support;
