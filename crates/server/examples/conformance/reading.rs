//! Resources, prompts and completions.

use std::time::Duration;

use callgate_server::{
    Block, Completing, Contents, Context, Messages, NoInput, Prompt, Reading, Resource, ResourceTemplate,
    Role, ServerBuilder, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::plain::PIXEL;

#[derive(Deserialize, JsonSchema)]
struct TwoTexts {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedding {
    /// URI of the resource to embed
    resource_uri: String,
}

#[derive(Deserialize, JsonSchema)]
struct UserContext {
    context: String,
}

pub(super) fn add(builder: ServerBuilder) -> ServerBuilder {
    let text = Contents::text("This is the content of the static text resource.");
    let watched = Contents::text("This resource can be watched.");
    builder
        .resource(
            Resource::fixed("test://static-text", "Static text", text.fresh_for(Duration::from_secs(60)))
                .mime_type("text/plain")
                .description("A text that never changes."),
        )
        .resource(
            Resource::fixed("test://static-binary", "Static binary", Contents::bytes(PIXEL))
                .mime_type("image/png")
                .description("A picture that never changes."),
        )
        .resource(
            Resource::fixed("test://watched-resource", "Watched", watched)
                .mime_type("text/plain")
                .description("A resource to subscribe to."),
        )
        .resource_template(
            ResourceTemplate::new("test://template/{id}/data", "Template", template)
                .mime_type("application/json")
                .description("Data by its id.")
                .complete("id", ids),
        )
        .prompt(Prompt::new("test_simple_prompt", simple).description("A prompt without arguments."))
        .prompt(
            Prompt::new("test_prompt_with_arguments", with_arguments)
                .description("A prompt with two arguments.")
                .complete("arg1", words),
        )
        .prompt(
            Prompt::new("test_prompt_with_embedded_resource", with_resource)
                .description("A prompt with an embedded resource."),
        )
        .prompt(Prompt::new("test_prompt_with_image", with_image).description("A prompt with a picture."))
        .prompt(
            Prompt::new("test_input_required_result_prompt", asking)
                .description("A prompt that asks for its context."),
        )
}

async fn template(_: Context<'_>, reading: Reading) -> Result<Contents, ToolError> {
    let id = reading.variables.get("id").ok_or_else(ToolError::not_found)?;
    Ok(Contents::text(format!(r#"{{"id":{id:?},"templateTest":true}}"#)))
}

async fn ids(_: Context<'_>, completing: Completing) -> Result<Vec<String>, ToolError> {
    Ok((1..=200).map(|id| id.to_string()).filter(|id| id.starts_with(&completing.value)).collect())
}

async fn words(_: Context<'_>, completing: Completing) -> Result<Vec<String>, ToolError> {
    let words = ["paris", "park", "party", "test"];
    Ok(words.into_iter().filter(|word| word.starts_with(&completing.value)).map(str::to_owned).collect())
}

async fn simple(_: Context<'_>, _: NoInput) -> Result<Messages, ToolError> {
    Ok(Messages::new().user("This is a simple prompt for testing."))
}

async fn with_arguments(_: Context<'_>, TwoTexts { arg1, arg2 }: TwoTexts) -> Result<Messages, ToolError> {
    Ok(Messages::new().user(&format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")))
}

async fn with_resource(_: Context<'_>, Embedding { resource_uri }: Embedding) -> Result<Messages, ToolError> {
    let block = Block::embedded_text(&resource_uri, "text/plain", "Embedded resource content for testing.");
    Ok(Messages::new().with(Role::User, block).user("Please process the embedded resource above."))
}

async fn with_image(_: Context<'_>, _: NoInput) -> Result<Messages, ToolError> {
    let image = Block::image(PIXEL, "image/png");
    Ok(Messages::new().with(Role::User, image).user("Please analyze the image above."))
}

async fn asking(context: Context<'_>, _: NoInput) -> Result<Messages, ToolError> {
    let answer = context.elicit::<UserContext>("user_context", "What context should the prompt use?").await?;
    let UserContext { context } = answer.accepted().ok_or(ToolError::new("no context was given"))?;
    Ok(Messages::new().user(&format!("Use this context: {context}")))
}
