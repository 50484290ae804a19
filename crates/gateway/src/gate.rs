//! The whole gate in one value: the tools of a file and tools of Rust in one catalogue.
//!
//! A gate is built only from a file without errors. What is in force changes only as a whole, and only
//! to something that builds. Rust authors and the command line start here.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::audit::Trail;
use callgate_core::port::{EntropyError, SystemClock, SystemEntropy};
use callgate_core::seal::KeyRing;
use callgate_server::{
    BuildError, HttpOptions, Server, ServerBuilder, Shutdown, StdioLimits, Tls, Tool, TransportSecurity,
};

use crate::build::into_server;
use crate::callers::{self, Kept};
use crate::config::{Config, Finding, Limits, Located, Report};
use crate::cursor::Seals;
use crate::load::{Loaded, load};
use crate::reload::{KeptTables, Reloader, WatchError};
use crate::store::OpenStore;

/// The version of a server whose file gives none.
const VERSION: &str = "0.0.0";

/// Changes to the builder that hold for every snapshot.
type Customize = Arc<dyn Fn(ServerBuilder) -> ServerBuilder + Send + Sync>;

/// A configuration that was loaded, and the tools of Rust beside it.
///
/// ```no_run
/// use callgate_gateway::Gate;
/// use callgate_server::{Context, Effect, Tool, ToolError};
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
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// Gate::from_file("callgate.toml")?
///     .tool(Tool::new("add", Effect::Read, add).description("Adds two integers."))
///     .serve()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Gate {
    loaded: Loaded,
    recipe: Recipe,
    /// Outlives every snapshot, so it is not part of how one is made.
    trail: Option<Trail>,
    store: Option<OpenStore>,
}

/// How each snapshot is made.
#[derive(Clone)]
pub(crate) struct Recipe {
    path: PathBuf,
    seals: Arc<Seals>,
    native: Vec<Tool>,
    customize: Vec<Customize>,
    kept: Arc<Kept>,
}

