//! Callgate in the benchmark: a typed echo tool, and as many other tools as a long list needs.
//!
//! Input and output are checked against their schemas, as in any server; nothing is switched off. It is a
//! package here and no example of `callgate-server`, because an example is built with the features that
//! tests turn on, such as tokio's simulated clock. Started by `load`:
//!
//!     callgate-bench --listen 127.0.0.1:0 [--workers 1] [--tools 500]
//!     callgate-bench [--tools 500]                                       over stdio

use std::env;
use std::net::SocketAddr;

use callgate_server::{Context, Effect, HttpOptions, Server, Shutdown, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the server says about its failures.
type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoInput {
    /// What to send back
    #[schemars(length(max = 1000))]
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct EchoOutput {
    /// What was sent
    text: String,
}

async fn echo(_context: Context<'_>, input: EchoInput) -> Result<EchoOutput, ToolError> {
    Ok(EchoOutput { text: input.text })
}

/// The input of a tool of the list; it is never called.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is used")]
struct LookupInput {
    /// Reference of the invoice
    #[schemars(length(max = 40))]
    reference: String,
    /// How many lines to return
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
}

async fn lookup(_context: Context<'_>, _input: LookupInput) -> Result<EchoOutput, ToolError> {
    Err(ToolError::new("this tool is only listed"))
}

fn server(tools: usize) -> Result<Server, callgate_server::BuildError> {
    let mut builder = Server::builder("bench", "1.0.0")
        .page_size(tools.max(1))
        .tool(Tool::new("echo", Effect::Read, echo).description("Send the text back"));
    for index in 1..tools {
        let tool = Tool::new(format!("lookup_{index:03}"), Effect::Read, lookup);
        builder = builder.tool(tool.description("Look up the lines of one invoice by its reference"));
    }
    builder.build()
}

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().collect();
    let option = |name: &str| arguments.iter().skip_while(|argument| *argument != name).nth(1);
    let workers: usize = option("--workers").map_or(Ok(1), |text| text.parse())?;
    let tools: usize = option("--tools").map_or(Ok(1), |text| text.parse())?;
    let server = server(tools)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    match option("--listen") {
        // Spawned, because the thread that blocks on the runtime is no worker.
        Some(address) => {
            let address: SocketAddr = address.parse()?;
            runtime.block_on(async { tokio::spawn(listen(server, address)).await? })
        }
        None => runtime.block_on(async { Ok(server.serve_stdio().await?) }),
    }
}

async fn listen(server: Server, address: SocketAddr) -> Outcome {
    let http = server.bind_http(address, HttpOptions::default(), Shutdown::on_signal()?).await?;
    println!("listening on http://{}/mcp", http.local_addr()?);
    http.run().await;
    Ok(())
}
