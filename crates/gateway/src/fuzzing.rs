//! Bodies of the fuzz targets, so that ordinary tests replay their corpus.
//!
//! Nothing here touches a file or a store. The targets in `fuzz/` and the corpus tests call it.

use crate::config::{Limits, Report, parse};

/// Reads any bytes as a configuration and renders what is wrong with them.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (_, findings) = parse("callgate.toml", text, &Limits::default());
    let _ = Report::new(findings).to_string();
}