impl Gate {
    /// Loads a file and opens its audit trail and its store. It may be called inside and outside of a runtime.
    ///
    /// # Errors
    /// Everything that is wrong with the file, a trail that cannot be written, a store without its tables.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Report> {
        let path = path.as_ref();
        let entropy = SystemEntropy::default();
        let keys = KeyRing::generate(&entropy).map_err(|EntropyError| {
            let remedy = "start on a system whose random source works";
            Report::new(vec![Finding::error(
                "no_entropy",
                "the random source of the system has failed",
                remedy,
            )])
        })?;
        let seals = Arc::new(Seals {
            keys: Arc::new(keys),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(entropy),
        });
        let recipe = Recipe {
            path: path.to_owned(),
            seals,
            native: Vec::new(),
            customize: Vec::new(),
            kept: Arc::default(),
        };
        let loaded = recipe.load();
        if loaded.report.has_errors() {
            return Err(loaded.report);
        }
        let directory = path.parent().unwrap_or_else(|| Path::new(""));
        let (name, version) = identity(&loaded.config);
        let trail = crate::trail::open(&loaded.config, directory, (&name, &version))
            .map_err(|finding| Report::new(vec![finding]))?;
        let about = format!("{name} {version}, process {}", std::process::id());
        let store = crate::store::open(&loaded.config, directory, &about)
            .map_err(|finding| Report::new(vec![finding]))?;
        recipe.kept.begin(loaded.tls.clone());
        Ok(Self { loaded, recipe, trail, store })
    }

    /// Adds a tool of Rust.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.recipe.native.push(tool);
        self
    }

    /// Changes how the server is built: its ports, prompts, resources and limits. The function is called
    /// for each snapshot, after what the file says.
    pub fn customize(
        mut self,
        change: impl Fn(ServerBuilder) -> ServerBuilder + Send + Sync + 'static,
    ) -> Self {
        self.recipe.customize.push(Arc::new(change));
        self
    }

    /// What should be better about the file.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.loaded.report
    }

    /// What the file says.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.loaded.config
    }

    /// The audit trail, if the file has one. Whoever ends the process flushes it last.
    #[must_use]
    pub fn trail(&self) -> Option<Trail> {
        self.trail.clone()
    }

    /// How the file wants the server to be reached over HTTP. A reload does not change it.
    #[must_use]
    pub fn http_options(&self) -> HttpOptions {
        let mut options = HttpOptions::default();
        let config = &self.loaded.config;
        if let Some(bytes) = max_request_bytes(config) {
            options.limits.message.bytes = bytes;
        }
        if let Some(tls) = self.recipe.kept.tls() {
            options.security = TransportSecurity::Tls(tls);
        }
        let Some(table) = &config.http else { return options };
        if table.tls.is_some() {
            options.security = TransportSecurity::ByProxy;
        }
        let texts = |list: &Option<Located<Vec<Located<String>>>>| {
            list.iter().flat_map(|texts| texts.iter()).map(ToString::to_string).collect()
        };
        if let Some(path) = &table.path {
            options.path = path.to_string();
        }
        options.hosts = texts(&table.hosts);
        options.origins = texts(&table.origins);
        options.legacy = table.legacy.as_ref().is_none_or(|legacy| **legacy);
        options
    }

    /// Whether the file says who calls over the standard streams, which carry no credentials.
    ///
    /// # Errors
    /// It says who calls with credentials only.
    pub fn check_stdio(&self) -> Result<(), ServeError> {
        let auth = self.loaded.config.auth.as_ref();
        match auth.filter(|auth| auth.has_credentials() && auth.local.is_none()) {
            Some(_) => Err(ServeError::NoLocalCaller),
            None => Ok(()),
        }
    }

    /// The bounds that the file sets for the standard streams.
    #[must_use]
    pub fn stdio_limits(&self) -> StdioLimits {
        let mut limits = StdioLimits::default();
        if let Some(bytes) = max_request_bytes(&self.loaded.config) {
            limits.line_bytes = bytes;
        }
        limits
    }

    /// The server, and what puts a changed file in force.
    ///
    /// # Errors
    /// Every fault of a tool of Rust, and names that two tools share.
    pub fn build(self) -> Result<(Server, Reloader), BuildError> {
        let Self { loaded, recipe, trail, store } = self;
        let (files, kept) = (loaded.files.clone(), KeptTables::of(&loaded.config));
        let server = recipe.builder(loaded, trail, store).build()?;
        let reloader = Reloader::new(recipe, server.handle(), files, kept);
        Ok((server, reloader))
    }

    /// Serves over the standard streams until they end or the process is told to stop, and puts the file
    /// in force again whenever it changes.
    ///
    /// # Errors
    /// What keeps the server from being built or served.
    pub async fn serve(self) -> Result<(), ServeError> {
        self.check_stdio()?;
        let (limits, trail) = (self.stdio_limits(), self.trail());
        let (server, reloader) = self.build()?;
        let watching = reloader.watch()?;
        let shutdown = Shutdown::on_signal().map_err(callgate_server::ServeError::from)?;
        let served = server.serve_stdio_with(limits, shutdown).await;
        drop(watching);
        flush(trail).await;
        Ok(served.map_err(callgate_server::ServeError::from)?)
    }

    /// Serves over HTTP until the process is told to stop, and puts the file in force again whenever it
    /// changes.
    ///
    /// # Errors
    /// What keeps the server from being built or served; an address that is not of this machine, as long as
    /// nothing tells callers apart.
    pub async fn serve_http(self, address: SocketAddr) -> Result<(), ServeError> {
        let (options, trail) = (self.http_options(), self.trail());
        let (server, reloader) = self.build()?;
        let shutdown = Shutdown::on_signal().map_err(callgate_server::ServeError::from)?;
        let http = server.bind_http(address, options, shutdown).await?;
        let watching = reloader.watch()?;
        http.run().await;
        drop(watching);
        flush(trail).await;
        Ok(())
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("path", &self.recipe.path).finish_non_exhaustive()
    }
}

impl Recipe {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the certificate of a snapshot in force, once the snapshot is.
    #[must_use]
    pub(crate) fn replace_certificate(&self, tls: Option<&Tls>) -> bool {
        self.kept.replace(tls)
    }

