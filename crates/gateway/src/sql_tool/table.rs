//! Rows as the text of a file: CSV as RFC 4180 has it, or JSON Lines.
//!
//! A number keeps the digits that it has. NULL and an absent value are an empty field; an empty text is a
//! quoted one. A text that a spreadsheet would take for a formula gets an apostrophe before it, unless the file
//! says to keep it. The delivery of a SQL tool calls it.

use callgate_protocol::json::{Kind, Value};

/// The form of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Comma-separated values with a header.
    Csv(Formulas),
    /// One JSON object a line.
    JsonLines,
}

/// What becomes of texts that a spreadsheet would calculate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Formulas {
    /// An apostrophe before them keeps them texts.
    Escaped,
    /// They stay as they are.
    Kept,
}

impl Format {
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Csv(_) => "text/csv",
            Self::JsonLines => "application/x-ndjson",
        }
    }

    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Self::Csv(_) => "csv",
            Self::JsonLines => "jsonl",
        }
    }

    /// What stands before the rows.
    pub(crate) fn head<'n>(self, names: impl Iterator<Item = &'n str>) -> String {
        let Self::Csv(formulas) = self else { return String::new() };
        let mut out = String::new();
        for (at, name) in names.enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_text(&mut out, name, formulas);
        }
        out.push_str("\r\n");
        out
    }

    /// Appends a row, which is an object with some of these members.
    pub(crate) fn push_row<'n>(self, out: &mut String, names: impl Iterator<Item = &'n str>, row: Value<'_>) {
        let Self::Csv(formulas) = self else {
            out.push_str(row.raw());
            out.push('\n');
            return;
        };
        for (at, name) in names.enumerate() {
            if at > 0 {
                out.push(',');
            }
            let Some(value) = row.get(name) else { continue };
            match value.kind() {
                Kind::Null => {}
                Kind::String => push_text(out, &value.as_str().unwrap_or_default(), formulas),
                Kind::Boolean | Kind::Number => out.push_str(value.raw()),
                Kind::Array | Kind::Object => push_quoted(out, value.raw()),
            }
        }
        out.push_str("\r\n");
    }
}

fn push_text(out: &mut String, text: &str, formulas: Formulas) {
    let is_formula = formulas == Formulas::Escaped
        && text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let needs_quotes = text.is_empty()
        || text.starts_with([' ', '\''])
        || text.ends_with(' ')
        || text.contains([',', '"', '\r', '\n']);
    match (is_formula, needs_quotes) {
        (false, false) => out.push_str(text),
        (true, false) => {
            out.push('\'');
            out.push_str(text);
        }
        (true, true) => push_quoted(out, &format!("'{text}")),
        (false, true) => push_quoted(out, text),
    }
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for part in text.split_inclusive('"') {
        out.push_str(part);
        if part.ends_with('"') {
            out.push('"');
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::{Format, Formulas};

    fn row(format: Format, json: &str) -> String {
        let document = Document::parse(json, &Limits::DEFAULT).unwrap();
        let mut out = String::new();
        format.push_row(&mut out, ["a", "b"].into_iter(), document.root());
        out
    }

    #[test]
    fn a_row_of_csv_keeps_digits_quotes_what_must_be_and_tells_null_from_empty() {
        let csv = Format::Csv(Formulas::Escaped);
        for (json, expected) in [
            (r#"{"a":1,"b":2}"#, "1,2"),
            (r#"{"b":90071992547409931234.50,"a":-5}"#, "-5,90071992547409931234.50"),
            (r#"{"a":null}"#, ","),
            (r#"{"a":"","b":" x"}"#, "\"\",\" x\""),
            (r#"{"a":"x, y","b":"say \"hi\""}"#, "\"x, y\",\"say \"\"hi\"\"\""),
            (r#"{"a":"one\r\ntwo","b":true}"#, "\"one\r\ntwo\",true"),
            (r#"{"a":[1, "x"],"b":{"c":1}}"#, "\"[1, \"\"x\"\"]\",\"{\"\"c\"\":1}\""),
            (r#"{"a":"\"","b":"Zoë 💡"}"#, "\"\"\"\",Zoë 💡"),
            (r#"{"a":"=1+1","b":"-5"}"#, "'=1+1,'-5"),
            (r#"{"a":"@SUM(A1,A2)","b":"\t=1"}"#, "\"'@SUM(A1,A2)\",'\t=1"),
            (r#"{"a":"a=b","b":"1-2"}"#, "a=b,1-2"),
        ] {
            assert_eq!(row(csv, json), format!("{expected}\r\n"), "{json}");
        }
        assert_eq!(row(Format::Csv(Formulas::Kept), r#"{"a":"=1+1","b":"-5"}"#), "=1+1,-5\r\n");
        assert_eq!(csv.head(["a", "b,c"].into_iter()), "a,\"b,c\"\r\n");
    }

    #[test]
    fn a_line_of_json_is_the_row_as_it_is() {
        let json = r#"{"a":90071992547409931234.50,"b":null}"#;
        assert_eq!(row(Format::JsonLines, json), format!("{json}\n"));
        assert_eq!(Format::JsonLines.head(["a"].into_iter()), "");
    }
}
