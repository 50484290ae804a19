//! `callgate demo`: a billing database, served, and one call going through the gate.
//!
//! It leaves its files and nothing running, unless told to keep serving.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use callgate_protocol::json::{Document, Limits, push_string};
use callgate_server::{HttpOptions, Shutdown};

use super::client::{self, Exchange};
use super::files::{self, Existing};
use super::pretty::pretty;
use super::serve;
use super::shell::word;
use crate::args::Demo;
use crate::exit::Failure;
use crate::print::say;

/// What is asked: small enough to be read whole, and with a number that a double cannot hold.
const TOOL: &str = "receivables_summary";
const ARGUMENTS: &str = r#"{"due_until":"2026-06-30"}"#;

pub(crate) fn run(demo: &Demo) -> Result<(), Failure> {
    let example = files::write(&demo.directory, Existing::Keep)?;
    say!("The example is in {}", demo.directory.display());
    say!("  {}   three tenants, 3,600 invoices", example.database.display());
    say!("  {}   three tools on it", example.configuration.display());
    let runtime = serve::runtime()?;
    let _guard = runtime.enter();
    let (server, _reloader) = serve::open(&example.configuration)?;
    runtime.block_on(async {
        let failed = |error: &dyn std::fmt::Display| Failure::Serve(error.to_string());
        let shutdown =
            if demo.keep { Shutdown::on_signal().map_err(|error| failed(&error))? } else { Shutdown::new() };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = server
            .bind_http(address, HttpOptions::default(), shutdown.clone())
            .await
            .map_err(|error| failed(&error))?;
        let address = server.local_addr().map_err(|error| failed(&error))?;
        say!("\nServed at http://{address}/mcp\n");
        let serving = server.run();
        let client = async {
            let result = show_call(address).await;
            show_clients(&example.configuration, address, demo.keep);
            if !demo.keep {
                shutdown.begin();
            }
            result
        };
        let ((), result) = tokio::join!(serving, client);
        result
    })
}

async fn show_call(address: SocketAddr) -> Result<(), Failure> {
    let exchange = client::tool_call(TOOL, ARGUMENTS);
    show_request(address, &exchange);
    let (status, body) = client::send(address, "/mcp", &exchange).await.map_err(Failure::Demo)?;
    say!("The answer (HTTP {status}):\n\n{}\n", pretty(&body));
    let answered = Document::parse(body, &Limits::DEFAULT).is_ok_and(|document| {
        document.root().path(["result", "structuredContent", "rows"]).is_some_and(|rows| !rows.is_empty())
    });
    if status == 200 && answered {
        say!(
            "The call passed the gate: its arguments and its result fit the contract, and the receipt names both by digest.\n"
        );
        Ok(())
    } else {
        Err(Failure::Demo(
            "the answer has no rows; was callgate.toml changed? remove the directory and try again".into(),
        ))
    }
}

fn show_request(address: SocketAddr, exchange: &Exchange) {
    say!("The call, as a client of MCP 2026-07-28 sends it:\n");
    say!("POST /mcp HTTP/1.1\nhost: {address}");
    for (name, value) in &exchange.headers {
        say!("{name}: {value}");
    }
    say!("\n{}\n", pretty(&exchange.body));
}

fn show_clients(configuration: &Path, address: SocketAddr, keep: bool) {
    let program =
        std::env::current_exe().map_or_else(|_| "callgate".into(), |path| path.display().to_string());
    let configuration = std::fs::canonicalize(configuration).unwrap_or_else(|_| configuration.to_owned());
    let mut entry = String::from("{ \"mcpServers\": { \"billing\": { \"command\": ");
    push_string(&mut entry, &program);
    entry.push_str(", \"args\": [\"serve\", \"--config\", ");
    push_string(&mut entry, &configuration.display().to_string());
    entry.push_str("] } } }");
    say!("To use it from a client that starts servers, paste:\n\n{entry}\n");
    if keep {
        say!("A client that connects can use http://{address}/mcp until you press Ctrl-C.");
    } else {
        say!(
            "To serve it over HTTP:\n\n{} serve --config {} --listen 127.0.0.1:8300",
            word(Path::new(&program)),
            word(&configuration)
        );
    }
}
