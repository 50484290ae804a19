//! `[tool.*]`: tools that are one SQL query each.
//!
//! This file knows what a tool may say, not whether it is true: names of sources, SQL and schemas are
//! checked by the build step. The loader calls it.

use schemars::JsonSchema;

use super::finding::Finding;
use super::located::Located;
use super::reader::{Table, meant};
use super::shape::Shape;

/// A tool that is one SQL query.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Tool {
    /// The name under its header, `invoice_list` in `[tool.invoice_list]`.
    #[schemars(skip)]
    pub name: Located<String>,
    /// A name for people.
    pub title: Option<Located<String>>,
    /// What the tool does, when to use it and when not, what the input means and how the output is bounded.
    #[schemars(required)]
    pub description: Option<Located<String>>,
    /// What a call changes outside. This version serves `read`, `external_read` and `preview`.
    #[schemars(required)]
    pub effect: Option<Located<Effect>>,
    /// The name of the source that the query runs on.
    #[schemars(required)]
    pub source: Option<Located<String>>,
    /// One query. `:name` is an input property, `:tenant` and `:principal` are the caller's. An optional
    /// property that is absent binds NULL.
    #[schemars(required)]
    pub sql: Option<Located<String>>,
    /// Pages with a cursor. Without it, rows beyond `max_rows` are cut off and marked.
    pub page: Option<Page>,
    /// The name of the array of rows in the output. Default: `rows`.
    pub items: Option<Located<String>>,
    /// How long a call may take, in milliseconds. Default: the one of `[limits]`.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub timeout_ms: Option<Located<u64>>,
    /// How many rows a result may have. Default: the one of `[limits]`.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_rows: Option<Located<u64>>,
    /// How many bytes the rows of a result may take as JSON. Default: the one of `[limits]`.
    #[schemars(range(min = 1_024, max = 16_777_216))]
    pub max_bytes: Option<Located<u64>>,
    /// The input: a table of properties, a JSON Schema, or the name of a `.json` file that holds one.
    pub input: Option<Shape>,
    /// A row of the output: a table of columns, a JSON Schema, or the name of a `.json` file that holds one.
    #[schemars(required)]
    pub output: Option<Shape>,
    /// Words that policies can refer to.
    pub labels: Option<Located<Vec<Located<String>>>>,
}

/// What a call changes outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing.
    Read,
    /// Nothing, but somebody else can see that it happened.
    ExternalRead,
    /// Nothing; it shows what a later call would do.
    Preview,
    /// It adds something. Not served by this version.
    Append,
    /// It changes something, and doing it twice is doing it once. Not served by this version.
    Update,
    /// It removes or overwrites something. Not served by this version.
    Destructive,
}

const EFFECTS: &[(&str, Effect)] = &[
    ("read", Effect::Read),
    ("external_read", Effect::ExternalRead),
    ("preview", Effect::Preview),
    ("append", Effect::Append),
    ("update", Effect::Update),
    ("destructive", Effect::Destructive),
];

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

impl Tool {
    pub(super) fn read(name: Located<String>, mut table: Table<'_, '_>) -> Self {
        check_name(&name, &table);
        let title = table.string("title");
        let description = table.required_string("description", "\"List the open invoices of ...\"");
        if table.value("effect").is_none() {
            table.missing("effect", "\"read\"");
        }
        let effect = table.choice_among("effect", EFFECTS, |effect| effect <= Effect::Preview);
        let source = table.required_string("source", "\"billing\"");
        let sql = table.required_string("sql", "\"select ...\"");
        let page_name = format!("`page` of {}", table.name());
        let page = table.table("page", page_name).map(Page::read);
        let input = Shape::read(&mut table, "input");
        if table.value("output").is_none() {
            table.missing("output", "{ reference = { type = \"string\" } }");
        }
        let tool = Self {
            name,
            title,
            description,
            effect,
            source,
            sql,
            page,
            items: table.string("items"),
            timeout_ms: table.integer("timeout_ms", 1..=3_600_000),
            max_rows: table.integer("max_rows", 1..=100_000),
            max_bytes: table.integer("max_bytes", 1024..=16_777_216),
            input,
            output: Shape::read(&mut table, "output"),
            labels: table.strings("labels"),
        };
        table.finish();
        tool
    }
}

fn check_name(name: &Located<String>, table: &Table<'_, '_>) {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        table.reading().report(
            name.place().span(),
            Finding::error(
                "invalid_name",
                format!("a tool cannot be named {:?}", name.as_str()),
                "use 1 to 64 of the characters A-Z a-z 0-9 _ - . (model providers refuse more)",
            ),
        );
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
