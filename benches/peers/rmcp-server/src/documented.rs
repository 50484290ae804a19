//! rmcp as its documentation shows it: `#[tool_router(server_handler)]`, nothing kept between calls.

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};

use crate::tool::{EchoInput, EchoOutput, fill};

/// One echo tool.
#[derive(Clone)]
pub struct Documented;

#[tool_router(server_handler)]
impl Documented {
    #[tool(description = "Send the text back")]
    async fn echo(&self, Parameters(input): Parameters<EchoInput>) -> Json<EchoOutput> {
        Json(EchoOutput { text: input.text })
    }
}

/// Many tools, whose router is built for each request just as the macro builds it.
#[derive(Clone)]
pub struct Listing {
    /// How many tools to offer.
    pub tools: usize,
}

impl Listing {
    fn rebuilt(&self) -> ToolRouter<Self> {
        let mut router = Self::tool_router();
        fill(&mut router, self.tools);
        router
    }
}

#[tool_router]
impl Listing {
    #[tool(description = "Send the text back")]
    async fn echo(&self, Parameters(input): Parameters<EchoInput>) -> Json<EchoOutput> {
        Json(EchoOutput { text: input.text })
    }
}

#[tool_handler(router = self.rebuilt())]
impl ServerHandler for Listing {}
