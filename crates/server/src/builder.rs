//! From what an author wrote to a server that can be served, or to every fault at once.
//!
//! It must never build a server with a tool that it cannot check. Authors and the gateway call it.

mod check;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_core::contract::digest::Digest;
use callgate_core::keeping::Stores;
use callgate_core::offer::Offer;
use callgate_core::pipeline::Pipeline;
use callgate_core::policy::LocalPolicy;
use callgate_core::port::{
    Approvals, Audit, Authenticate, Clock, Entropy, Ledger, LocalIdentity, LogAudit, NoLedger, Policy,
    SystemClock, SystemEntropy,
};
use callgate_core::principal::Principal;
use callgate_core::seal::KeyRing;
use callgate_core::snapshot::{ApprovalRules, Catalogue, Snapshot, Tool as GateTool};

use crate::endpoint::{Endpoint, Identity, Parts, Published, RemoteCallers};
use crate::limits::Limits;
use crate::prompt::Prompt;
use crate::protection::ProtectedResource;
use crate::resource::{Resource, ResourceTemplate, Resources};
use crate::server::Server;
use crate::tool::Tool;
pub(crate) use check::catalogue;
use check::{check_prompts, compile, resources};

/// How long a list may be taken for fresh when the author says nothing. A client that listens for
/// changes hears of one at once; one that does not sees it within a minute.
const LIST_TTL: Duration = Duration::from_secs(60);

/// One thing that is wrong with a server as described.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildFault {
    /// What it is about: ``tool `name` ``, ``resource `uri` `` and so on.
    pub place: String,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl BuildFault {
    /// A fault of a part.
    #[must_use]
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for BuildFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Everything that is wrong with a server as described.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildError {
    /// Each fault, in the order in which the parts were given.
    pub faults: Vec<BuildFault>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server cannot be built")?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n- {fault}"))
    }
}

impl std::error::Error for BuildError {}

/// Describes a server. See [`Server::builder`].
///
/// # Defaults
/// Callers are local only and are called `local`; reads are permitted and everything else needs an
/// approval, which nobody can give; there is no ledger, so tools that change something are refused; calls
/// are recorded in the log. Each of these is replaced by its method. Who replaces the callers must replace
/// the policy, too.
#[must_use]
pub struct ServerBuilder {
    identity: (String, String, Option<String>),
    instructions: Option<String>,
    tools: Vec<Registered>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    authenticate: Arc<dyn Authenticate>,
    remote: RemoteCallers,
    protection: Option<ProtectedResource>,
    /// Nothing stands for the default policy, which is for local callers.
    policy: Option<PolicySource>,
    approvals: ApprovalRules,
    ledger: Arc<dyn Ledger>,
    audit: Arc<dyn Audit>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    keys: Option<Arc<KeyRing>>,
    stores: Stores,
    limits: Limits,
    list_ttl: Duration,
    logging: bool,
}

/// Where the policy of each snapshot comes from.
#[derive(Clone)]
pub(crate) enum PolicySource {
    /// It knows nothing of the catalogue.
    Given(Arc<dyn Policy>, Digest),
    /// It is made for the catalogue, and made anew when that changes.
    Made(Arc<MakePolicy>),
}

type MakePolicy = dyn Fn(&Catalogue) -> Result<(Arc<dyn Policy>, Digest), Vec<BuildFault>> + Send + Sync;

impl PolicySource {
    /// The default policy.
    fn local() -> Self {
        Self::Given(Arc::new(LocalPolicy::new()), Digest::of_bytes(b"callgate/policy/local/1"))
    }

    /// The policy for a catalogue and the digest of its rules.
    pub(crate) fn policy(&self, catalogue: &Catalogue) -> Result<(Arc<dyn Policy>, Digest), Vec<BuildFault>> {
        match self {
            Self::Given(policy, revision) => Ok((Arc::clone(policy), *revision)),
            Self::Made(make) => make(catalogue),
        }
    }
}

/// What policies know of prompts and resources.
pub(crate) fn offers(prompts: &[Arc<Prompt>], resources: &Resources) -> Vec<Arc<Offer>> {
    prompts.iter().map(|prompt| prompt.offer()).chain(resources.offers()).map(Arc::new).collect()
}

/// A tool as it was given.
enum Registered {
    Described(Box<Tool>),
    Compiled(Arc<GateTool>),
}

