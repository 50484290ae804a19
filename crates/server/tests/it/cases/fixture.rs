//! The server of the cases: one tool for each thing that went wrong in public.
//!
//! Tools with a schema of their own are contracts with a plain function; the others are native tools.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::contract::digest::Digest;
use callgate_core::contract::{Contract, Definition};
use callgate_core::invocation::Invocation;
use callgate_core::limits::Limits;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{Answer, Decision, Execute, Execution, Policy, Question};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use callgate_core::snapshot::Tool as GateTool;
use callgate_server::{
    Content, Contents, Context, Effect, HttpOptions, HttpServer, NoInput, Resource, Server, Shutdown, Tool,
    ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// What no answer may ever show.
pub(crate) const SECRETS: [&str; 4] = ["hunter2", "db.internal", "select * from", "/srv/app"];

/// The schema of case 2.
pub(crate) const BOOLEANS: &str = r#"{"type":"object","properties":{"raw":true,"never":false,"bag":{"type":"array","items":true}},"additionalProperties":false}"#;

const EXACT: &str = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":9007199254740993,"maximum":9007199254740993}},"required":["n"]}"#;
const TYPED: &str = r#"{"type":"object","properties":{"n":{"type":"integer"},"flag":{"type":"boolean"},"list":{"type":"array","items":{"type":"string"}},"o":{"type":"object"}},"additionalProperties":false}"#;
const OPTIONAL: &str = r#"{"type":"object","properties":{"q":{"type":"string"},"after":{"type":"string","default":null},"limit":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},"page":{"type":"integer","default":10}},"required":["q"],"additionalProperties":false}"#;
const PATTERN: &str = r#"{"type":"object","properties":{"s":{"type":"string","pattern":"^(a+)+$"}}}"#;
const TREE: &str = r##"{"type":"object","properties":{"root":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}"##;
const HOW: &str = r#"{"type":"object","properties":{"how":{"type":"string"}},"required":["how"]}"#;
const VALUE: &str = r#"{"type":"object","properties":{"value":true}}"#;
const NONE: &str = r#"{"type":"object","additionalProperties":false}"#;
const MIRRORED: &str = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry"}}}"#;

/// What the tools of one server count.
#[derive(Debug, Default)]
struct Counters {
    calls: AtomicUsize,
    running: AtomicUsize,
    dangers: AtomicUsize,
}

/// Counts a call as running until it is dropped.
struct Running(Arc<Counters>);

impl Running {
    fn begin(counters: &Arc<Counters>) -> Self {
        counters.running.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(counters))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

type Body = for<'a> fn(&'a Arc<Counters>, &'a Invocation<'a>) -> Answer<'a, Execution>;

/// A plain function as an executor.
struct Run(Arc<Counters>, Body);

impl Execute for Run {
    fn execute<'a>(&'a self, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
        (self.1)(&self.0, invocation)
    }
}

fn complete<'a>(output: ToolOutput) -> Answer<'a, Execution> {
    Answer::now(Execution::Complete(output))
}

/// Shows the arguments as they arrived.
fn shows<'a>(_: &'a Arc<Counters>, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
    complete(ToolOutput::text(invocation.arguments().raw()))
}

fn contracted<'a>(_: &'a Arc<Counters>, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
    let how = invocation.arguments().get("how").and_then(|how| how.as_str()).unwrap_or_default();
    complete(match &*how {
        "error" => ToolOutput::text("quota reached").as_error(),
        "error-structured" => {
            let mut output = ToolOutput::text("quota reached").as_error();
            output.structured = Some(r#"{"error":{"code":"E42"}}"#.to_owned());
            output
        }
        "absent" => ToolOutput::text("nothing structured"),
        "wrong-type" => ToolOutput::structured(r#"{"value":7}"#),
        _ => ToolOutput::structured(r#"{"value":"7"}"#),
    })
}

fn gives<'a>(_: &'a Arc<Counters>, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
    complete(match invocation.arguments().get("value") {
        Some(value) => ToolOutput::structured(value.raw()),
        None => ToolOutput::text("nothing structured"),
    })
}

fn counts<'a>(counters: &'a Arc<Counters>, invocation: &'a Invocation<'a>) -> Answer<'a, Execution> {
    counters.calls.fetch_add(1, Ordering::SeqCst);
    complete(ToolOutput::text(invocation.contract().name().as_str()))
}

