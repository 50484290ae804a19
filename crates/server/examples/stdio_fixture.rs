//! A server on standard streams for tests and measurements: one tool for each thing that can happen to a
//! call.

use std::time::Duration;

use callgate_core::port::LogLevel;
use callgate_server::{
    Block, Content, Contents, Context, Effect, Elicited, Messages, NoInput, Prompt, Resource, Server,
    Shutdown, StdioLimits, Tool, ToolError,
};
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

/// A form of one field.
#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// The argument of the prompt.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Topic {
    topic: String,
}

/// Says when a call is dropped before its end.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        eprintln!("dropped");
    }
}

async fn echo(_: Context<'_>, input: Echo) -> Result<Echo, ToolError> {
    Ok(input)
}

async fn wait(_: Context<'_>, Wait { milliseconds }: Wait) -> Result<Content, ToolError> {
    let dropped = Dropped;
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    std::mem::forget(dropped);
    Ok(Content::text("waited"))
}

async fn print(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    #[expect(clippy::print_stdout, reason = "this is what must not reach the client")]
    {
        println!("a line that is no message");
    }
    Ok(Content::text("printed"))
}

async fn panic(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    panic!("on purpose")
}

async fn report(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    for step in [0.0, 50.0, 50.0, 25.0, 100.0] {
        context.progress(step, Some(100.0), Some("half\nway"));
        context.log(LogLevel::Info, Some("fixture"), "a line\nand another");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(Content::text("reported"))
}

async fn ask(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    match context.elicit::<Name>("name", "Who are you?").await? {
        Elicited::Accepted(Name { name }) => Ok(Content::text(&format!("hello {name}"))),
        Elicited::Declined | Elicited::Cancelled => Ok(Content::text("hello stranger")),
    }
}

async fn every_block(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::text("text")
        .with(Block::image(b"image", "image/png"))
        .with(Block::audio(b"audio", "audio/wav"))
        .with(Block::resource_link("fixture://note", "note", None))
        .with(Block::embedded_text("fixture://note", "text/plain", "embedded")))
}

async fn count(_: Context<'_>, _: NoInput) -> Result<u64, ToolError> {
    Ok(42)
}

async fn topic(_: Context<'_>, Topic { topic }: Topic) -> Result<Messages, ToolError> {
    Ok(Messages::new().user(&format!("Write about {topic}.")))
}

fn tool_at_runtime() -> Tool {
    Tool::new("added", Effect::Read, echo).description("A tool that was added while the server ran.")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("fixture", "1.0.0")
        .title("The fixture")
        .instructions("Nothing here is useful.")
        .logging()
        .tool(Tool::new("echo", Effect::Read, echo).title("Echo").description("Gives its input back."))
        .tool(Tool::new("wait", Effect::Read, wait).description("Waits."))
        .tool(Tool::new("print", Effect::Read, print).description("Prints on standard output."))
        .tool(Tool::new("panic", Effect::Read, panic).description("Panics."))
        .tool(Tool::new("report", Effect::Read, report).description("Reports progress and logs."))
        .tool(Tool::new("ask", Effect::Read, ask).description("Asks who is there."))
        .tool(Tool::new("every_block", Effect::Read, every_block).description("One block of each kind."))
        .tool(Tool::new("count", Effect::Read, count).description("A result that is no object."))
        .prompt(Prompt::new("topic", topic).title("Topic").description("A text about something."))
        .resource(Resource::fixed("fixture://note", "note", Contents::text("a note")).title("A note"))
        .build()?;
    let handle = server.handle();
    // A list changes while clients listen: each second SIGHUP-free way would need another channel, so the
    // fixture changes its tools shortly after it started when it is told to.
    if let Some(delay) = std::env::args().nth(1).and_then(|delay| delay.parse().ok()) {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            let added = handle.add_tools([tool_at_runtime()]);
            debug_assert!(added.is_ok(), "the tool is valid");
            handle.notify_resource_updated("fixture://note");
        });
    }
    server.serve_stdio_with(StdioLimits::default(), Shutdown::on_signal()?).await?;
    Ok(())
}
