//! What a tool says that is one SQL query.
//!
//! Only the words are read here; names of columns, parameters and schemas are checked by the build step.
//! The tool is the caller.

use schemars::JsonSchema;

use crate::config::finding::{Finding, Place};
use crate::config::located::Located;
use crate::config::reader::{Table, meant};
use crate::config::shape::Shape;

/// One SQL query on a database.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(extend("required" = ["description", "sql", "output"]))]
pub struct Query {
    /// One query. `:name` is an input property, `:tenant` and `:principal` are the caller's. An optional
    /// property that is absent binds NULL.
    pub sql: Option<Located<String>>,
    /// Pages with a cursor. Without it, rows beyond `max_rows` are cut off and marked.
    pub page: Option<Page>,
    /// How the rows reach the caller. Default: in the message, cut off and marked where they are too many.
    pub deliver: Option<Located<Deliver>>,
    /// What becomes of texts in a CSV file that a spreadsheet would calculate. Default: `escape`.
    pub formulas: Option<Located<Formulas>>,
    /// The name of the array of rows in the output. Default: `rows`.
    pub items: Option<Located<String>>,
    /// The input: a table of properties, a JSON Schema, or the name of a `.json` file that holds one.
    pub input: Option<Shape>,
    /// A row of the output: a table of columns, a JSON Schema, or the name of a `.json` file that holds one.
    pub output: Option<Shape>,
}

/// How rows reach the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Deliver {
    /// As a CSV file behind a link, whole or not at all.
    Csv,
    /// As a file of JSON Lines behind a link, whole or not at all.
    Jsonl,
    /// In the message, or behind a link when they are more than `max_bytes`.
    Overflow,
}

/// What becomes of texts that begin like a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Formulas {
    /// An apostrophe before them keeps them texts.
    Escape,
    /// They stay as they are.
    Keep,
}

const DELIVER: &[(&str, Deliver)] =
    &[("csv", Deliver::Csv), ("jsonl", Deliver::Jsonl), ("overflow", Deliver::Overflow)];

const FORMULAS: &[(&str, Formulas)] = &[("escape", Formulas::Escape), ("keep", Formulas::Keep)];

/// Pages over a query.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Page {
    /// Rows of one page.
    #[schemars(required, range(min = 1, max = 10_000))]
    pub size: Option<Located<u64>>,
    /// The columns that order the rows, the last one unique: `["due_on desc", "reference"]`.
    #[schemars(with = "Vec<String>")]
    pub key: Vec<PageKey>,
}

/// One column that orders the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// The column of the query.
    pub column: Located<String>,
    /// The direction, where one is given; otherwise it is that of the query's `order by`.
    pub direction: Option<Direction>,
}

/// A direction of sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

impl Query {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        let sql = table.required_string("sql", "\"select ...\"");
        let page_name = format!("`page` of {}", table.name());
        let page = table.table("page", page_name).map(Page::read);
        let input = Shape::read(table, "input");
        if table.value("output").is_none() {
            table.missing("output", "{ reference = { type = \"string\" } }");
        }
        let output = Shape::read(table, "output");
        let deliver = table.choice("deliver", DELIVER);
        let formulas = table.choice("formulas", FORMULAS);
        let query = Self { sql, page, deliver, formulas, items: table.string("items"), input, output };
        query.check(table);
        query
    }
}

impl Query {
    /// Reports keys that do not go together with how the rows are delivered.
    fn check(&self, table: &Table<'_, '_>) {
        let deliver = self.deliver.as_ref().map(|deliver| **deliver);
        let conflict = |place: &Place, message: &str, remedy: &str| {
            table.reading().report(place.span(), Finding::error("conflict", message, remedy));
        };
        if let (Some(_), Some(page)) = (deliver, self.page.as_ref().and_then(|page| page.size.as_ref())) {
            let message = "a result that is delivered behind a link has no pages: it is whole";
            conflict(page.place(), message, "remove `page`, or remove `deliver`");
        }
        let is_file = matches!(deliver, Some(Deliver::Csv | Deliver::Jsonl));
        if let Some(items) = self.items.as_ref().filter(|_| is_file) {
            conflict(items.place(), "a file has no array of rows", "remove `items`");
        }
        if let Some(formulas) = self.formulas.as_ref().filter(|_| deliver != Some(Deliver::Csv)) {
            let message = "only a CSV file has formulas";
            conflict(formulas.place(), message, "remove `formulas`, or write `deliver = \"csv\"`");
        }
    }
}

impl Page {
    fn read(mut table: Table<'_, '_>) -> Self {
        if table.value("size").is_none() {
            table.missing("size", "50");
        }
        let size = table.integer("size", 1..=10_000);
        if table.value("key").is_none() {
            table.missing("key", "[\"due_on desc\", \"reference\"]");
        }
        let words = table.strings("key");
        let mut key: Vec<PageKey> = Vec::new();
        for word in words.iter().flat_map(|words| words.iter()) {
            if let Some(part) = read_key(word, &table) {
                if key.iter().any(|other| *other.column == *part.column) {
                    let message = format!("the page key names the column `{}` twice", part.column.as_str());
                    let finding = Finding::error("duplicate_key", message, "remove one of them");
                    table.reading().report(word.place().span(), finding);
                } else {
                    key.push(part);
                }
            }
        }
        if let Some(words) = words.filter(|words| words.is_empty()) {
            let finding = Finding::error(
                "empty_value",
                "the page key is empty",
                "name the columns that order the rows, the last one unique, for example `key = [\"id\"]`",
            );
            table.reading().report(words.place().span(), finding);
        }
        table.finish();
        Self { size, key }
    }
}

fn read_key(word: &Located<String>, table: &Table<'_, '_>) -> Option<PageKey> {
    let mut parts = word.split_whitespace();
    let column = parts.next().unwrap_or_default();
    let direction = parts.next().map(str::to_lowercase);
    let direction = match direction.as_deref() {
        None => None,
        Some("asc") => Some(Direction::Ascending),
        Some("desc") => Some(Direction::Descending),
        Some(other) => {
            let finding = Finding::error(
                "unknown_value",
                format!("{other:?} is no direction{}", meant(other, &["asc", "desc"])),
                "write the column alone, or the column and `asc` or `desc`",
            );
            table.reading().report(word.place().span(), finding);
            return None;
        }
    };
    if column.is_empty() || parts.next().is_some() {
        let finding = Finding::error(
            "invalid_key",
            "a part of the page key is a column and its direction",
            "write it as in `\"due_on desc\"`",
        );
        table.reading().report(word.place().span(), finding);
        return None;
    }
    Some(PageKey { column: Located::new(column.to_owned(), word.place().clone()), direction })
}
