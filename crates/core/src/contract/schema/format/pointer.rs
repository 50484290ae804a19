//! JSON pointers, absolute and relative.
//!
//! `format.rs` calls it.

pub(super) fn is_json_pointer(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let mut bytes = text.bytes().peekable();
    if bytes.next() != Some(b'/') {
        return false;
    }
    while let Some(byte) = bytes.next() {
        if byte == b'~' && !matches!(bytes.peek(), Some(b'0' | b'1')) {
            return false;
        }
    }
    true
}

pub(super) fn is_relative_json_pointer(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, rest) = text.split_at(digits);
    let canonical = count == "0" || (!count.is_empty() && !count.starts_with('0'));
    canonical && (rest == "#" || is_json_pointer(rest))
}
