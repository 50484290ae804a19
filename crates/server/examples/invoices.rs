//! The invoice server: one typed tool over stdio or, with `--listen ADDR`, over HTTP.

use callgate_server::{Context, Effect, Principal, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Open,
    Overdue,
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    /// Which invoices
    status: Status,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Invoice {
    invoice_reference: &'static str,
    currency: &'static str,
    /// Amount in minor units of the currency
    amount_minor: i64,
}

type Books = Vec<(&'static str, Status, Invoice)>;

async fn invoice_list(books: &Books, context: Context<'_>, query: Query) -> Result<Vec<Invoice>, ToolError> {
    let tenant = context.tenant().ok_or(ToolError::new("the caller belongs to no company"))?;
    let found = books.iter().filter(|(owner, status, _)| *owner == tenant && *status == query.status);
    Ok(found.map(|(_, _, invoice)| invoice.clone()).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let books = vec![
        (
            "tenant-a",
            Status::Open,
            Invoice { invoice_reference: "A-1", currency: "EUR", amount_minor: 12_900 },
        ),
        ("tenant-b", Status::Open, Invoice { invoice_reference: "B-7", currency: "USD", amount_minor: 990 }),
    ];
    let tool = Tool::with_state("invoice_list", Effect::Read, books, invoice_list);
    let server = Server::builder("billing", "1.0.0")
        .local_principal(Principal::new("dana").with_tenant("tenant-a"))
        .tool(tool.description(
            "Lists invoices of the caller's company. It sends no reminders and takes no payments.",
        ))
        .build()?;
    match std::env::args().skip_while(|argument| argument != "--listen").nth(1) {
        Some(address) => Ok(server.serve_http(address.parse()?).await?),
        None => Ok(server.serve_stdio().await?),
    }
}
