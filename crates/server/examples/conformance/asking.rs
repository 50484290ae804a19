//! Tools that ask the client something: forms, its model and its roots.

use callgate_protocol::json::push_string;
use callgate_server::{
    Capability, Content, Context, Document, Effect, Elicited, NoInput, ServerBuilder, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A form with a default for each kind of field.
const DEFAULTS: &str = r#"{"type":"object","properties":{
"name":{"type":"string","description":"User name","default":"John Doe"},
"age":{"type":"integer","description":"User age","default":30},
"score":{"type":"number","description":"User score","default":95.5},
"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
"verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]}"#;

/// A form with each way to choose.
const CHOICES: &str = r#"{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}"#;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Asking {
    /// What to ask the model
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Telling {
    /// What to show to the person
    message: String,
}

pub(super) fn add(builder: ServerBuilder) -> ServerBuilder {
    let read = Effect::Read;
    builder
        .tool(Tool::new("test_sampling", read, sampling).description("Asks the client's model."))
        .tool(Tool::new("test_elicitation", read, elicitation).description("Asks the person for a name."))
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", read, defaults)
                .description("Asks with a form that has defaults."),
        )
        .tool(
            Tool::new("test_elicitation_sep1330_enums", read, choices)
                .description("Asks with a form that has choices."),
        )
        .tool(
            Tool::new("test_missing_capability", read, needs_sampling)
                .description("Needs the client's model."),
        )
        .tool(
            Tool::new("test_streaming_elicitation", read, ask_name)
                .description("Asks the person for a name."),
        )
        .tool(
            Tool::new("test_input_required_result_elicitation", read, ask_name)
                .description("Asks the person for a name."),
        )
        .tool(
            Tool::new("test_input_required_result_sampling", read, ask_capital)
                .description("Asks the client's model for a capital."),
        )
        .tool(
            Tool::new("test_input_required_result_list_roots", read, ask_roots)
                .description("Asks for the roots of the client."),
        )
        .tool(
            Tool::new("test_input_required_result_request_state", read, ask_with_state)
                .description("Asks for consent and keeps state."),
        )
        .tool(
            Tool::new("test_input_required_result_tampered_state", read, ask_with_state)
                .description("Asks for consent and keeps state."),
        )
        .tool(
            Tool::new("test_input_required_result_multiple_inputs", read, ask_everything)
                .description("Asks three things at once."),
        )
        .tool(
            Tool::new("test_input_required_result_multi_round", read, ask_twice)
                .description("Asks two things one after the other."),
        )
        .tool(
            Tool::new("test_input_required_result_capabilities", read, ask_what_is_declared)
                .description("Asks only what the client declared."),
        )
}

fn message(text: &str, tokens: u32) -> String {
    let mut params = String::from(r#"{"messages":[{"role":"user","content":{"type":"text","text":"#);
    push_string(&mut params, text);
    params.push_str(&format!(r#"}}}}],"maxTokens":{tokens}}}"#));
    params
}

fn text_of(answer: &Document) -> String {
    let text = answer.root().path(["content", "text"]).and_then(|text| text.as_str());
    text.unwrap_or_default().into_owned()
}

fn outcome(answer: &Elicited<Document>) -> Content {
    let (action, content) = match answer {
        Elicited::Accepted(content) => ("accept", content.text()),
        Elicited::Declined => ("decline", "{}"),
        Elicited::Cancelled => ("cancel", "{}"),
    };
    Content::text(&format!("Elicitation completed: action={action}, content={content}"))
}

fn declined() -> ToolError {
    ToolError::new("the person did not answer")
}

async fn sampling(context: Context<'_>, Asking { prompt }: Asking) -> Result<Content, ToolError> {
    let answer = context.sample("answer", message(&prompt, 100)).await?;
    Ok(Content::text(&format!("LLM response: {}", text_of(&answer))))
}

async fn elicitation(context: Context<'_>, Telling { message }: Telling) -> Result<Content, ToolError> {
    let schema = r#"{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}"#;
    let answer = context.elicit_form("user", &message, schema).await?;
    Ok(outcome(&answer))
}

async fn defaults(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let answer = context.elicit_form("user", "Please review the defaults", DEFAULTS).await?;
    Ok(outcome(&answer))
}

async fn choices(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let answer = context.elicit_form("choice", "Please choose", CHOICES).await?;
    Ok(outcome(&answer))
}

async fn needs_sampling(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let answer = context.sample("answer", message("Say hello", 50)).await?;
    Ok(Content::text(&text_of(&answer)))
}

async fn ask_name(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let name = context.elicit::<Name>("user_name", "What is your name?").await?;
    let Name { name } = name.accepted().ok_or_else(declined)?;
    Ok(Content::text(&format!("Hello, {name}!")))
}

async fn ask_capital(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let question = message("What is the capital of France?", 100);
    let answer = context.sample("capital_question", question).await?;
    Ok(Content::text(&format!("The model says: {}", text_of(&answer))))
}

async fn ask_roots(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let answer = context.roots("client_roots").await?;
    let count = answer.root().get("roots").map_or(0, |roots| roots.len());
    Ok(Content::text(&format!("The client has {count} roots")))
}

async fn ask_with_state(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let kept = context.kept();
    context.keep(*b"asked");
    let consent = context.elicit::<Consent>("confirm", "Please confirm").await?;
    let Consent { ok } = consent.accepted().ok_or_else(declined)?;
    // In earlier revisions the answer comes in the same round, which has nothing kept.
    let state = if kept.is_none_or(|kept| kept == b"asked") { "state-ok" } else { "state-lost" };
    Ok(Content::text(&format!("{state}, confirmed: {ok}")))
}

async fn ask_everything(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    context.keep(*b"asked");
    let (name, greeting, roots) = tokio::join!(
        context.elicit::<Name>("user_name", "What is your name?"),
        context.sample("greeting", message("Generate a greeting", 50)),
        context.roots("client_roots"),
    );
    let Name { name } = name?.accepted().ok_or_else(declined)?;
    let count = roots?.root().get("roots").map_or(0, |roots| roots.len());
    Ok(Content::text(&format!("{}, {name}! You have {count} roots.", text_of(&greeting?))))
}

async fn ask_twice(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let name = match context.kept() {
        Some(kept) if !kept.is_empty() => String::from_utf8_lossy(kept).into_owned(),
        _ => {
            context.keep("");
            let name = context.elicit::<Name>("step1", "Step 1: What is your name?").await?;
            name.accepted().ok_or_else(declined)?.name
        }
    };
    context.keep(name.as_str());
    let color = context.elicit::<Color>("step2", "Step 2: What is your favorite color?").await?;
    let Color { color } = color.accepted().ok_or_else(declined)?;
    Ok(Content::text(&format!("{name} likes {color}")))
}

async fn ask_what_is_declared(context: Context<'_>, input: NoInput) -> Result<Content, ToolError> {
    if context.declared().contains(Capability::Sampling) {
        return ask_capital(context, input).await;
    }
    if context.declared().contains(Capability::ElicitationForm) {
        return ask_name(context, input).await;
    }
    ask_roots(context, input).await
}
