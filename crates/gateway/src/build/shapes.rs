//! The schemas of a SQL tool: its input with the cursor, and its output around the rows.
//!
//! The texts are put together from the texts that were written, so no digit of them changes. The
//! judge of tools calls it.

use callgate_core::contract::Mask;
use callgate_protocol::json::{self, Document, push_string};

use crate::config::{FieldMask, ObjectSchema};

/// What the cursor is for, as a model reads it.
const CURSOR: &str = r#"{"type":"string","maxLength":8192,"description":"The nextCursor of the page before, unchanged, to get the next page; leave it out for the first page"}"#;

/// Members of a row's schema that only work at the root.
const ROOT_ONLY: &[&str] = &["$schema", "$defs", "definitions"];

/// The input of a paged tool.
pub(super) fn with_cursor(input: ObjectSchema) -> ObjectSchema {
    // A cursor that was declared is reported elsewhere.
    if input.property("cursor").is_some() { input } else { input.with_property("cursor", CURSOR) }
}

/// The output of a tool whose rows have this schema. `paged` is whether there can be a next page.
pub(super) fn output(items: &str, row: &ObjectSchema, max_rows: usize, paged: bool) -> String {
    let mut text = String::from("{");
    let mut kept = String::from("{");
    if let Ok(document) = Document::parse(row.text.as_str(), &json::Limits::default()) {
        for (key, value) in document.root().members() {
            let root = ROOT_ONLY.iter().any(|name| key.is_str(name));
            let into = if root { &mut text } else { &mut kept };
            if into.len() > 1 {
                into.push(',');
            }
            into.push_str(key.raw());
            into.push(':');
            into.push_str(value.raw());
        }
    }
    kept.push('}');
    if text.len() > 1 {
        text.push(',');
    }
    text.push_str("\"type\":\"object\",\"properties\":{");
    push_string(&mut text, items);
    text.push_str(&format!(":{{\"type\":\"array\",\"maxItems\":{max_rows},\"items\":{kept}}}"));
    if paged {
        text.push_str(
            r#","nextCursor":{"type":"string","description":"There are more rows: pass this as cursor"}"#,
        );
    }
    text.push_str(
        r#","truncated":{"type":"boolean","description":"True when a limit of this server left out rows"}},"required":["#,
    );
    push_string(&mut text, items);
    text.push_str(",\"truncated\"],\"additionalProperties\":false}");
    text
}

/// A masked field of a row, as a masked field of the output.
pub(super) fn mask(items: &str, mask: &FieldMask) -> Mask {
    let items = items.replace('~', "~0").replace('/', "~1");
    Mask::new(format!("/{items}/*{}", mask.path), mask.keep_last)
}

/// The pointer into a row's schema that belongs to a pointer into the output's schema.
pub(super) fn row_pointer<'p>(items: &str, pointer: &'p str) -> &'p str {
    let prefix = format!("/properties/{}/items", items.replace('~', "~0").replace('/', "~1"));
    pointer.strip_prefix(&prefix).unwrap_or(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Place, SourceFile};

    fn place() -> Place {
        SourceFile::new("a", "a").place(0..1)
    }

    fn schema(text: &str) -> ObjectSchema {
        ObjectSchema { text: text.to_owned(), from_table: false, ..ObjectSchema::empty(place()) }
    }

    #[test]
    fn definitions_of_a_row_move_to_the_root_where_their_references_point() {
        let row = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"maximum":9007199254740993}}}"##;
        assert_eq!(
            output("rows", &schema(row), 3, false),
            r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"x":{"maximum":9007199254740993}},"type":"object","properties":{"rows":{"type":"array","maxItems":3,"items":{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}},"truncated":{"type":"boolean","description":"True when a limit of this server left out rows"}},"required":["rows","truncated"],"additionalProperties":false}"##
        );
        assert_eq!(row_pointer("rows", "/properties/rows/items/properties/a"), "/properties/a");
        assert_eq!(row_pointer("rows", "/$defs/x"), "/$defs/x");
    }

    #[test]
    fn the_cursor_joins_the_properties_of_a_whole_schema() {
        let input = schema(r#"{"type":"object","properties":{},"required":[]}"#);
        let text = with_cursor(input).text;
        assert!(text.starts_with(r#"{"type":"object","properties":{"cursor":{"type":"string""#), "{text}");
        assert!(text.ends_with(r#"}},"required":[]}"#), "{text}");
    }
}
