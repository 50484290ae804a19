//! An invoice server: one typed tool, over stdio or, with `--listen ADDR`, over HTTP.

use callgate_server::{Context, Effect, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Open,
    Overdue,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// Which invoices
    status: Status,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Invoice {
    invoice_reference: String,
    currency: String,
    /// Amount in minor units of the currency
    amount_minor: i64,
}

type Books = Vec<(&'static str, Status, Invoice)>;

async fn invoice_list(books: &Books, context: Context<'_>, query: Query) -> Result<Vec<Invoice>, ToolError> {
    let tenant = context.tenant().ok_or(ToolError::new("the caller belongs to no company"))?;
    let mine = books.iter().filter(|(owner, status, _)| *owner == tenant && *status == query.status);
    Ok(mine.map(|(_, _, invoice)| invoice.clone()).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let invoice = |reference: &str, amount_minor| Invoice {
        invoice_reference: reference.into(),
        currency: "EUR".into(),
        amount_minor,
    };
    let books = vec![
        ("tenant-a", Status::Open, invoice("A-1001", 12_900)),
        ("tenant-b", Status::Open, invoice("B-7", 990)),
    ];
    let server = Server::builder("billing", "1.0.0")
        .local_principal(callgate_server::Principal::new("dana").with_tenant("tenant-a"))
        .tool(Tool::with_state("invoice_list", Effect::Read, books, invoice_list).description(
            "Lists open or overdue invoices of the caller's company. It does not send reminders or take payments.",
        ))
        .build()?;
    match std::env::args().skip_while(|argument| argument != "--listen").nth(1) {
        Some(address) => server.serve_http(address.parse()?).await?,
        None => server.serve_stdio().await?,
    }
    Ok(())
}
