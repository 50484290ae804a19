//! Keeping passwords that somebody wrote into the file out of everything that shows the file.
//!
//! A finding shows source lines, and reports go to terminals, logs and bug trackers. The loader calls
//! this before any place in the file exists.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// True for a URL that carries a password.
pub(crate) fn has_password(url: &str) -> bool {
    let Some((_, after_scheme)) = url.split_once("://") else { return false };
    let authority = after_scheme.split(['/', '?']).next().unwrap_or_default();
    let in_authority = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    in_authority || url.to_lowercase().contains("password=")
}

/// The text with every character of a URL that carries a password replaced by `*`.
pub(crate) fn blotted(text: &str, document: &DeTable<'_>) -> String {
    let mut spans = Vec::new();
    for (_, value) in document {
        find(value, &mut spans);
    }
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        for byte in bytes.get_mut(span).unwrap_or_default() {
            if !matches!(byte, b'\n' | b'\r' | b'"' | b'\'') {
                *byte = b'*';
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn find(value: &Spanned<DeValue<'_>>, spans: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::String(text) if has_password(text) => spans.push(value.span()),
        DeValue::Array(items) => items.iter().for_each(|item| find(item, spans)),
        DeValue::Table(table) => table.iter().for_each(|(_, member)| find(member, spans)),
        _ => {}
    }
}
