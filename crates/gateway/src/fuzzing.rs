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

/// Reads any bytes as the inside of a cursor; what is read must be written the same way.
///
/// # Panics
/// When a key that was read is written differently.
pub fn cursor(bytes: &[u8]) {
    if let Some(key) = crate::cursor::key::decode(bytes) {
        assert!(crate::cursor::key::encode(&key) == bytes, "a key is written as it was read");
    }
}

#[cfg(test)]
mod tests {
    fn replay(target: &str, run: impl Fn(&[u8]), least: usize) {
        let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            run(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= least, "the corpus of {target} is there");
    }

    #[test]
    fn the_loader_holds_its_properties_over_the_corpus() {
        replay("config", super::config, 5);
    }

    #[test]
    fn the_cursor_holds_its_properties_over_the_corpus() {
        replay("page_key", super::cursor, 4);
    }
}
