//! What a server offers at one moment, rendered as far as it can be before anybody asks.
//!
//! Nothing in it ever changes: an update makes a new one. The builder and the handle make it; each
//! request takes it once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callgate_core::contract::digest::ShownDigest;
use callgate_core::offer::OfferKind;
use callgate_core::outcome::UNTRUSTED_KEY;
use callgate_core::port::Transport;
use callgate_core::principal::Principal;
use callgate_core::receipt::RECEIPT_KEY;
use callgate_core::snapshot::{Snapshot, Tool};
use callgate_protocol::Revision;
use callgate_protocol::json::push_string;
use callgate_protocol::meta::SERVER_INFO;

use super::list::{CacheScope, Entry, Frame, List, ListKind, push_cache};
use super::seen::{SeenLists, visible};
use crate::builder::PolicySource;
use crate::limits::Limits;
use crate::prompt::Prompt;
use crate::protection::{ProtectedResource, Protection};
use crate::resource::Resources;

/// Whether callers from other machines can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteCallers {
    /// No authenticator is configured: only local callers are served.
    Refused,
    /// The author configured an authenticator.
    Authenticated,
}

/// The name and version that the server gives itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) name: String,
    /// The `Implementation` object.
    pub(crate) rendered: String,
    /// The `_meta` object of a result that has nothing else to say.
    pub(crate) meta: String,
    /// The `_meta` member of a result with a receipt, up to the receipt.
    pub(crate) meta_to_receipt: String,
    /// The `_meta` of what is data of its source.
    pub(crate) meta_of_data: String,
}

impl Identity {
    pub(crate) fn new(name: String, version: &str, title: Option<&str>) -> Self {
        let mut rendered = String::from("{\"name\":");
        push_string(&mut rendered, &name);
        if let Some(title) = title {
            rendered.push_str(",\"title\":");
            push_string(&mut rendered, title);
        }
        rendered.push_str(",\"version\":");
        push_string(&mut rendered, version);
        rendered.push('}');
        let meta = format!("{{\"{SERVER_INFO}\":{rendered}}}");
        let meta_to_receipt = format!(",\"_meta\":{{\"{SERVER_INFO}\":{rendered},\"{RECEIPT_KEY}\":");
        let meta_of_data = format!("{{\"{SERVER_INFO}\":{rendered},\"{UNTRUSTED_KEY}\":true}}");
        Self { name, rendered, meta, meta_of_data, meta_to_receipt }
    }
}

/// Which capabilities are offered besides tools, which always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    pub(crate) logging: bool,
}

impl Offered {
    /// The `ServerCapabilities` object; the same members at every revision.
    pub(crate) fn render(self) -> String {
        let mut out = String::from("{\"tools\":{\"listChanged\":true}");
        if self.resources {
            out.push_str(",\"resources\":{\"subscribe\":true,\"listChanged\":true}");
        }
        if self.prompts {
            out.push_str(",\"prompts\":{\"listChanged\":true}");
        }
        if self.completions {
            out.push_str(",\"completions\":{}");
        }
        if self.logging {
            out.push_str(",\"logging\":{}");
        }
        out.push('}');
        out
    }
}

/// What a snapshot of the server is made from.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) gate: Snapshot,
    pub(crate) policy: PolicySource,
    pub(crate) prompts: Vec<Arc<Prompt>>,
    pub(crate) resources: Arc<Resources>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) instructions: Option<String>,
    pub(crate) logging: bool,
    pub(crate) remote: RemoteCallers,
    pub(crate) protection: Option<ProtectedResource>,
    pub(crate) list_ttl: Duration,
    pub(crate) limits: Arc<Limits>,
}

/// What a server offers at one moment.
pub(crate) struct Published {
    /// What tool calls are judged by.
    pub(crate) gate: Snapshot,
    pub(crate) prompts: Vec<Arc<Prompt>>,
    pub(crate) resources: Arc<Resources>,
    pub(crate) identity: Arc<Identity>,
    /// The policy revision of the gate with its text, which each receipt shows.
    pub(crate) policy_revision: ShownDigest,
    pub(crate) instructions: Option<String>,
    pub(crate) offered: Offered,
    /// The `ServerCapabilities` object.
    pub(crate) capabilities: String,
    pub(crate) remote: RemoteCallers,
    /// How the server is protected, where tokens give access to it.
    pub(crate) protection: Option<Protection>,
    pub(crate) limits: Arc<Limits>,
    policy: PolicySource,
    pub(super) list_ttl: Duration,
    pub(super) tools: List,
    /// The lists of those who see only some of the tools.
    pub(super) seen_lists: SeenLists,
    pub(super) resource_list: List,
    pub(super) template_list: List,
    pub(super) prompt_list: List,
    discover: [Bytes; 2],
}

