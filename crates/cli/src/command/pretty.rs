//! JSON laid out for people, every digit and escape kept.
//!
//! Only the demonstration calls it; what it shows has been checked before.

use callgate_protocol::json::{Document, Kind, Limits, Value};

/// The text with line breaks and two spaces for each level, or the text itself if it is not JSON.
pub(crate) fn pretty(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    match Document::parse(text, &Limits::DEFAULT) {
        Ok(document) => write(document.root(), 0, &mut out),
        Err(_) => out.push_str(text),
    }
    out
}

fn write(value: Value<'_>, level: usize, out: &mut String) {
    match value.kind() {
        Kind::Array | Kind::Object if !value.is_empty() => {
            let (open, close) = if value.kind() == Kind::Array { ('[', ']') } else { ('{', '}') };
            out.push(open);
            let mut first = true;
            let mut begin = |out: &mut String| {
                out.push_str(if std::mem::take(&mut first) { "\n" } else { ",\n" });
                indent(level + 1, out);
            };
            for item in value.items() {
                begin(out);
                write(item, level + 1, out);
            }
            for (name, member) in value.members() {
                begin(out);
                out.push_str(name.raw());
                out.push_str(": ");
                write(member, level + 1, out);
            }
            out.push('\n');
            indent(level, out);
            out.push(close);
        }
        _ => out.push_str(value.raw()),
    }
}

fn indent(level: usize, out: &mut String) {
    for _ in 0..level {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn digits_and_escapes_survive_the_layout() {
        let text = r#"{"a":[1.0,9007199254740993,"\u00e9"],"b":{},"c":[]}"#;
        let expected = "{\n  \"a\": [\n    1.0,\n    9007199254740993,\n    \"\\u00e9\"\n  ],\n  \"b\": {},\n  \"c\": []\n}";
        assert_eq!(pretty(text), expected);
        assert_eq!(pretty("not json"), "not json");
    }
}
