//! Everything that a call is judged by, taken once at its start and kept until its end.
//!
//! A reload makes a whole new snapshot; nothing in one ever changes. The server publishes it and the
//! pipeline reads it.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::time::timeout_at;

use crate::contract::digest::Digest;
use crate::contract::{Contract, Resolution};
use crate::limits::Limits;
use crate::offer::{Offer, OfferKind};
use crate::port::{Authenticate, Delegate, Execute, Policy, Unresolved, Verdict};
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};
use crate::seal::KeyRing;

/// A contract and what carries it out.
pub struct Tool {
    pub(crate) contract: Contract,
    pub(crate) execute: Box<dyn Execute>,
    pub(crate) delegate: Option<Arc<dyn Delegate>>,
}

impl Tool {
    /// A tool of a contract and its executor.
    #[must_use]
    pub fn new(contract: Contract, execute: impl Execute + 'static) -> Self {
        Self { contract, execute: Box::new(execute), delegate: None }
    }

    /// The same tool, which speaks to a service in the name of its caller. The token of the caller goes to
    /// `delegate` alone; the executor gets what that gives.
    #[must_use]
    pub fn with_delegate(mut self, delegate: Arc<dyn Delegate>) -> Self {
        self.delegate = Some(delegate);
        self
    }

    /// The contract.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Asks the backend of the tool about an effect whose outcome is unknown. A tool that leaves that to a person is
    /// not asked, and a panic is no answer.
    pub async fn resolve(&self, effect: &Unresolved<'_>) -> Verdict {
        if self.contract.resolution() != Some(Resolution::Backend) {
            return Verdict::CannotTell;
        }
        let asked = AssertUnwindSafe(async { self.execute.resolve(effect).await }).catch_unwind();
        match timeout_at(effect.deadline, asked).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(_panic)) => {
                tracing::error!(tool = %self.contract.name(), "asking about an effect panicked");
                Verdict::CannotTell
            }
            Err(_elapsed) => Verdict::CannotTell,
        }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tool({})", self.contract.name())
    }
}

/// All tools, by name, and what is offered besides them.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    tools: Vec<Arc<Tool>>,
    /// By kind and name.
    offers: [Vec<Arc<Offer>>; OfferKind::ALL.len()],
}

impl Catalogue {
    /// A catalogue in the order of the names.
    ///
    /// # Errors
    /// The names that two tools share.
    pub fn new(tools: impl IntoIterator<Item = Arc<Tool>>) -> Result<Self, DuplicateNames> {
        let mut tools: Vec<_> = tools.into_iter().collect();
        tools.sort_by(|one, other| one.contract.name.cmp(&other.contract.name));
        let mut names: Vec<String> = tools
            .windows(2)
            .filter_map(|pair| match pair {
                [one, other] if one.contract.name == other.contract.name => {
                    Some(one.contract.name.to_string())
                }
                _ => None,
            })
            .collect();
        names.dedup();
        if names.is_empty() {
            Ok(Self { tools, offers: Default::default() })
        } else {
            Err(DuplicateNames(names))
        }
    }

    /// The tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        let at = self.tools.binary_search_by(|tool| tool.contract.name.as_str().cmp(name)).ok()?;
        self.tools.get(at)
    }

    /// All tools in the order of their names.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    /// The same tools with these resources, templates and prompts instead of those before. Of several with one
    /// name the last one stays.
    #[must_use]
    pub fn with_offers(mut self, offers: impl IntoIterator<Item = Arc<Offer>>) -> Self {
        let mut sorted: BTreeMap<(OfferKind, Box<str>), Arc<Offer>> = BTreeMap::new();
        for offer in offers {
            sorted.insert((offer.kind(), offer.name().into()), offer);
        }
        self.offers = Default::default();
        for ((kind, _), offer) in sorted {
            if let Some(of_kind) = self.offers.get_mut(kind as usize) {
                of_kind.push(offer);
            }
        }
        self
    }

    /// What is offered of a kind, in the order of the names.
    #[must_use]
    pub fn offers(&self, kind: OfferKind) -> &[Arc<Offer>] {
        // Every kind has its place, by the type of the array.
        self.offers.get(kind as usize).map_or(&[], Vec::as_slice)
    }

    /// What is offered of a kind under a name.
    #[must_use]
    pub fn offer(&self, kind: OfferKind, name: &str) -> Option<&Arc<Offer>> {
        let offers = self.offers(kind);
        let at = offers.binary_search_by(|offer| offer.name().cmp(name)).ok()?;
        offers.get(at)
    }
}

