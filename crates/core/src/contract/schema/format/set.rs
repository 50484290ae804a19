//! Sets of ASCII characters, looked up by the byte.
//!
//! Bytes of other characters are in no set. The formats call it.

/// A set of ASCII characters, looked up by the byte.
pub(super) struct Set([bool; 256]);

impl Set {
    /// Letters, digits and these marks.
    pub(super) const fn with(marks: &[u8]) -> Self {
        let mut set = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            set[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let mut at = 0;
        while at < marks.len() {
            set[marks[at] as usize] = true;
            at += 1;
        }
        Self(set)
    }

    #[inline]
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or_default()
    }
}
