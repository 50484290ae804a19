//! rmcp with its router built once.

use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};

use crate::tool::{EchoInput, EchoOutput, fill};

/// The echo tool, and as many others as asked for, behind one shared router.
#[derive(Clone)]
pub struct Cached {
    router: Arc<ToolRouter<Self>>,
}

impl Cached {
    /// Builds the router once.
    pub fn new(tools: usize) -> Self {
        let mut router = Self::tool_router();
        fill(&mut router, tools);
        Self { router: Arc::new(router) }
    }
}

#[tool_router]
impl Cached {
    #[tool(description = "Send the text back")]
    async fn echo(&self, Parameters(input): Parameters<EchoInput>) -> Json<EchoOutput> {
        Json(EchoOutput { text: input.text })
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Cached {}
