//! What a tool says that is a list of SQL statements which change rows.
//!
//! Only the words are read here; what the statements do is checked by the build step. The tool is the caller.

use schemars::JsonSchema;

use crate::config::finding::Finding;
use crate::config::located::Located;
use crate::config::reader::Table;
use crate::config::shape::Shape;

/// SQL statements that are carried out together or not at all.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(extend("required" = ["description", "statements"]))]
pub struct Write {
    /// The statements in their order, 1 to 20. The source must say `writes = true`.
    #[schemars(with = "Option<Vec<StatementTable>>")]
    pub statements: Option<Located<Vec<StatementTable>>>,
    /// The input that holds the version that the caller has seen. A statement compares it, and changes no row when it is
    /// another one now; the caller is told so.
    pub precondition: Option<Located<String>>,
    /// The name of the array of rows in the output. Without it the output of a last statement with exactly one row is
    /// that row.
    pub items: Option<Located<String>>,
    /// The input: a table of properties, a JSON Schema, or the name of a `.json` file that holds one.
    pub input: Option<Shape>,
    /// What of the last statement is the result: columns that it gives with `returning`. Default: how many rows were
    /// changed, as `changed`.
    pub output: Option<Shape>,
}

/// One statement.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StatementTable {
    /// One `insert`, `update`, `delete` or `select`. `:name` is an input property, `:tenant` and `:principal` are the
    /// caller's. An optional property that is absent binds NULL.
    #[schemars(required)]
    pub sql: Option<Located<String>>,
    /// How many rows it must change; with fewer or more nothing at all is changed. Default: exactly one.
    pub rows: Option<RowsTable>,
}

/// How many rows a statement must change.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RowsTable {
    /// The fewest.
    #[schemars(required, range(min = 0, max = 100_000))]
    pub min: Option<Located<u64>>,
    /// The most.
    #[schemars(required, range(min = 0, max = 100_000))]
    pub max: Option<Located<u64>>,
}

const EXAMPLE: &str = "[{ sql = \"insert into ticket (id, title) values (:id, :title)\" }]";

/// How many statements a tool may have.
const STATEMENTS_MAX: usize = 20;

impl Write {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        let statements = table.tables("statements", EXAMPLE);
        if let Some(list) = statements.as_ref().filter(|list| list.is_empty() || list.len() > STATEMENTS_MAX)
        {
            let message = format!("{} has {} statements", table.name(), list.len());
            let remedy = format!("write 1 to {STATEMENTS_MAX}, as in `statements = {EXAMPLE}`");
            table.reading().report(list.place().span(), Finding::error("out_of_range", message, remedy));
        }
        let statements = statements.map(|list| {
            let place = list.place().clone();
            Located::new(list.into_value().into_iter().map(StatementTable::read).collect(), place)
        });
        Self {
            statements,
            precondition: table.string("precondition"),
            items: table.string("items"),
            input: Shape::read(table, "input"),
            output: Shape::read(table, "output"),
        }
    }
}

impl StatementTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        let sql = table.required_string("sql", "\"insert into ...\"");
        let name = format!("`rows` of {}", table.name());
        let rows = table.table("rows", name).map(RowsTable::read);
        table.finish();
        Self { sql, rows }
    }

    /// The fewest and the most rows.
    pub(crate) fn bounds(&self) -> (u64, u64) {
        let number = |number: &Option<Located<u64>>| number.as_ref().map_or(1, |number| **number);
        self.rows.as_ref().map_or((1, 1), |rows| (number(&rows.min), number(&rows.max)))
    }
}

impl RowsTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        for (key, example) in [("min", "0"), ("max", "1")] {
            if table.value(key).is_none() {
                table.missing(key, example);
            }
        }
        let rows = Self { min: table.integer("min", 0..=100_000), max: table.integer("max", 0..=100_000) };
        if let (Some(min), Some(max)) = (&rows.min, &rows.max)
            && **min > **max
        {
            let message = format!("{} asks for at least {} rows and at most {}", table.name(), **min, **max);
            let finding = Finding::error("out_of_range", message, "make `max` as large as `min`, or larger");
            table.reading().report(max.place().span(), finding);
        }
        table.finish();
        rows
    }
}