    pub(crate) fn load(&self) -> Loaded {
        let mut loaded = load(&self.path, &Limits::default(), &self.seals);
        match self.kept.bearer(&loaded.settings, &self.seals.clock) {
            Ok(bearer) => loaded.bearer = bearer,
            Err(error) => {
                let mut findings = loaded.report.findings().to_vec();
                let remedy = "check the certificates of authorities on this machine";
                findings.push(Finding::error("no_client", error.to_string(), remedy));
                loaded.report = Report::new(findings);
            }
        }
        loaded
    }

    /// The builder of a snapshot; the trail and the store belong to the first one.
    pub(crate) fn builder(
        &self,
        loaded: Loaded,
        trail: Option<Trail>,
        store: Option<OpenStore>,
    ) -> ServerBuilder {
        let Loaded { config, tools, policies, gate_limits, settings, keys, bearer, .. } = loaded;
        let text = |value: Option<&Located<String>>| value.map(|text| text.trim().to_owned());
        let server = config.server.as_ref();
        let (name, version) = identity(&config);
        let mut builder = Server::builder(name, version).keys(keys);
        if let Some(trail) = trail {
            builder = builder.audit(trail);
        }
        if let Some(store) = store {
            builder = builder.stores(store.stores()).ledger(store.ledger);
        }
        builder = builder.approval_rules(crate::approval::rules(&config));
        let mut limits = callgate_server::Limits::default();
        limits.gate = gate_limits;
        into_server(&config, &mut limits);
        if let Some(size) = server.and_then(|server| server.page_size.as_ref()) {
            limits.page_size = usize::try_from(**size).unwrap_or(limits.page_size);
        }
        builder = builder.limits(limits);
        if let Some(title) = text(server.and_then(|server| server.title.as_ref())) {
            builder = builder.title(title);
        }
        if let Some(instructions) = text(server.and_then(|server| server.instructions.as_ref())) {
            builder = builder.instructions(instructions);
        }
        if let Some(policies) = policies {
            builder = policies.into_builder(builder, Arc::clone(&self.seals.clock));
        }
        builder = callers::install(builder, settings, bearer);
        for tool in tools {
            builder = builder.raw_tool(tool);
        }
        for tool in &self.native {
            builder = builder.tool(tool.clone());
        }
        self.customize.iter().fold(builder, |builder, change| change(builder))
    }
}

/// The name and the version of the server. A file without a name has an error and is not served.
fn identity(config: &Config) -> (String, String) {
    let server = config.server.as_ref();
    let text = |value: Option<&Located<String>>| value.map(|text| text.trim().to_owned());
    let name = text(server.and_then(|server| server.name.as_ref())).unwrap_or_default();
    let version = text(server.and_then(|server| server.version.as_ref()));
    (name, version.unwrap_or_else(|| VERSION.to_owned()))
}

/// How long the end of a server waits for its records.
const FLUSH: Duration = Duration::from_secs(5);

/// Waits until the records of calls that ended are written.
async fn flush(trail: Option<Trail>) {
    let Some(trail) = trail else { return };
    // A panic on that thread is a flush that did not happen.
    if !tokio::task::spawn_blocking(move || trail.flush(FLUSH)).await.unwrap_or(false) {
        tracing::error!("the audit trail was not written to its end in time");
    }
}

fn max_request_bytes(config: &Config) -> Option<usize> {
    let bytes = config.limits.as_ref().and_then(|table| table.max_request_bytes.as_ref())?;
    usize::try_from(**bytes).ok()
}

/// Why a gate was not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A tool of Rust has a fault, or two tools share a name.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The files cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// Nobody may call over the standard streams.
    #[error(
        "the standard streams carry no credentials, and the file does not say who calls there; add `[auth.local]` \
         with a principal, or serve HTTP with `--listen`"
    )]
    NoLocalCaller,
    /// The server could not listen, or its streams failed.
    #[error(transparent)]
    Serve(#[from] callgate_server::ServeError),
}