impl ServerBuilder {
    pub(crate) fn new(name: String, version: String) -> Self {
        Self {
            identity: (name, version, None),
            instructions: None,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            authenticate: Arc::new(LocalIdentity::new(Principal::new("local"))),
            remote: RemoteCallers::Refused,
            protection: None,
            policy: None,
            approvals: ApprovalRules::default(),
            ledger: Arc::new(NoLedger),
            audit: Arc::new(LogAudit),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy::default()),
            keys: None,
            stores: Stores::in_memory(),
            limits: Limits::default(),
            list_ttl: LIST_TTL,
            logging: false,
        }
    }

    /// The name that people see.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.identity.2 = Some(title.into());
        self
    }

    /// What a model should know of the server as a whole.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(Registered::Described(Box::new(tool)));
        self
    }

    /// Adds a tool of the gate, whose contract is made.
    pub fn raw_tool(mut self, tool: impl Into<Arc<GateTool>>) -> Self {
        self.tools.push(Registered::Compiled(tool.into()));
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds resources by a template of their URIs.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// In whose name local callers call: those on stdio and from this machine.
    pub fn local_principal(mut self, principal: Principal) -> Self {
        self.authenticate = Arc::new(LocalIdentity::new(principal));
        self.remote = RemoteCallers::Refused;
        self
    }

    /// Finds out who calls. With it the server may be reached from other machines, so it needs a policy:
    /// the default one is for local callers, and a server that has both is not built.
    pub fn authenticate(mut self, port: impl Authenticate + 'static) -> Self {
        self.authenticate = Arc::new(port);
        self.remote = RemoteCallers::Authenticated;
        self
    }

    /// Publishes which authorization server gives out tokens for this server, points refused callers to it,
    /// and holds every caller to its required scopes. Checking tokens is the part of
    /// [`ServerBuilder::authenticate`].
    pub fn protected_resource(mut self, resource: ProtectedResource) -> Self {
        self.protection = Some(resource);
        self
    }

    /// Decides what is visible and what may be called. `revision` is the digest of its rules.
    pub fn policy(mut self, policy: impl Policy + 'static, revision: Digest) -> Self {
        self.policy = Some(PolicySource::Given(Arc::new(policy), revision));
        self
    }

    /// Makes the policy for each catalogue that is put in force, with the digest of its rules. A catalogue
    /// for which it gives faults is not put in force.
    pub fn policy_for_catalogue(
        mut self,
        make: impl Fn(&Catalogue) -> Result<(Arc<dyn Policy>, Digest), Vec<BuildFault>> + Send + Sync + 'static,
    ) -> Self {
        self.policy = Some(PolicySource::Made(Arc::new(make)));
        self
    }

    /// The store of approvals alone, beside other stores.
    pub fn approvals(mut self, port: impl Approvals + 'static) -> Self {
        self.stores.approvals = Arc::new(port);
        self
    }

    /// How approvals of single calls are asked for.
    pub fn approval_rules(mut self, rules: ApprovalRules) -> Self {
        self.approvals = rules;
        self
    }

    /// Keeps what is known of each effect. Without one, tools that change something are a fault of the server.
    pub fn ledger(mut self, port: impl Ledger + 'static) -> Self {
        self.ledger = Arc::new(port);
        self
    }

    /// Takes the record of each call.
    pub fn audit(mut self, port: impl Audit + 'static) -> Self {
        self.audit = Arc::new(port);
        self
    }

    /// The clock.
    pub fn clock(mut self, port: impl Clock + 'static) -> Self {
        self.clock = Arc::new(port);
        self
    }

    /// The random source.
    pub fn entropy(mut self, port: impl Entropy + 'static) -> Self {
        self.entropy = Arc::new(port);
        self
    }

    /// The keys that seal state. Instances that serve the same clients share them; without them a fresh
    /// key is made, which no other process knows.
    pub fn keys(mut self, keys: impl Into<Arc<KeyRing>>) -> Self {
        self.keys = Some(keys.into());
        self
    }

    /// The stores of handles, artifacts and approvals. Instances that serve the same callers share them; without them they
    /// are in the memory of the process. A reload does not change them.
    pub fn stores(mut self, stores: Stores) -> Self {
        self.stores = stores;
        self
    }

    /// The bounds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Entries on one page of a list.
    pub fn page_size(mut self, entries: usize) -> Self {
        self.limits.page_size = entries;
        self
    }

    /// How long a client that does not listen for changes may take a list for fresh.
    pub fn list_ttl(mut self, ttl: Duration) -> Self {
        self.list_ttl = ttl;
        self
    }

    /// Declares that handlers send log messages to clients. Deprecated by the specification: prefer
    /// `tracing`. Without it such messages are dropped.
    pub fn logging(mut self) -> Self {
        self.logging = true;
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    /// Every fault of every part.
    pub fn build(self) -> Result<Server, BuildError> {
        let (ledger, audit) = (Arc::clone(&self.ledger), Arc::clone(&self.audit));
        let pipeline = Pipeline::new(ledger, audit, Arc::clone(&self.clock), Arc::clone(&self.entropy))
            .with_stores(self.stores.clone());
        let published = Published::new(self.parts(None)?);
        Ok(Server::new(Endpoint::new(pipeline, published)))
    }

    /// The parts of a snapshot. A running server keeps its keys unless others are given, and always its ledger.
    pub(crate) fn parts(
        self,
        running: Option<(&Arc<KeyRing>, &Arc<dyn Ledger>)>,
    ) -> Result<Parts, BuildError> {
        let mut faults = Vec::new();
        let ledger = Arc::clone(running.map_or(&self.ledger, |(_, ledger)| ledger));
        let running = running.map(|(keys, _)| keys);
        let tools = compile(self.tools, &self.limits.gate, &mut faults);
        let prompts: Vec<Arc<Prompt>> = self.prompts.into_iter().map(Arc::new).collect();
        let catalogue = catalogue(tools, &self.limits.gate, &*ledger, &mut faults);
        check_prompts(&prompts, &mut faults);
        if let Some(fault) = self.protection.as_ref().and_then(ProtectedResource::fault) {
            faults.push(BuildFault::new("protected resource", fault));
        }
        let source = match (self.policy, self.remote) {
            (Some(policy), _) => policy,
            (None, RemoteCallers::Refused) => PolicySource::local(),
            (None, RemoteCallers::Authenticated) => {
                let message = "callers are authenticated, and nothing says what each of them may do: give \
                               `.policy(..)` or `.policy_for_catalogue(..)`; the default policy is for local \
                               callers, whom it lets read everything";
                faults.push(BuildFault::new("policy", message));
                PolicySource::local()
            }
        };
        let resources = resources(self.resources, self.templates, &mut faults);
        let catalogue = catalogue.map(|known| known.with_offers(offers(&prompts, &resources)));
        let keys = match (self.keys, running) {
            (Some(keys), _) => Some(keys),
            (None, Some(running)) => Some(Arc::clone(running)),
            (None, None) => KeyRing::generate(&*self.entropy)
                .map_err(|error| faults.push(BuildFault::new("keys", error.to_string())))
                .ok()
                .map(Arc::new),
        };
        // A policy is judged only with tools that have no fault, so that it is not blamed for theirs.
        let policy = match (&catalogue, faults.is_empty()) {
            (Some(catalogue), true) => source.policy(catalogue).map_err(|found| faults.extend(found)).ok(),
            _ => None,
        };
        let (Some(catalogue), Some(keys), Some((policy, revision)), true) =
            (catalogue, keys, policy, faults.is_empty())
        else {
            return Err(BuildError { faults });
        };
        let limits = Arc::new(self.limits);
        let gate = Snapshot::new(
            Arc::new(catalogue),
            self.authenticate,
            policy,
            revision,
            self.approvals,
            keys,
            Arc::new(limits.gate.clone()),
        )
        .with_server(self.identity.2.as_ref().unwrap_or(&self.identity.0).as_str())
        .with_required_scopes(
            self.protection.as_ref().map_or_else(Vec::new, |it| it.required_scopes.clone()),
        );
        let (name, version, title) = self.identity;
        Ok(Parts {
            gate,
            policy: source,
            prompts,
            resources: Arc::new(resources),
            identity: Arc::new(Identity::new(name, &version, title.as_deref())),
            instructions: self.instructions,
            logging: self.logging,
            remote: self.remote,
            protection: self.protection,
            list_ttl: self.list_ttl,
            limits,
        })
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerBuilder({})", self.identity.0)
    }
}
