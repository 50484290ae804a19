//! A server over HTTP for tests and measurements: `http_fixture [ADDRESS]`.
//!
//! It says where it listens on its first line and ends gracefully on SIGTERM.

use std::error::Error;
use std::time::Duration;

use callgate_server::{Context, Effect, HttpOptions, HttpServer, Server, Shutdown, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that comes back.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    text: String,
}

/// How long to wait.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    milliseconds: u64,
}

async fn echo(_: Context<'_>, input: Echo) -> Result<Echo, ToolError> {
    Ok(input)
}

async fn wait(_: Context<'_>, input: Wait) -> Result<u64, ToolError> {
    tokio::time::sleep(Duration::from_millis(input.milliseconds)).await;
    Ok(input.milliseconds)
}

#[tokio::main(worker_threads = 1)]
#[expect(clippy::print_stdout, reason = "whoever starts it reads the address")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| String::from("127.0.0.1:0")).parse()?;
    let server = Server::builder("http-fixture", "1.0.0")
        .tool(Tool::new("echo", Effect::Read, echo).description("Gives a text back."))
        .tool(Tool::new("wait", Effect::Read, wait).description("Waits."))
        .build()?;
    let service = server.http(HttpOptions::default(), &Shutdown::on_signal()?);
    let http = HttpServer::bind(address, service).await?;
    println!("http://{}/mcp", http.local_addr()?);
    http.run().await;
    Ok(())
}
