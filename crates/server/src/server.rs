//! A server that was built, and the handle by which it is changed while it runs.
//!
//! What is in force is replaced as a whole: a change that does not build leaves the old in force. Serving
//! is the part of the transports, which extend [`Server`] in their own files.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use callgate_core::port::Ledger;
use callgate_core::snapshot::Tool as GateTool;

use crate::builder::{BuildError, ServerBuilder, catalogue, offers};
use crate::endpoint::{Endpoint, Parts, Published, RemoteCallers};
use crate::http::{HttpOptions, HttpServer, TransportSecurity};
use crate::prompt::Prompt;
use crate::shutdown::Shutdown;
use crate::stdio::{StdioError, StdioLimits};
use crate::tool::Tool;

/// Why a server was not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can be reached from other machines, and nothing tells callers apart.
    #[error(
        "{0} can be reached from other machines and no authenticator is configured; listen on a loopback \
         address such as 127.0.0.1, or say who may call: `[auth.oauth]` or `[auth.token]` in the configuration, \
         `ServerBuilder::authenticate` in Rust"
    )]
    Unauthenticated(SocketAddr),
    /// The address can be reached from other machines, and credentials would travel in plain text.
    #[error(
        "{0} can be reached from other machines, and tokens would travel there in plain text; give certificate \
         and key (`[tls]`), or say that a proxy in front ends TLS (`tls = \"proxy\"` under `[http]`)"
    )]
    PlainText(SocketAddr),
    /// The operating system refused.
    #[error("the server could not listen: {0}")]
    Io(#[from] io::Error),
    /// The standard streams failed.
    #[error(transparent)]
    Stdio(#[from] StdioError),
}

/// A server, ready to be served.
pub struct Server {
    endpoint: Arc<Endpoint>,
}

impl Server {
    /// Describes a server.
    ///
    /// ```
    /// use callgate_server::{Context, Effect, Server, Tool, ToolError};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Sum {
    ///     a: i64,
    ///     b: i64,
    /// }
    ///
    /// async fn add(_: Context<'_>, Sum { a, b }: Sum) -> Result<i64, ToolError> {
    ///     a.checked_add(b).ok_or_else(|| ToolError::new("the sum is too large"))
    /// }
    ///
    /// let server = Server::builder("calculator", "1.0.0")
    ///     .tool(Tool::new("add", Effect::Read, add).description("Adds two integers."))
    ///     .build();
    /// assert!(server.is_ok());
    /// ```
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name.into(), version.into())
    }

    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint: Arc::new(endpoint) }
    }

    /// Listens on an address; serving begins with [`HttpServer::run`].
    ///
    /// # Errors
    /// The operating system refuses, or the address is not a loopback one and there is no authenticator, or
    /// neither TLS nor a proxy that ends it.
    pub async fn bind_http(
        &self,
        address: SocketAddr,
        options: HttpOptions,
        shutdown: Shutdown,
    ) -> Result<HttpServer, ServeError> {
        let is_local = address.ip().to_canonical().is_loopback();
        if !is_local && self.endpoint.published().remote == RemoteCallers::Refused {
            return Err(ServeError::Unauthenticated(address));
        }
        if !is_local && matches!(options.security, TransportSecurity::Plain) {
            return Err(ServeError::PlainText(address));
        }
        Ok(HttpServer::bind(address, self.http(options, &shutdown)).await?)
    }

    /// Serves the standard streams of this process until the input ends or the process is told to end. See
    /// [`Server::serve_stdio_with`].
    ///
    /// # Errors
    /// The streams cannot be used, or the output cannot be written.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        Ok(self.serve_stdio_with(StdioLimits::default(), Shutdown::on_signal()?).await?)
    }

    /// Serves HTTP until the process is told to end.
    ///
    /// Not cancel safe: dropping it stops accepting, and leaves open connections to their own end.
    ///
    /// # Errors
    /// As [`Server::bind_http`].
    pub async fn serve_http(&self, address: SocketAddr) -> Result<(), ServeError> {
        let server = self.bind_http(address, HttpOptions::default(), Shutdown::on_signal()?).await?;
        tracing::info!("listening on http://{}/mcp", server.local_addr()?);
        server.run().await;
        Ok(())
    }

    /// A handle to the server, which stays valid while it is served.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle { endpoint: Arc::clone(&self.endpoint) }
    }

    /// What the transports share.
    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("published", &self.endpoint.published()).finish()
    }
}

/// Changes a server while it runs, and tells clients that listen.
#[derive(Clone, Debug)]
pub struct Handle {
    endpoint: Arc<Endpoint>,
}

