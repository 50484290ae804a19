//! The gate as a caller meets it, with fakes only where a port has no simple real implementation.

mod evidence;
mod pipeline;
mod rounds;
mod support;
