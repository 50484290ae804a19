//! The binary as a person or a client meets it.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod approvals;
mod audit;
mod authentication;
mod check;
mod demo;
mod examples;
#[cfg(target_os = "linux")]
mod full_disk;
mod http_tools;
mod policy;
mod reports;
mod seal;
mod serve;
mod store;
mod support;
