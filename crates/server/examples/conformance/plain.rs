//! Tools that answer, report, fail and change the lists, without asking the client anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callgate_server::{
    Block, Content, Context, Effect, LogLevel, Messages, NoInput, Prompt, ServerBuilder, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::Running;

/// A picture of one red pixel.
pub(super) const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00,
    0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x00, 0x03,
    0x00, 0x01, 0x5b, 0x1f, 0x60, 0x9b, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60,
    0x82,
];

/// One sample of silence.
const SILENCE: &[u8] =
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0\0\0";

/// The schema that must survive `tools/list` keyword by keyword.
const SCHEMA_2020_12: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
    }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}"##;

#[derive(Deserialize, JsonSchema)]
struct Summands {
    /// The first number
    a: i64,
    /// The second number
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Pause {
    /// How long to take, in milliseconds
    #[schemars(range(max = 60000))]
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Contact {
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    /// A value that is mirrored into a header
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

pub(super) fn add(builder: ServerBuilder, running: &Running) -> ServerBuilder {
    let cancelled = Arc::new(AtomicU64::new(0));
    let read = Effect::Read;
    builder
        .tool(Tool::new("about", read, about).description("Says what this server is."))
        .tool(Tool::new("add", read, sum).description("Adds two numbers and returns their sum."))
        .tool(
            Tool::with_state("slow", read, Arc::clone(&cancelled), slow)
                .timeout(Duration::from_secs(120))
                .description("Takes the given time and reports progress every 50 milliseconds."),
        )
        .tool(
            Tool::with_state("cancelled_count", read, cancelled, cancelled_count)
                .description("Counts the calls of `slow` that were cancelled."),
        )
        .tool(Tool::new("test_simple_text", read, simple_text).description("Returns one text."))
        .tool(Tool::new("test_image_content", read, image).description("Returns one picture."))
        .tool(Tool::new("test_audio_content", read, audio).description("Returns one sound."))
        .tool(
            Tool::new("test_embedded_resource", read, embedded).description("Returns an embedded resource."),
        )
        .tool(
            Tool::new("test_multiple_content_types", read, mixed)
                .description("Returns a text, a picture and a resource."),
        )
        .tool(Tool::new("test_tool_with_logging", read, logging).description("Sends three log messages."))
        .tool(Tool::new("test_logging_tool", read, logging).description("Sends three log messages."))
        .tool(Tool::new("test_error_handling", read, failing).description("Always fails."))
        .tool(
            Tool::new("test_tool_with_progress", read, progress).description("Reports progress three times."),
        )
        .tool(Tool::new("test_reconnection", read, reconnection).description("Takes a little while."))
        .tool(
            Tool::new("test_custom_header", read, custom_header)
                .description("Has a parameter that is mirrored into a header."),
        )
        .tool(
            Tool::new("json_schema_2020_12_tool", read, contact)
                .input_schema(SCHEMA_2020_12)
                .description("Has a schema with keywords of 2020-12."),
        )
        .tool(
            Tool::with_state("test_trigger_tool_change", read, Arc::clone(running), change_tools)
                .description("Adds a tool, or removes it again."),
        )
        .tool(
            Tool::with_state("test_trigger_prompt_change", read, Arc::clone(running), change_prompts)
                .description("Adds a prompt, or removes it again."),
        )
}

async fn about(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::text("Fixtures for tests of the protocol."))
}

async fn sum(_: Context<'_>, Summands { a, b }: Summands) -> Result<Sum, ToolError> {
    a.checked_add(b).map(|sum| Sum { sum }).ok_or_else(|| ToolError::new("the sum needs more than 64 bits"))
}

/// Counts itself when it is dropped before it was disarmed.
struct Cancelled<'c>(Option<&'c AtomicU64>);

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn slow(
    cancelled: &Arc<AtomicU64>,
    context: Context<'_>,
    Pause { ms }: Pause,
) -> Result<Content, ToolError> {
    let mut guard = Cancelled(Some(cancelled));
    let mut passed = 0;
    while passed < ms {
        let step = 50.min(ms - passed);
        sleep(Duration::from_millis(step)).await;
        passed += step;
        // Both are below 2^53, so nothing is rounded.
        context.progress(passed as f64, Some(ms as f64), Some("working"));
    }
    guard.0 = None;
    Ok(Content::text(&format!("took {ms} ms")))
}

#[derive(Serialize, JsonSchema)]
struct Count {
    count: u64,
}

async fn cancelled_count(cancelled: &Arc<AtomicU64>, _: Context<'_>, _: NoInput) -> Result<Count, ToolError> {
    Ok(Count { count: cancelled.load(Ordering::Relaxed) })
}

async fn simple_text(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::text("This is a simple text response for testing."))
}