impl Published {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            gate,
            policy,
            mut prompts,
            resources,
            identity,
            instructions,
            logging,
            remote,
            protection,
            list_ttl,
            limits,
        } = parts;
        let offers = OfferKind::ALL.into_iter().flat_map(|kind| gate.catalogue.offers(kind));
        let scopes = gate.catalogue.tools().flat_map(|tool| tool.contract().scopes());
        let scopes = scopes.chain(offers.flat_map(|offer| offer.scopes()));
        let protection = protection.map(|source| Protection::new(source, scopes));
        prompts.sort_by(|one, other| one.name().cmp(other.name()));
        let size = limits.page_size;
        // Where all see the same, what nobody sees is left out here, whoever is asked about.
        let everybody = gate.policy.is_same_for_all().then(|| Principal::new(""));
        let list = |kind: ListKind, mut entries: Vec<Entry>| {
            // The order of the catalogue, by whose places what is visible is told.
            entries.sort_by(|one, other| one.key.cmp(&other.key));
            if let Some(anybody) = &everybody {
                let set = visible(&gate, kind, anybody);
                let mut at = 0..entries.len();
                entries.retain(|_| at.next().is_some_and(|at| set.contains(at)));
            }
            List::new(kind, entries, size)
        };
        let tools = gate.catalogue.tools().map(|tool| Entry {
            key: tool.contract().name().as_str().to_owned(),
            json: tool.contract().rendered().to_owned(),
        });
        let prompt_entries = prompts.iter().map(|prompt| prompt.entry());
        let offered = Offered {
            resources: !resources.is_empty() || gate.catalogue.tools().any(makes_artifacts),
            prompts: !prompts.is_empty(),
            completions: resources.has_completions() || prompts.iter().any(|prompt| prompt.has_completions()),
            logging,
        };
        let mut published = Self {
            tools: list(ListKind::Tools, tools.collect()),
            resource_list: list(ListKind::Resources, resources.entries()),
            template_list: list(ListKind::Templates, resources.template_entries()),
            prompt_list: list(ListKind::Prompts, prompt_entries.collect()),
            seen_lists: SeenLists::default(),
            discover: [Bytes::new(), Bytes::new()],
            capabilities: offered.render(),
            policy_revision: ShownDigest::new(gate.policy_revision),
            gate,
            policy,
            prompts,
            resources,
            identity,
            instructions,
            offered,
            remote,
            protection,
            limits,
            list_ttl,
        };
        if published.scope() == CacheScope::Public {
            let meta = Arc::clone(&published.identity);
            let frame = Frame { meta: &meta.meta, ..published.frame() };
            for list in [
                &mut published.tools,
                &mut published.resource_list,
                &mut published.template_list,
                &mut published.prompt_list,
            ] {
                list.render(frame);
            }
        }
        published.discover = [
            published.render_discover(Revision::V2024_11_05),
            published.render_discover(Revision::V2025_03_26),
        ];
        published
    }

    /// The parts, to make another snapshot from.
    pub(crate) fn parts(&self) -> Parts {
        Parts {
            gate: self.gate.clone(),
            policy: self.policy.clone(),
            prompts: self.prompts.clone(),
            resources: Arc::clone(&self.resources),
            identity: Arc::clone(&self.identity),
            instructions: self.instructions.clone(),
            logging: self.offered.logging,
            remote: self.remote,
            protection: self.protection.as_ref().map(|protection| protection.source().clone()),
            list_ttl: self.list_ttl,
            limits: Arc::clone(&self.limits),
        }
    }

    /// Whether what is offered is the same for everybody, as the policy says.
    pub(crate) fn scope(&self) -> CacheScope {
        if self.gate.policy.is_same_for_all() { CacheScope::Public } else { CacheScope::Private }
    }

    /// How long a list may be taken for fresh by a client that does not listen for changes. Where a rule
    /// about lists looks at the time, none may: the next moment can differ, and nobody is told.
    pub(crate) fn ttl_ms(&self) -> u64 {
        if !self.gate.policy.is_steady() {
            return 0;
        }
        u64::try_from(self.list_ttl.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn frame(&self) -> Frame<'_> {
        Frame { ttl_ms: self.ttl_ms(), scope: self.scope(), meta: &self.identity.meta }
    }

    /// The protected-resource metadata, if it is served under that path.
    pub(crate) fn metadata(&self, path: &str, endpoint: &str) -> Option<Bytes> {
        self.protection.as_ref()?.document(path, endpoint)
    }

    /// The prompt of that name.
    pub(crate) fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        let at = self.prompts.binary_search_by(|prompt| prompt.name().cmp(name)).ok()?;
        self.prompts.get(at)
    }

    /// The result of `server/discover`. The first revision is served over the standard streams only.
    pub(super) fn discover(&self, transport: Transport) -> Bytes {
        let [stdio, http] = &self.discover;
        if transport == Transport::Stdio { stdio.clone() } else { http.clone() }
    }

    fn render_discover(&self, oldest: Revision) -> Bytes {
        let mut out = String::from("{\"resultType\":\"complete\",\"supportedVersions\":[");
        // The earlier revisions begin with `initialize`.
        let served = Revision::ALL.iter().rev().filter(|revision| **revision >= oldest);
        for (at, revision) in served.enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(&mut out, revision.as_str());
        }
        out.push_str("],\"capabilities\":");
        out.push_str(&self.capabilities);
        if let Some(instructions) = &self.instructions {
            out.push_str(",\"instructions\":");
            push_string(&mut out, instructions);
        }
        push_cache(&mut out, self.ttl_ms(), self.scope());
        out.push_str(",\"_meta\":");
        out.push_str(&self.identity.meta);
        out.push_str("}}");
        Bytes::from(out)
    }
}

/// Links of such a tool are read as resources.
fn makes_artifacts(tool: &Arc<Tool>) -> bool {
    tool.contract().delivery().makes_artifacts()
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Published({})", self.identity.name)
    }
}
