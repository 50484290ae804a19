//! Finds characters that a person does not see and a model reads: bidirectional overrides, tag
//! characters and raw terminal controls.
//!
//! It reports, it never removes: real text in real scripts uses joiners and marks, and those are not
//! counted. The check step calls it.

/// True when the text holds a character whose only use in a tool result is to hide something.
pub(crate) fn has_hidden_text(json: &str) -> bool {
    // Nearly all results are ASCII without escapes, which one pass rules out. It takes no early way out,
    // so that it can look at many bytes at a time.
    let suspect = json.bytes().fold(false, |found, byte| found | (byte >= 0x7f) | (byte == b'\\'));
    suspect && (has_hidden_escape(json) || json.chars().any(is_hidden))
}

/// Escaped spellings: JSON text may write any of these characters as `\uXXXX`.
fn has_hidden_escape(json: &str) -> bool {
    let mut rest = json;
    // One byte is searched for, which is much cheaper than two; most results have no escape at all.
    while let Some(at) = rest.find('\\') {
        if !rest.get(at + 1..).is_some_and(|escape| escape.starts_with('u')) {
            // What is escaped is skipped: it may be another backslash. It is ASCII, so the cut is right.
            rest = rest.get(at + 2..).unwrap_or_default();
            continue;
        }
        let digits = rest.get(at + 2..at + 6).unwrap_or_default();
        let unit = u32::from_str_radix(digits, 16).unwrap_or_default();
        // The high surrogate DB40 leads to the tag characters U+E0000 to U+E00FF.
        if unit == 0xDB40 || char::from_u32(unit).is_some_and(is_hidden) {
            return true;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{1b}' | '\u{7f}' | '\u{80}'..='\u{9f}'      // terminal controls
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // bidirectional overrides and isolates
        | '\u{2060}'..='\u{2064}' | '\u{feff}'           // invisible operators
        | '\u{e0000}'..='\u{e007f}'                      // tag characters
    )
}

#[cfg(test)]
mod tests {
    use super::has_hidden_text;

    #[test]
    fn hidden_characters_are_found_plain_and_escaped() {
        for text in [
            "a\u{202e}b",
            "a\u{7f}b",
            "\u{e0041}",
            "\"\\u202e\"",
            "\"\\udb40\\udc41\"",
            "\"\\u001b[31m\"",
            "x\u{9b}y",
        ] {
            assert!(has_hidden_text(text), "{text:?}");
        }
    }

    #[test]
    fn real_text_in_real_scripts_is_left_alone() {
        for text in [
            "plain",
            "می\u{200c}خواهم",
            "👩\u{200d}👩\u{200d}👧",
            "日本語",
            "\"\\u00e9\\n\"",
            "C:\\\\udir",
            "C:\\\\u202e",
        ] {
            assert!(!has_hidden_text(text), "{text:?}");
        }
    }
}
