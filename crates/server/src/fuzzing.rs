//! Bodies of the fuzz targets, so that ordinary tests replay their corpus.
//!
//! They must never do anything but panic on a broken promise. The targets in `fuzz/` and a test call them.

use std::time::Duration;

use callgate_core::port::{Clock, Entropy, EntropyError, Timestamp};
use callgate_core::principal::Principal;
use callgate_core::seal::{Binding, KeyRing};

use crate::endpoint::{ListKind, cursor};

/// A time that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

impl Entropy for Still {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        buffer.fill(7);
        Ok(())
    }
}

/// Takes any bytes for a cursor that a client sends back. What is no cursor of ours is refused, what is one
/// has one spelling and belongs to one list, and a changed seal never opens.
///
/// # Panics
/// When a promise does not hold.
pub fn cursor(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for kind in [ListKind::Tools, ListKind::Resources, ListKind::Templates, ListKind::Prompts] {
        if let Some(key) = cursor::decode(kind, "", text) {
            assert_eq!(cursor::encode(kind, "", &key), text, "a cursor has one spelling");
        }
        let ours = cursor::encode(kind, "", text);
        // A key that is too long for a cursor is not found again, and never another one in its place.
        assert!(cursor::decode(kind, "", &ours).is_none_or(|key| key == text), "a cursor leads to its entry");
        let other = if kind == ListKind::Tools { ListKind::Prompts } else { ListKind::Tools };
        assert!(cursor::decode(other, "", &ours).is_none(), "a cursor belongs to one list");
        assert!(cursor::decode(kind, "tag", &ours).is_none(), "a cursor belongs to one set of callers");
    }
    sealed(bytes, text);
}

/// The same for sealed text, which pages of rows and the state of a call travel in.
fn sealed(bytes: &[u8], text: &str) {
    let keys = KeyRing::new([(1, [1; 32]), (2, [2; 32])]);
    let principal = Principal::new("p");
    let binding =
        Binding { purpose: "cursor", principal: &principal, subject: "t", contract: None, input: None };
    assert!(keys.open(&binding, text, &Still).is_err(), "nobody guesses a seal");
    let Ok(ours) = keys.seal(&binding, bytes, Duration::from_secs(1), &Still, &Still) else { return };
    if let Ok(opened) = keys.open(&binding, &ours, &Still) {
        assert_eq!(opened, bytes, "a seal keeps its payload");
    }
    let other = Binding { subject: "u", ..binding };
    assert!(keys.open(&other, &ours, &Still).is_err(), "a seal is bound");
    let mut changed = ours.into_bytes();
    let at = bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % changed.len().max(1);
    if let Some(character) = changed.get_mut(at) {
        *character = if *character == b'A' { b'B' } else { b'A' };
    }
    let changed = String::from_utf8(changed).unwrap_or_default();
    assert!(keys.open(&binding, &changed, &Still).is_err(), "a changed seal never opens");
}

#[cfg(test)]
mod tests {
    use std::fs;

    #[test]
    fn cursors_hold_their_properties_over_the_corpus() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/cursor");
        let mut inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty());
        for input in inputs {
            super::cursor(&fs::read(input).unwrap());
        }
    }
}
