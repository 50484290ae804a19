//! The gate as a caller meets it, with fakes only where a port has no simple real implementation.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod approvals;
mod effects;
mod evidence;
mod keeping;
mod limits;
mod masking;
mod pipeline;
mod rounds;
mod support;
