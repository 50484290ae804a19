//! `callgate demo`: a billing database, served, and one call going through the gate.
//!
//! It leaves its files and nothing running, unless told to keep serving.

use std::borrow::Cow;
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

/// What is asked next: more than a message holds.
const REPORT: &str = "monthly_report";
const REPORT_ARGUMENTS: &str = r#"{"month":"2026-03"}"#;

pub(crate) fn run(demo: &Demo) -> Result<(), Failure> {
    let example = files::write(&demo.directory, Existing::Keep)?;
    say!("The example is in {}", demo.directory.display());
    say!("  {}   three tenants, 3,600 invoices", example.database.display());
    say!("  {}   four tools on it", example.configuration.display());
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
            let result = match show_call(address).await {
                Ok(()) => show_report(address).await,
                failed => failed,
            };
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

/// A report: the call gives a link, and the link a file.
async fn show_report(address: SocketAddr) -> Result<(), Failure> {
    say!("A report of a month does not fit into a message, so the call of `{REPORT}` gives a link:\n");
    let body = answer(address, &client::tool_call(REPORT, REPORT_ARGUMENTS)).await?;
    let changed = "there is no report; was callgate.toml changed? remove the directory and try again";
    let text = |body: &str, path: &[&str]| {
        let document = Document::parse(body, &Limits::DEFAULT).ok()?;
        let value = document.root().path(path.iter().copied()).and_then(|value| value.as_str());
        value.map(Cow::into_owned)
    };
    let uri = text(&body, &["result", "structuredContent", "artifact", "uri"]);
    let uri = uri.ok_or_else(|| Failure::Demo(changed.into()))?;
    say!("{uri}\n\nOnly who called reads it, with `resources/read`, in parts. It begins:\n");
    let body = answer(address, &client::resource_read(&uri)).await?;
    let document =
        Document::parse(body, &Limits::DEFAULT).map_err(|error| Failure::Demo(error.to_string()))?;
    let contents = document.root().path(["result", "contents"]).and_then(|contents| contents.items().next());
    let file = contents.and_then(|part| part.get("text")).and_then(|text| text.as_str());
    let file = file.ok_or_else(|| Failure::Demo(changed.into()))?;
    for line in file.lines().take(4) {
        say!("  {line}");
    }
    say!("  ... {} lines in this part\n", file.lines().count());
    Ok(())
}

async fn answer(address: SocketAddr, exchange: &Exchange) -> Result<String, Failure> {
    let (_, body) = client::send(address, "/mcp", exchange).await.map_err(Failure::Demo)?;
    Ok(body)
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
