//! A server with tools that count what becomes of them, and a client in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_protocol::json::{Document, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::stdio::{StdioError, StdioLimits, serve};
use crate::{Content, Context, Effect, Elicited, NoInput, Server, Shutdown, Tool, ToolError};

pub(super) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// What became of the calls of `wait`.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) started: AtomicUsize,
    pub(super) finished: AtomicUsize,
    pub(super) dropped: AtomicUsize,
}

impl Seen {
    pub(super) fn counts(&self) -> [usize; 3] {
        [&self.started, &self.finished, &self.dropped].map(|count| count.load(Ordering::SeqCst))
    }
}

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

/// Counts a call as dropped unless it was finished.
struct Run<'s> {
    seen: &'s Seen,
    is_finished: bool,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let count = if self.is_finished { &self.seen.finished } else { &self.seen.dropped };
        count.fetch_add(1, Ordering::SeqCst);
    }
}

async fn echo(_: Context<'_>, input: Echo) -> Result<Echo, ToolError> {
    Ok(input)
}

async fn wait(seen: &Arc<Seen>, context: Context<'_>, input: Wait) -> Result<Content, ToolError> {
    seen.started.fetch_add(1, Ordering::SeqCst);
    let mut run = Run { seen, is_finished: false };
    let step = Duration::from_millis(input.milliseconds) / 2;
    tokio::time::sleep(step).await;
    context.progress(1.0, None, None);
    tokio::time::sleep(step).await;
    run.is_finished = true;
    Ok(Content::text("waited"))
}

/// A form of one field.
#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Asks for a name until somebody gives one; each time under another key, as a tool must that asks again.
async fn ask(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    for round in 0.. {
        match context.elicit::<Name>(&format!("name-{round}"), "Who are you?").await? {
            Elicited::Accepted(Name { name }) => return Ok(Content::text(&name)),
            Elicited::Declined => {}
            Elicited::Cancelled => break,
        }
    }
    Ok(Content::text("nobody"))
}

/// A client of a server in memory.
pub(super) struct Conversation {
    input: Option<WriteHalf<DuplexStream>>,
    output: BufReader<ReadHalf<DuplexStream>>,
    serving: JoinHandle<Result<(), StdioError>>,
    pub(super) seen: Arc<Seen>,
    pub(super) shutdown: Shutdown,
}

impl Conversation {
    /// Starts one.
    pub(super) fn start(limits: StdioLimits) -> Self {
        let seen = Arc::new(Seen::default());
        let mut bounds = crate::Limits::default();
        // A thousand calls of one caller race here; the bounds that matter are those of the transport.
        bounds.gate.principal = crate::Allowance::unbounded();
        let server = Server::builder("test", "1.0.0")
            .limits(bounds)
            .tool(Tool::new("echo", Effect::Read, echo).description("Gives its input back."))
            .tool(Tool::with_state("wait", Effect::Read, Arc::clone(&seen), wait).description("Waits."))
            .tool(Tool::new("ask", Effect::Read, ask).description("Asks who is there."))
            .build()
            .unwrap();
        let (ours, theirs) = duplex(256 << 10);
        let (output, input) = split(ours);
        let (from, to) = split(theirs);
        let shutdown = Shutdown::new();
        let endpoint = Arc::clone(server.endpoint());
        let serving = tokio::spawn(serve(endpoint, from, to, limits, shutdown.clone()));
        Self { input: Some(input), output: BufReader::new(output), serving, seen, shutdown }
    }

    pub(super) async fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    /// The next message.
    pub(super) async fn receive(&mut self) -> Document {
        let mut line = String::new();
        let read = timeout(Duration::from_secs(3600), self.output.read_line(&mut line));
        assert!(read.await.expect("nothing comes").unwrap() > 0, "the stream has ended");
        Document::parse(line.trim_end(), &Limits::DEFAULT).unwrap()
    }

    /// Everything that comes until the stream ends, and how the server ended.
    pub(super) async fn rest(mut self) -> (Vec<Document>, Result<(), StdioError>) {
        // The input must not end here, or it would end what is tested.
        let ended = self.serving.await.unwrap();
        drop(self.input.take());
        let mut rest = Vec::new();
        let mut line = String::new();
        while self.output.read_line(&mut line).await.unwrap() > 0 {
            rest.push(Document::parse(line.trim_end(), &Limits::DEFAULT).unwrap());
            line.clear();
        }
        (rest, ended)
    }

    /// Ends the input, and gives what comes until the stream ends.
    pub(super) async fn end(mut self) -> Vec<Document> {
        self.input.as_mut().unwrap().shutdown().await.unwrap();
        let (rest, ended) = self.rest().await;
        ended.unwrap();
        rest
    }
}

/// A call with an id as JSON text.
pub(super) fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},{META}}}}}"#
    )
}

pub(super) fn waiting(id: &str, milliseconds: u64) -> String {
    call(id, "wait", &format!(r#"{{"milliseconds":{milliseconds}}}"#))
}

pub(super) fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

/// The id of a message as JSON text.
pub(super) fn id(message: &Document) -> &str {
    message.root().get("id").map_or("", |id| id.raw())
}

/// The error code of a message.
pub(super) fn code(message: &Document) -> Option<i64> {
    message.root().path(["error", "code"]).and_then(|code| code.as_i64())
}
