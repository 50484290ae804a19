//! The benchmark: starts each server, drives it with valid MCP requests, checks every answer, reports.
//!
//! Run by `cargo xtask bench server`, which builds everything first and passes the paths. It never
//! reports a number for an answer that it did not check, and it sends traffic to loopback only.

mod aims;
mod case;
mod figures;
mod http;
mod measure;
mod message;
mod options;
mod peers;
mod process;
mod read_path;
mod report;
mod stdio;
mod subject;
mod valgrind;

use std::process::ExitCode;

use crate::options::{Mode, Options};

/// Any failure of the harness itself; what a server does wrong is said in the message.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let options = match Options::from_args() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    let outcome = match options.mode {
        Mode::Bench => measure::run(&options),
        Mode::Guard => valgrind::guard(&options),
        Mode::Profile => valgrind::profile(&options).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
