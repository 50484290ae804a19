//! The fixtures that the official conformance suite and the interoperability tests expect of a server.
//!
//! `--listen 127.0.0.1:0` serves HTTP and says where on standard error, `--page-size N` cuts lists into
//! pages, and without `--listen` the server speaks over the standard streams. The names and texts are those
//! that the suite looks for.

#![expect(clippy::print_stderr, reason = "the address is announced there")]

mod asking;
mod plain;
mod reading;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use callgate_server::{Handle, HttpOptions, Server, ServerBuilder, Shutdown};

/// The handle of the running server, for the tools that change its lists.
type Running = Arc<OnceLock<Handle>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut listen: Option<SocketAddr> = None;
    let mut page_size: Option<usize> = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--listen" => listen = Some(value.parse()?),
            "--page-size" => page_size = Some(value.parse()?),
            _ => return Err("usage: conformance [--listen ADDR] [--page-size N]".into()),
        }
    }
    let running = Running::default();
    let server = describe(&running, page_size).build()?;
    // Nobody else sets it, and no tool runs before the server is served.
    let _ = running.set(server.handle());
    match listen {
        Some(address) => {
            let http = server.bind_http(address, HttpOptions::default(), Shutdown::on_signal()?).await?;
            eprintln!("listening on http://{}/mcp", http.local_addr()?);
            http.run().await;
        }
        None => server.serve_stdio().await?,
    }
    Ok(())
}

fn describe(running: &Running, page_size: Option<usize>) -> ServerBuilder {
    let mut builder = Server::builder("callgate-conformance", env!("CARGO_PKG_VERSION"))
        .title("Callgate conformance fixtures")
        .instructions("Fixtures for tests of the protocol; nothing here does anything real.")
        .logging();
    if let Some(entries) = page_size {
        builder = builder.page_size(entries);
    }
    builder = plain::add(builder, running);
    builder = asking::add(builder);
    reading::add(builder)
}
