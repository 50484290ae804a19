//! rmcp with the read that Callgate's demonstration makes: the same row of the same file through the same library.
//!
//! It has what an author would write: a prepared statement that is kept, typed columns, and nothing of authentication,
//! policies, limits or a trail. The tenant, which Callgate takes from the token, is a constant here.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ErrorData, Json, ServerHandler, tool, tool_handler, tool_router};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const TENANT: &str = "tenant-a";
const QUERY: &str = "select reference, status, currency, amount_minor, issued_on, due_on, note
from invoices where tenant_id = ?1 and reference = ?2";

/// Where the query runs.
#[derive(Clone, Copy)]
pub enum Where {
    /// On the thread of the call: the fastest, and a slow query stops everybody.
    Here,
    /// On a thread for blocking work, as the documentation of tokio says.
    Beside,
}

/// The arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvoiceInput {
    /// The reference
    #[schemars(regex(pattern = "^[A-Z]-[0-9]{4}-[0-9]{5}$"))]
    pub invoice_reference: String,
}

/// A row.
#[derive(Serialize, JsonSchema)]
pub struct Invoice {
    invoice_reference: String,
    status: String,
    currency: String,
    /// Amount in minor units of currency
    amount_minor: i64,
    issued_on: String,
    due_on: String,
    note: Option<String>,
}

/// The rows.
#[derive(Serialize, JsonSchema)]
pub struct Found {
    rows: Vec<Invoice>,
    truncated: bool,
}

/// One tool on one file.
#[derive(Clone)]
pub struct Invoices {
    router: Arc<ToolRouter<Self>>,
    connection: Arc<Mutex<Connection>>,
    place: Where,
}

impl Invoices {
    /// Opens the file read-only.
    pub fn open(database: &str, place: Where) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Arc::new(Mutex::new(Connection::open_with_flags(database, flags)?));
        Ok(Self { router: Arc::new(Self::tool_router()), connection, place })
    }
}

fn read(connection: &Mutex<Connection>, reference: &str) -> rusqlite::Result<Option<Invoice>> {
    let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
    let mut statement = connection.prepare_cached(QUERY)?;
    statement
        .query_row([TENANT, reference], |row| {
            Ok(Invoice {
                invoice_reference: row.get(0)?,
                status: row.get(1)?,
                currency: row.get(2)?,
                amount_minor: row.get(3)?,
                issued_on: row.get(4)?,
                due_on: row.get(5)?,
                note: row.get(6)?,
            })
        })
        .optional()
}

#[tool_router]
impl Invoices {
    #[tool(description = "Show one invoice by its exact reference")]
    async fn invoice_get(
        &self,
        Parameters(input): Parameters<InvoiceInput>,
    ) -> Result<Json<Found>, ErrorData> {
        let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        let row = match self.place {
            Where::Here => read(&self.connection, &input.invoice_reference),
            Where::Beside => {
                let connection = Arc::clone(&self.connection);
                let reading =
                    tokio::task::spawn_blocking(move || read(&connection, &input.invoice_reference));
                reading.await.map_err(|error| failed(&error))?
            }
        };
        let row = row.map_err(|error| failed(&error))?;
        Ok(Json(Found { rows: row.into_iter().collect(), truncated: false }))
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Invoices {}