fn endangers<'a>(counters: &'a Arc<Counters>, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
    counters.dangers.fetch_add(1, Ordering::SeqCst);
    complete(ToolOutput::text("boom"))
}

fn runs<'a>(counters: &'a Arc<Counters>, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
    complete(ToolOutput::text(&counters.dangers.load(Ordering::SeqCst).to_string()))
}

fn five_milliseconds<'a>(counters: &'a Arc<Counters>, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
    Answer::later(async move {
        let _running = Running::begin(counters);
        tokio::time::sleep(Duration::from_millis(5)).await;
        Execution::Complete(ToolOutput::text("done"))
    })
}

fn waits_for_ever<'a>(counters: &'a Arc<Counters>, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
    Answer::later(async move {
        let _running = Running::begin(counters);
        std::future::pending().await
    })
}

fn still_running<'a>(counters: &'a Arc<Counters>, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
    complete(ToolOutput::text(&counters.running.load(Ordering::SeqCst).to_string()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Whole {
    #[schemars(range(min = 1))]
    n: i64,
}

async fn integer(_: Context<'_>, Whole { n }: Whole) -> Result<Content, ToolError> {
    Ok(Content::text(&n.to_string()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    message: String,
}

async fn echo(_: Context<'_>, said: Said) -> Result<Content, ToolError> {
    Ok(Content::text(&said.message))
}

async fn panics(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    panic!("hunter2 at db.internal");
}

async fn fails(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Err(ToolError::internal("select * from users at db.internal as root:hunter2, see /srv/app/main.rs"))
}

#[expect(clippy::print_stdout, reason = "the fault that is tested")]
async fn prints(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    use std::io::Write;
    println!("Server 1.2 started");
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nhalf a line");
    let _ = stdout.flush();
    Ok(Content::text("printed"))
}

/// Hides one tool from everybody and permits all that is seen.
struct Hides;

impl Policy for Hides {
    fn is_visible(&self, _: &Principal, contract: &Contract) -> bool {
        contract.name().as_str() != "danger"
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        let policies = Vec::new();
        Answer::now(Ok(match self.is_visible(question.principal, question.contract) {
            true => Decision::Permit { policies },
            false => Decision::Deny { policies, errors: Vec::new() },
        }))
    }
}

/// The server of case 13: one tool that is hidden, its twin that may be seen, and how often either has run.
fn hiding(counters: &Arc<Counters>) -> Server {
    let tool = |name: &str, body: Body| {
        let contract = Contract::new(&Definition::new(name, Effect::Read, NONE), &Limits::default()).unwrap();
        GateTool::new(contract, Run(Arc::clone(counters), body))
    };
    Server::builder("cases", "1.0.0")
        .policy(Hides, Digest::of_bytes(b"hides"))
        .raw_tool(tool("danger", endangers))
        .raw_tool(tool("harmless", endangers))
        .raw_tool(tool("runs", runs))
        .build()
        .unwrap()
}

fn server(counters: &Arc<Counters>) -> Server {
    let limits = Limits::default();
    let raw = |name: &str, input: &str, output: Option<&str>, timeout: Option<Duration>, body: Body| {
        let mut definition = Definition::new(name, Effect::Read, input);
        definition.output_schema = output.map(str::to_owned);
        definition.timeout = timeout;
        let contract = Contract::new(&definition, &limits).unwrap();
        GateTool::new(contract, Run(Arc::clone(counters), body))
    };
    let plain = |name: &str, input: &str, body: Body| raw(name, input, None, None, body);
    Server::builder("cases", "1.0.0")
        .raw_tool(plain("booleans", BOOLEANS, shows))
        .raw_tool(plain("exact", EXACT, shows))
        .raw_tool(plain("typed", TYPED, shows))
        .raw_tool(plain("optional", OPTIONAL, shows))
        .raw_tool(plain("pattern", PATTERN, shows))
        .raw_tool(plain("tree", TREE, shows))
        .raw_tool(raw(
            "contracted",
            HOW,
            Some(r#"{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}"#),
            None,
            contracted,
        ))
        .raw_tool(raw(
            "gives_array",
            VALUE,
            Some(r#"{"type":"array","items":{"type":"integer"}}"#),
            None,
            gives,
        ))
        .raw_tool(raw("gives_null", VALUE, Some(r#"{"type":"null"}"#), None, gives))
        .raw_tool(raw("gives_boolean", VALUE, Some(r#"{"type":"boolean"}"#), None, gives))
        .raw_tool(raw("gives_integer", VALUE, Some(r#"{"type":"integer"}"#), None, gives))
        .raw_tool(raw("gives_string", VALUE, Some(r#"{"type":"string"}"#), None, gives))
        .raw_tool(raw("sleeps_too_long", NONE, None, Some(Duration::from_millis(50)), waits_for_ever))
        .raw_tool(plain("mirrored", MIRRORED, counts))
        .raw_tool(plain("fast", NONE, counts))
        .raw_tool(plain("slow", NONE, counts))
        .raw_tool(plain("counts", NONE, counts))
        .raw_tool(plain("five_milliseconds", NONE, five_milliseconds))
        .raw_tool(plain("waits_for_ever", NONE, waits_for_ever))
        .raw_tool(plain("still_running", NONE, still_running))
        .tool(Tool::new("integer", Effect::Read, integer))
        .tool(Tool::new("echo", Effect::Read, echo))
        .tool(Tool::new("panics", Effect::Read, panics))
        .tool(Tool::new("fails", Effect::Read, fails))
        .tool(Tool::new("prints", Effect::Read, prints))
        .resource(
            Resource::fixed("file:///donn%C3%A9es/%C3%A9.txt", "é", Contents::text("été"))
                .mime_type("text/plain"),
        )
        .build()
        .unwrap()
}

/// Tries to make a contract; every fault as one line.
pub(crate) fn register(name: &str, input: &str, output: Option<&str>) -> Result<(), Vec<String>> {
    let mut definition = Definition::new(name, Effect::Read, input);
    definition.output_schema = output.map(str::to_owned);
    match Contract::new(&definition, &Limits::default()) {
        Ok(_) => Ok(()),
        Err(faults) => Err(faults.iter().map(ToString::to_string).collect()),
    }
}

/// A server over HTTP that ends with the test.
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
    counters: Arc<Counters>,
    shutdown: Shutdown,
}

impl Http {
    /// How many calls have reached the counting tools.
    pub(crate) fn calls(&self) -> usize {
        self.counters.calls.load(Ordering::SeqCst)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.shutdown.begin();
        self.shutdown.force();
    }
}

/// Starts the server on a free loopback port.
pub(crate) fn http() -> Http {
    start(server)
}

/// Starts the server of case 13.
pub(crate) fn http_hiding() -> Http {
    start(hiding)
}

fn start(make: fn(&Arc<Counters>) -> Server) -> Http {
    let counters = Arc::new(Counters::default());
    let server = make(&counters);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = Shutdown::new();
    let ends = shutdown.clone();
    std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async move {
            let service = server.http(HttpOptions::default(), &ends);
            HttpServer::from_listener(listener, service).unwrap().run().await;
        });
    });
    Http { address, counters, shutdown }
}

/// Serves the standard streams to their end, with the server of case 13 or the other; gives the exit code.
#[expect(clippy::print_stderr, reason = "the child tells its parent why it failed")]
pub(crate) fn serve_stdio(is_hiding: bool) -> i32 {
    let make = if is_hiding { hiding } else { server };
    let server = make(&Arc::new(Counters::default()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match runtime.block_on(server.serve_stdio()) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}
