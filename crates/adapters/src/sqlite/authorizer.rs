//! What a statement may do: read, call functions that only compute, and change rows where its source is written to.
//!
//! SQLite asks for every part of a statement while it compiles it. Everything that is not named here
//! is refused, functions of later versions included. Connections call it.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reading.
    Read,
    /// Reading and changing rows.
    Write,
}

/// What was refused, for the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// The statement writes, by this verb.
    Writes(&'static str),
    /// A function is not on the list.
    Function(String),
    /// A table shows the inside of the store.
    Table(String),
    /// Something else that only concerns the connection, by this verb.
    Other(&'static str),
}

/// Functions that compute from their arguments, the time, or a random number; none that reaches a
/// file, loads code or changes the connection. Sorted.
const FUNCTIONS: &[&str] = &[
    "->",
    "->>",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg",
    "bm25",
    "ceil",
    "ceiling",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosh",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "degrees",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "highlight",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_each",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_tree",
    "json_type",
    "json_valid",
    "jsonb",
    "jsonb_array",
    "jsonb_extract",
    "jsonb_group_array",
    "jsonb_group_object",
    "jsonb_insert",
    "jsonb_object",
    "jsonb_patch",
    "jsonb_remove",
    "jsonb_replace",
    "jsonb_set",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "match",
    "max",
    "median",
    "min",
    "mod",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "percentile",
    "percentile_cont",
    "percentile_disc",
    "pi",
    "pow",
    "power",
    "printf",
    "quote",
    "radians",
    "random",
    "randomblob",
    "rank",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sin",
    "sinh",
    "snippet",
    "soundex",
    "sqrt",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "subtype",
    "sum",
    "tan",
    "tanh",
    "time",
    "timediff",
    "total",
    "trim",
    "trunc",
    "typeof",
    "unhex",
    "unicode",
    "unistr",
    "unistr_quote",
    "unixepoch",
    "unlikely",
    "upper",
    "zeroblob",
];

/// The schema, and virtual tables over pages, statements and memory of the store. `pragma_...` tables are
/// like them: one of them names the file. The statistics are not here: SQLite itself reads them.
const INTERNAL: &[&str] = &[
    "bytecode",
    "dbstat",
    "sqlite_dbpage",
    "sqlite_master",
    "sqlite_memstat",
    "sqlite_schema",
    "sqlite_stmt",
    "sqlite_temp_master",
    "sqlite_temp_schema",
    "tables_used",
];

/// Whether a table shows or is the inside of the store.
fn is_internal(table: &str) -> bool {
    let name = table.to_ascii_lowercase();
    name.starts_with("sqlite_") || name.starts_with("pragma_") || INTERNAL.contains(&name.as_str())
}

/// Whether a part of a statement is allowed.
pub(super) fn judge(context: &AuthContext<'_>, access: Access, denied: &mut Option<Denied>) -> Authorization {
    let refusal = match &context.action {
        AuthAction::Select | AuthAction::Recursive => return Authorization::Allow,
        AuthAction::Read { table_name, .. } => {
            let name = table_name.to_ascii_lowercase();
            if !name.starts_with("pragma_") && !INTERNAL.contains(&name.as_str()) {
                return Authorization::Allow;
            }
            Denied::Table(name)
        }
        AuthAction::Function { function_name } => {
            let name = function_name.to_ascii_lowercase();
            if FUNCTIONS.binary_search(&name.as_str()).is_ok() {
                return Authorization::Allow;
            }
            Denied::Function(name)
        }
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
            if access == Access::Write && !is_internal(table_name) =>
        {
            return Authorization::Allow;
        }
        AuthAction::Insert { .. } => Denied::Writes("insert"),
        AuthAction::Update { .. } => Denied::Writes("update"),
        AuthAction::Delete { .. } => Denied::Writes("delete"),
        AuthAction::AlterTable { .. } => Denied::Writes("alter"),
        AuthAction::Reindex { .. } => Denied::Writes("reindex"),
        AuthAction::Analyze { .. } => Denied::Writes("analyze"),
        AuthAction::CreateIndex { .. }
        | AuthAction::CreateTable { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::CreateTrigger { .. }
        | AuthAction::CreateView { .. }
        | AuthAction::CreateVtable { .. } => Denied::Writes("create"),
        AuthAction::DropIndex { .. }
        | AuthAction::DropTable { .. }
        | AuthAction::DropTempIndex { .. }
        | AuthAction::DropTempTable { .. }
        | AuthAction::DropTempTrigger { .. }
        | AuthAction::DropTempView { .. }
        | AuthAction::DropTrigger { .. }
        | AuthAction::DropView { .. }
        | AuthAction::DropVtable { .. } => Denied::Writes("drop"),
        // Full-text indexes ask for the version of the data in statements of their own. A statement that is
        // this pragma is refused by its first word.
        AuthAction::Pragma { pragma_name, pragma_value: None }
            if pragma_name.eq_ignore_ascii_case("data_version") =>
        {
            return Authorization::Allow;
        }
        AuthAction::Pragma { .. } => Denied::Other("pragma"),
        AuthAction::Attach { .. } => Denied::Other("attach"),
        AuthAction::Detach { .. } => Denied::Other("detach"),
        AuthAction::Transaction { .. } => Denied::Other("begin"),
        AuthAction::Savepoint { .. } => Denied::Other("savepoint"),
        // What a later SQLite can ask is refused until somebody has judged it.
        _ => Denied::Other("this"),
    };
    // The first refusal says the most: later ones follow from it.
    denied.get_or_insert(refusal);
    Authorization::Deny
}

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;

    #[test]
    fn the_manual_lists_the_functions() {
        let manual = include_str!("../../../../docs/configuration.md");
        let list = manual.split("### Functions of SQLite").nth(1).unwrap().split("\n\n").nth(2).unwrap();
        let names: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(names, FUNCTIONS);
    }

    #[test]
    fn the_list_of_functions_is_sorted_and_has_none_that_reaches_outside() {
        assert!(FUNCTIONS.is_sorted());
        for name in ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_offset"] {
            assert!(FUNCTIONS.binary_search(&name).is_err(), "{name}");
        }
    }
}
