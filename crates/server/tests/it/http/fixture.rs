//! A server with tools that tell what became of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_server::{
    Context, Effect, HttpOptions, HttpServer, Limits, LogLevel, NoInput, Server, ServerBuilder, Shutdown,
    Tool, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// What the tools have seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) started: AtomicUsize,
    pub(super) finished: AtomicUsize,
    pub(super) cancelled: AtomicUsize,
    changed: Notify,
}

impl Seen {
    /// Waits until a count is reached.
    pub(super) async fn reach(&self, count: impl Fn(&Self) -> usize, wanted: usize) {
        let reached = async {
            loop {
                let changed = self.changed.notified();
                if count(self) >= wanted {
                    return;
                }
                changed.await;
            }
        };
        timeout(Duration::from_secs(20), reached).await.expect("the count is not reached");
    }

    pub(super) fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    pub(super) fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }

    pub(super) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }

    fn run(self: &Arc<Self>) -> Run {
        self.started.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_waiters();
        Run { seen: Arc::clone(self), finished: false }
    }
}

/// One run of a tool; dropped before its end it counts as cancelled.
struct Run {
    seen: Arc<Seen>,
    finished: bool,
}

impl Run {
    fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let count = if self.finished { &self.seen.finished } else { &self.seen.cancelled };
        count.fetch_add(1, Ordering::SeqCst);
        self.seen.changed.notify_waiters();
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// Milliseconds.
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    count: u32,
}

async fn echo(seen: &Arc<Seen>, _: Context<'_>, input: Echo) -> Result<Echo, ToolError> {
    seen.run().finish();
    Ok(input)
}

async fn wait(seen: &Arc<Seen>, _: Context<'_>, input: Wait) -> Result<u64, ToolError> {
    let run = seen.run();
    sleep(Duration::from_millis(input.ms)).await;
    run.finish();
    Ok(input.ms)
}

/// Says something before it waits.
async fn say_and_wait(seen: &Arc<Seen>, context: Context<'_>, input: Wait) -> Result<u64, ToolError> {
    let run = seen.run();
    context.progress(0.0, Some(1.0), Some("begun"));
    sleep(Duration::from_millis(input.ms)).await;
    context.progress(1.0, Some(1.0), None);
    run.finish();
    Ok(input.ms)
}

/// Says something at once, without waiting for anything.
async fn count(seen: &Arc<Seen>, context: Context<'_>, input: Count) -> Result<u32, ToolError> {
    let run = seen.run();
    for number in 1..=input.count {
        context.progress(f64::from(number), None, None);
    }
    run.finish();
    Ok(input.count)
}

/// Says something again and again until it is stopped.
async fn chatter(seen: &Arc<Seen>, context: Context<'_>, _: NoInput) -> Result<u32, ToolError> {
    let _run = seen.run();
    let line = "x".repeat(4096);
    for number in 0_u32.. {
        context.progress(f64::from(number), None, Some(&line));
        context.log(LogLevel::Info, None, &line);
        sleep(Duration::from_millis(1)).await;
    }
    Ok(0)
}

async fn panics(_: &Arc<Seen>, _: Context<'_>, _: NoInput) -> Result<u32, ToolError> {
    panic!("the handler has a fault at /secret/path")
}

async fn panics_later(_: &Arc<Seen>, context: Context<'_>, _: NoInput) -> Result<u32, ToolError> {
    context.progress(0.0, None, None);
    sleep(Duration::from_millis(5)).await;
    panic!("the handler has a fault at /secret/path")
}

/// A served server.
pub(super) struct Fixture {
    pub(super) address: SocketAddr,
    pub(super) seen: Arc<Seen>,
    pub(super) server: Server,
    pub(super) shutdown: Shutdown,
    pub(super) served: JoinHandle<()>,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A server with other options.
    pub(super) async fn with(change: impl FnOnce(&mut HttpOptions)) -> Self {
        let seen = Arc::new(Seen::default());
        let mut limits = Limits::default();
        limits.gate.call_timeout = Duration::from_secs(600);
        limits.subscriptions_of_principal = limits.subscriptions;
        let server = builder(&seen).limits(limits).build().unwrap();
        let mut options = HttpOptions::default();
        change(&mut options);
        let shutdown = Shutdown::new();
        let service = server.http(options, &shutdown);
        let http = HttpServer::bind("127.0.0.1:0".parse().unwrap(), service).await.unwrap();
        let address = http.local_addr().unwrap();
        let served = tokio::spawn(http.run());
        Self { address, seen, server, shutdown, served }
    }

    /// Pulls the shutdown handle and waits for the end.
    pub(super) async fn end(self) {
        self.shutdown.begin();
        timeout(Duration::from_secs(20), self.served).await.expect("the server does not end").unwrap();
    }
}

fn builder(seen: &Arc<Seen>) -> ServerBuilder {
    macro_rules! tool {
        ($name:literal, $handler:expr) => {
            Tool::with_state($name, Effect::Read, Arc::clone(seen), $handler)
                .description("A tool of the tests.")
        };
    }
    let mirrored = r#"{"type":"object","properties":{
        "text":{"type":"string","x-mcp-header":"Text"},
        "number":{"type":"integer","x-mcp-header":"Number"}},"additionalProperties":false}"#;
    Server::builder("fixture", "1.0.0")
        .logging()
        .tool(tool!("echo", echo))
        .tool(tool!("wait", wait))
        .tool(tool!("say_and_wait", say_and_wait))
        .tool(tool!("count", count))
        .tool(tool!("chatter", chatter))
        .tool(tool!("panics", panics))
        .tool(tool!("panics_later", panics_later))
        .tool(tool!("mirrored", mirrored_tool).input_schema(mirrored))
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    number: Option<i64>,
}

async fn mirrored_tool(seen: &Arc<Seen>, _: Context<'_>, input: Mirrored) -> Result<String, ToolError> {
    seen.run().finish();
    Ok(format!("{:?} {:?}", input.text, input.number))
}