/// Names that two tools share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two tools have the same name: {}", .0.join(", "))]
pub struct DuplicateNames(pub Vec<String>);

/// How approvals are asked for.
///
/// # Defaults
/// Both ways are open: the caller is asked in the call where policy lets it approve and its client can be asked;
/// everything else waits for people, where the store of approvals reaches any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalRules {
    /// Whether a caller may be asked in its own call.
    pub in_call: bool,
    /// Whether calls may wait for people.
    pub by_people: bool,
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self { in_call: true, by_people: true }
    }
}

/// Everything that a call is judged by.
#[derive(Clone)]
#[non_exhaustive]
pub struct Snapshot {
    /// The tools.
    pub catalogue: Arc<Catalogue>,
    /// Who is who.
    pub authenticate: Arc<dyn Authenticate>,
    /// Who may do what.
    pub policy: Arc<dyn Policy>,
    /// The digest of the policy and of the configuration that feeds it.
    pub policy_revision: Digest,
    /// How approvals are asked for.
    pub approvals: ApprovalRules,
    /// The keys that seal state and cursors.
    pub keys: Arc<KeyRing>,
    /// The bounds.
    pub limits: Arc<Limits>,
    /// Scopes that every caller must have, whatever is asked for.
    pub required_scopes: Vec<String>,
    /// The name that people know the server by; whoever approves a call reads it.
    pub server: Arc<str>,
}

impl Snapshot {
    /// A snapshot of its parts.
    #[must_use]
    pub fn new(
        catalogue: Arc<Catalogue>,
        authenticate: Arc<dyn Authenticate>,
        policy: Arc<dyn Policy>,
        policy_revision: Digest,
        approvals: ApprovalRules,
        keys: Arc<KeyRing>,
        limits: Arc<Limits>,
    ) -> Self {
        Self {
            catalogue,
            authenticate,
            policy,
            policy_revision,
            approvals,
            keys,
            limits,
            required_scopes: Vec::new(),
            server: Arc::from(""),
        }
    }

    /// The same with the name that people know the server by.
    #[must_use]
    pub fn with_server(mut self, name: impl Into<Arc<str>>) -> Self {
        self.server = name.into();
        self
    }

    /// Asks scopes of every caller.
    #[must_use]
    pub fn with_required_scopes(mut self, scopes: Vec<String>) -> Self {
        self.required_scopes = scopes;
        self
    }

    /// Holds a caller to the scopes that all must have. `more` are those that the operation needs besides: a
    /// caller who lacks a required one is told both at once, so that one better credential is enough.
    ///
    /// # Errors
    /// The refusal of a caller who lacks a required one.
    pub fn check_required_scopes(&self, principal: &Principal, more: &[String]) -> Result<(), Refusal> {
        if self.required_scopes.iter().all(|scope| principal.has_scope(scope)) {
            return Ok(());
        }
        let mut scopes = self.required_scopes.clone();
        scopes.extend(more.iter().filter(|scope| !self.required_scopes.contains(scope)).cloned());
        let message = "the credential lacks a scope that this server needs";
        Err(Refusal::new(Code::InsufficientScope, message).with_scopes(scopes))
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("catalogue", &self.catalogue).finish_non_exhaustive()
    }
}