impl Handle {
    /// Puts another description in force: all tools, prompts, resources, policy and limits. Calls that have
    /// begun end under the old one. Ports that outlive a snapshot (ledger, audit, clock, entropy) stay.
    ///
    /// # Errors
    /// Every fault; then the old description stays in force.
    pub fn reload(&self, builder: ServerBuilder) -> Result<(), BuildError> {
        self.change(|running| builder.parts(Some((&running.gate.keys, self.endpoint.ledger()))))
    }

    /// Adds tools, or replaces those of the same name.
    ///
    /// # Errors
    /// Every fault; then nothing changes.
    pub fn add_tools(&self, tools: impl IntoIterator<Item = Tool>) -> Result<(), BuildError> {
        self.change(|running| {
            let mut builder =
                ServerBuilder::new(String::new(), String::new()).limits((*running.limits).clone());
            for tool in tools {
                builder = builder.tool(tool);
            }
            let added = builder.parts(Some((&running.gate.keys, self.endpoint.ledger())))?.gate.catalogue;
            let kept = running.gate.catalogue.tools();
            let kept = kept.filter(|tool| added.find(tool.contract().name().as_str()).is_none());
            with_tools(running, kept.chain(added.tools()).cloned().collect(), &**self.endpoint.ledger())
        })
    }

    /// Removes tools. A name that no tool has is passed over.
    ///
    /// # Errors
    /// None that a removal alone can cause; the catalogue is checked as always.
    pub fn remove_tools(&self, names: &[&str]) -> Result<(), BuildError> {
        self.change(|running| {
            let kept = running.gate.catalogue.tools();
            let kept = kept.filter(|tool| !names.contains(&tool.contract().name().as_str()));
            with_tools(running, kept.cloned().collect(), &**self.endpoint.ledger())
        })
    }

    /// Adds a prompt, or replaces the one of the same name.
    ///
    /// # Errors
    /// Every fault; then nothing changes.
    pub fn add_prompt(&self, prompt: Prompt) -> Result<(), BuildError> {
        self.change(|running| {
            let name = prompt.name().to_owned();
            let builder = ServerBuilder::new(String::new(), String::new()).prompt(prompt);
            let added = builder.parts(Some((&running.gate.keys, self.endpoint.ledger())))?.prompts;
            let mut parts = running.parts();
            parts.prompts.retain(|known| known.name() != name);
            parts.prompts.extend(added);
            with_offers(parts)
        })
    }

    /// Removes a prompt. A name that no prompt has is passed over.
    ///
    /// # Errors
    /// The policy does not fit what is left; then nothing changes.
    pub fn remove_prompt(&self, name: &str) -> Result<(), BuildError> {
        self.change(|running| {
            let mut parts = running.parts();
            parts.prompts.retain(|known| known.name() != name);
            with_offers(parts)
        })
    }

    /// Whether a tool of that name is offered now.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.endpoint.published().gate.catalogue.find(name).is_some()
    }

    /// Whether a prompt of that name is offered now.
    #[must_use]
    pub fn has_prompt(&self, name: &str) -> bool {
        self.endpoint.published().prompt(name).is_some()
    }

    /// Tells those who watch a resource that it has changed.
    pub fn notify_resource_updated(&self, uri: &str) {
        self.endpoint.hub().resource_updated(uri);
    }

    /// Ends all subscriptions with their closing result and takes no new ones.
    pub fn close_subscriptions(&self) {
        self.endpoint.close();
    }

    fn change(&self, make: impl FnOnce(&Published) -> Result<Parts, BuildError>) -> Result<(), BuildError> {
        // Held from reading the running snapshot to publishing the next, so that no change is lost.
        let _updating = self.endpoint.updating().lock().unwrap_or_else(PoisonError::into_inner);
        let running = self.endpoint.published();
        let parts = make(&running)?;
        self.endpoint.publish(Published::new(parts));
        Ok(())
    }
}

fn with_tools(
    running: &Published,
    tools: Vec<Arc<GateTool>>,
    ledger: &dyn Ledger,
) -> Result<Parts, BuildError> {
    let mut faults = Vec::new();
    let mut parts = running.parts();
    match catalogue(tools, &running.gate.limits, ledger, &mut faults) {
        Some(catalogue) if faults.is_empty() => {
            parts.gate.catalogue = Arc::new(catalogue);
            with_offers(parts)
        }
        _ => Err(BuildError { faults }),
    }
}

/// The parts with the policy that fits their tools, prompts and resources.
fn with_offers(mut parts: Parts) -> Result<Parts, BuildError> {
    let tools = (*parts.gate.catalogue).clone();
    let catalogue = tools.with_offers(offers(&parts.prompts, &parts.resources));
    let (policy, revision) = parts.policy.policy(&catalogue).map_err(|faults| BuildError { faults })?;
    parts.gate.policy = policy;
    parts.gate.policy_revision = revision;
    parts.gate.catalogue = Arc::new(catalogue);
    Ok(parts)
}
