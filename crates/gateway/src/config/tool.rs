//! `[tool.*]`: tools that are one SQL query each, a list of statements that change rows, one operation of their source,
//! or one request to a service.
//!
//! This file knows what a tool may say, not whether it is true: names of sources, SQL and schemas are
//! checked by the build step. The loader calls it.

use schemars::JsonSchema;

use super::auth::scopes;
use super::finding::Finding;
use super::located::Located;
use super::rate::ToolLimitsTable;
use super::reader::Table;

mod effect;
mod operation;
mod query;
mod request;
mod write;

pub use effect::{IdempotencyTable, Key, Sharing, Unknown};
pub use operation::{Operation, OperationKind};
pub use query::{Deliver, Direction, Formulas, Page, PageKey, Query};
pub use request::{Body, HeaderValue, ReconcileTable, Request, RequestTable, ResponseTable};
pub use write::{RowsTable, StatementTable, Write};

/// A tool.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Tool {
    /// The name under its header, `invoice_list` in `[tool.invoice_list]`.
    #[schemars(skip)]
    pub name: Located<String>,
    /// A name for people.
    pub title: Option<Located<String>>,
    /// What the tool does, when to use it and when not, what the input means and how the output is bounded.
    /// An operation has one of its own.
    pub description: Option<Located<String>>,
    /// What a call changes outside. What changes something is a list of statements or a request.
    #[schemars(required)]
    pub effect: Option<Located<Effect>>,
    /// The name of the source that the tool reads from.
    #[schemars(required)]
    pub source: Option<Located<String>>,
    /// How long a call may take, in milliseconds. Default: the one of `[limits]`.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub timeout_ms: Option<Located<u64>>,
    /// How many rows, matches or lines a result may have: at most 100,000, or 10,000,000 in a file that is
    /// delivered. Default: the one of `[limits]`; for a file 100,000.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_rows: Option<Located<u64>>,
    /// How many bytes the rows, matches or lines of a result may take as JSON: at most 16,777,216, or
    /// 1,073,741,824 in a file that is delivered. Default: the one of `[limits]`; for a file the one of `[artifacts]`.
    #[schemars(range(min = 1_024, max = 1_073_741_824))]
    pub max_bytes: Option<Located<u64>>,
    /// How often the tool may be called, and how many of its calls may run at once.
    pub limits: Option<ToolLimitsTable>,
    /// Scopes that the token of a caller must have, all of them.
    pub scopes: Option<Located<Vec<Located<String>>>>,
    /// The inputs whose values may stand in the audit trail; of the others it holds a digest only.
    pub recorded: Option<Located<Vec<Located<String>>>>,
    /// How a repeated call is recognised. A tool above `preview` must say it.
    pub idempotency: Option<IdempotencyTable>,
    /// Who finds out what became of a call whose answer was lost: `backend`, where it keeps the key with the effect, or
    /// `person`. A tool above `preview` must say it, except for statements, whose source keeps the key.
    #[schemars(with = "Option<effect::UnknownWord>")]
    pub unknown: Option<Located<Unknown>>,
    /// The inputs that a person sees who is asked to approve a call. Default: all.
    pub confirm: Option<Located<Vec<Located<String>>>>,
    /// Words that policies can refer to.
    pub labels: Option<Located<Vec<Located<String>>>>,
    /// What the tool does.
    #[schemars(flatten)]
    pub work: Work,
}

/// What a tool does.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Work {
    /// One SQL query.
    Query(Box<Query>),
    /// One operation of its source, which brings its own input and output.
    Operation(Operation),
    /// One request to a service.
    Request(Box<Request>),
    /// SQL statements that change rows.
    Write(Box<Write>),
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
    /// It adds something.
    Append,
    /// It changes something, and doing it twice is doing it once.
    Update,
    /// It removes or overwrites something.
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

impl Tool {
    pub(super) fn read(name: Located<String>, mut table: Table<'_, '_>) -> Self {
        check_name(&name, &table);
        let title = table.string("title");
        let is_operation = table.value("operation").is_some();
        let is_request = !is_operation && table.value("request").is_some();
        let is_write = !is_operation && !is_request && table.value("statements").is_some();
        let description = match is_operation {
            true => table.string("description"),
            false => table.required_string("description", "\"List the open invoices of ...\""),
        };
        if table.value("effect").is_none() {
            table.missing("effect", "\"read\"");
        }
        let effect = table.choice("effect", EFFECTS);
        let source = table.required_string("source", "\"billing\"");
        let work = match (is_operation, is_request) {
            (true, _) => Work::Operation(Operation::read(&mut table)),
            (false, true) => Work::Request(Box::new(Request::read(&mut table))),
            (false, false) if is_write => Work::Write(Box::new(Write::read(&mut table))),
            (false, false) => Work::Query(Box::new(Query::read(&mut table))),
        };
        let idempotency_name = format!("`idempotency` of {}", table.name());
        let idempotency = table.table("idempotency", idempotency_name).map(IdempotencyTable::read);
        let limits_name = format!("`limits` of {}", table.name());
        let limits = table.table("limits", limits_name).map(ToolLimitsTable::read);
        let tool = Self {
            name,
            limits,
            title,
            description,
            effect,
            source,
            timeout_ms: table.integer("timeout_ms", 1..=3_600_000),
            max_rows: table.integer("max_rows", 1..=10_000_000),
            max_bytes: table.integer("max_bytes", 1024..=1 << 30),
            scopes: scopes(&mut table, "scopes"),
            recorded: table.strings("recorded"),
            idempotency,
            unknown: effect::unknown(&mut table),
            confirm: table.strings("confirm"),
            labels: table.strings("labels"),
            work,
        };
        if !tool.is_file() {
            for (name, number, most) in
                [("max_rows", &tool.max_rows, 100_000), ("max_bytes", &tool.max_bytes, 16 << 20)]
            {
                if let Some(number) = number.as_ref().filter(|number| ***number > most) {
                    let message = format!("`{name}` of {} is out of range", table.name());
                    let remedy = format!(
                        "choose at most {most}; a file has more: `deliver = \"csv\"` or `deliver = \"jsonl\"`"
                    );
                    let finding = Finding::error("out_of_range", message, remedy);
                    table.reading().report(number.place().span(), finding);
                }
            }
        }
        table.finish();
        tool
    }

    /// Whether the result is a file and not a message.
    pub(crate) fn is_file(&self) -> bool {
        let Work::Query(query) = &self.work else { return false };
        matches!(query.deliver.as_ref().map(|deliver| **deliver), Some(Deliver::Csv | Deliver::Jsonl))
    }

    /// Whether an argument is the idempotency key of the tool.
    pub(crate) fn has_key(&self, name: &str) -> bool {
        let argument = self.idempotency.as_ref().and_then(|table| table.argument.as_ref());
        argument.is_some_and(|argument| argument.as_str() == name)
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
