//! Printing to people and programs who may be gone.
//!
//! `println!` panics when the reader has closed its end, as `head` does; here what nobody reads is
//! dropped. All commands print through these macros.

use std::fmt::Arguments;
use std::io::{self, Write as _};

/// Prints to standard output.
pub(crate) fn out(text: Arguments<'_>) {
    let _ = io::stdout().write_fmt(text);
}

/// Prints to standard error.
pub(crate) fn err(text: Arguments<'_>) {
    let _ = io::stderr().write_fmt(text);
}

/// A line on standard output.
macro_rules! say {
    () => { $crate::print::out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::print::out(format_args!("{}\n", format_args!($($text)*))) };
}

/// A line on standard error.
macro_rules! warn_line {
    ($($text:tt)*) => { $crate::print::err(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {say, warn_line};
