//! The echo tool's types and the 500 further tools of the list case, shared by both set-ups.

use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{CallToolResult, ContentBlock, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arguments of `echo`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoInput {
    /// What to send back
    #[schemars(length(max = 1000))]
    pub text: String,
}

/// The result of `echo`.
#[derive(Serialize, JsonSchema)]
pub struct EchoOutput {
    /// What was sent
    pub text: String,
}

/// A lookup by a tool of the list case; never called.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub struct LookupInput {
    /// Reference of the invoice
    #[schemars(length(max = 40))]
    reference: String,
    /// How many lines to return
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
}

/// Adds tools until the router has `tools` of them.
pub fn fill<S: Send + Sync + 'static>(router: &mut ToolRouter<S>, tools: usize) {
    for index in 1..tools {
        let schema = schema_for_input::<LookupInput>().unwrap_or_else(|error| panic!("schema: {error}"));
        let tool = Tool::new(
            format!("lookup_{index:03}"),
            "Look up the lines of one invoice by its reference",
            schema,
        );
        router.add_route(ToolRoute::new_dyn(tool, |_| {
            Box::pin(async { Ok(CallToolResult::success(vec![ContentBlock::text("never called")]).into()) })
        }));
    }
}