async fn image(_: Context<'_>, _: NoInput) -> Result<Block, ToolError> {
    Ok(Block::image(PIXEL, "image/png"))
}

async fn audio(_: Context<'_>, _: NoInput) -> Result<Block, ToolError> {
    Ok(Block::audio(SILENCE, "audio/wav"))
}

async fn embedded(_: Context<'_>, _: NoInput) -> Result<Block, ToolError> {
    Ok(Block::embedded_text(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    ))
}

async fn mixed(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::text("Multiple content types test:").with(Block::image(PIXEL, "image/png")).with(
        Block::embedded_text("test://mixed-content-resource", "application/json", r#"{"test":"data"}"#),
    ))
}

async fn logging(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    for (at, text) in
        ["Tool execution started", "Tool processing data", "Tool execution completed"].iter().enumerate()
    {
        if at > 0 {
            sleep(Duration::from_millis(50)).await;
        }
        context.log(LogLevel::Info, Some("conformance"), text);
    }
    Ok(Content::text("Tool with logging executed successfully"))
}

async fn failing(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Err(ToolError::new("this tool intentionally returns an error for testing"))
}

async fn progress(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    for percent in [0.0, 50.0, 100.0] {
        context.progress(percent, Some(100.0), Some("working"));
        sleep(Duration::from_millis(50)).await;
    }
    Ok(Content::text("Progress was reported"))
}

async fn reconnection(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    // A client that can come back does, and gets the answer then.
    context.close_stream();
    sleep(Duration::from_millis(200)).await;
    Ok(Content::text("Reconnection test completed successfully"))
}

async fn custom_header(_: Context<'_>, Mirrored { value }: Mirrored) -> Result<Content, ToolError> {
    Ok(Content::text(&format!("value: {value}")))
}

async fn contact(_: Context<'_>, Contact { name }: Contact) -> Result<Content, ToolError> {
    Ok(Content::text(&format!("Hello, {}", name.as_deref().unwrap_or("whoever you are"))))
}

async fn change_tools(running: &Running, _: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let handle = running.get().ok_or(ToolError::new("the server is not running yet"))?;
    if handle.has_tool("test_added_tool") {
        handle.remove_tools(&["test_added_tool"])?;
    } else {
        let tool = Tool::new("test_added_tool", Effect::Read, simple_text);
        handle.add_tools([tool.description("Was added while the server ran.")])?;
    }
    Ok(Content::text("The list of tools has changed"))
}

async fn change_prompts(running: &Running, _: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    async fn added(_: Context<'_>, _: NoInput) -> Result<Messages, ToolError> {
        Ok(Messages::new().user("This prompt was added while the server ran."))
    }
    let handle = running.get().ok_or(ToolError::new("the server is not running yet"))?;
    if handle.has_prompt("test_added_prompt") {
        handle.remove_prompt("test_added_prompt")?;
    } else {
        let prompt = Prompt::new("test_added_prompt", added);
        handle.add_prompt(prompt.description("Was added while the server ran."))?;
    }
    Ok(Content::text("The list of prompts has changed"))
}
