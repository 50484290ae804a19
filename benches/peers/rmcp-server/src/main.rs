//! The rmcp peer of the benchmark, started by `load`, never by a person.
//!
//!     rmcp-server documented|cached http --listen 127.0.0.1:0 --workers 1 [--tools 500]
//!     rmcp-server documented|cached stdio [--tools 500]
//!     rmcp-server sql|sql-threads http --listen 127.0.0.1:0 --workers 1 --database billing.db
//!
//! `documented` is what the library's documentation shows: the macros build the tool router for each
//! call, sessions and SSE answers are at their defaults, stdio is `stdio()`. `cached` is the best its
//! public interface gives: one router behind an `Arc`, JSON answers, no sessions, `stdio_pipes()`. `sql` is the same
//! with a read from SQLite in place of the echo, on the thread of the call; `sql-threads` on one for blocking work.

mod cached;
mod documented;
mod sql;
mod tool;

use std::env;
use std::process::ExitCode;

use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::transport::{stdio, stdio_pipes};
use tokio::net::TcpListener;

use crate::cached::Cached;
use crate::documented::{Documented, Listing};
use crate::sql::{Invoices, Where};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1)).cloned();
    let workers = option("--workers").and_then(|n| n.parse().ok()).unwrap_or(1);
    let tools: usize = option("--tools").and_then(|n| n.parse().ok()).unwrap_or(1);
    let listen = option("--listen").unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let database = option("--database").unwrap_or_default();
    let words: Vec<&str> = args.iter().take(2).map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let outcome = match (runtime, words.as_slice()) {
        (Err(error), _) => Err(error.into()),
        (Ok(runtime), ["documented", "http"]) => runtime.block_on(spawned(documented_http(listen, tools))),
        (Ok(runtime), ["cached", "http"]) => runtime.block_on(spawned(cached_http(listen, tools))),
        (Ok(runtime), ["sql", "http"]) => runtime.block_on(spawned(sql_http(listen, database, Where::Here))),
        (Ok(runtime), ["sql-threads", "http"]) => {
            runtime.block_on(spawned(sql_http(listen, database, Where::Beside)))
        }
        (Ok(runtime), ["documented", "stdio"]) => runtime.block_on(documented_stdio(tools)),
        (Ok(runtime), ["cached", "stdio"]) => runtime.block_on(cached_stdio(tools)),
        (Ok(_), _) => Err("usage: rmcp-server documented|cached|sql|sql-threads http|stdio [options]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rmcp-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a server on a worker: the thread that blocks on the runtime is no worker.
async fn spawned(server: impl Future<Output = Outcome> + Send + 'static) -> Outcome {
    tokio::spawn(server).await?
}

async fn documented_http(listen: String, tools: usize) -> Outcome {
    if tools > 1 {
        let service = StreamableHttpService::new(
            move || Ok(Listing { tools }),
            LocalSessionManager::default().into(),
            StreamableHttpServerConfig::default(),
        );
        return serve(listen, axum::Router::new().nest_service("/mcp", service)).await;
    }
    let service = StreamableHttpService::new(
        || Ok(Documented),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    serve(listen, axum::Router::new().nest_service("/mcp", service)).await
}

async fn cached_http(listen: String, tools: usize) -> Outcome {
    let server = Cached::new(tools);
    plain_http(listen, move || Ok(server.clone())).await
}

async fn sql_http(listen: String, database: String, place: Where) -> Outcome {
    let server = Invoices::open(&database, place)?;
    plain_http(listen, move || Ok(server.clone())).await
}

/// JSON answers and no sessions.
async fn plain_http<S: rmcp::ServerHandler>(
    listen: String,
    make: impl Fn() -> Result<S, std::io::Error> + Send + Sync + 'static,
) -> Outcome {
    let service = StreamableHttpService::new(
        make,
        NeverSessionManager::default().into(),
        StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true),
    );
    serve(listen, axum::Router::new().route_service("/mcp", service)).await
}

async fn serve(listen: String, router: axum::Router) -> Outcome {
    let listener = TcpListener::bind(listen).await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn documented_stdio(tools: usize) -> Outcome {
    if tools > 1 {
        Listing { tools }.serve(stdio()).await?.waiting().await?;
    } else {
        Documented.serve(stdio()).await?.waiting().await?;
    }
    Ok(())
}

async fn cached_stdio(tools: usize) -> Outcome {
    Cached::new(tools).serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
