//! What policies know of the tools of a catalogue.
//!
//! It is read from the contracts once, when a policy is loaded. The schema, the entities and the engine
//! are made from it.

use callgate_core::contract::digest::{ContractDigest, DigestBuilder};
use callgate_core::contract::{Contract, Effect};
use callgate_core::snapshot::Catalogue;

use super::types::{Member, of_input};

/// One tool.
#[derive(Clone, Debug)]
pub(super) struct KnownTool {
    pub(super) name: String,
    pub(super) digest: Option<ContractDigest>,
    pub(super) effect: Effect,
    pub(super) labels: Vec<String>,
    pub(super) scopes: Vec<String>,
    pub(super) members: Vec<Member>,
}

impl KnownTool {
    fn of(contract: &Contract, depth: usize) -> Self {
        Self {
            name: contract.name().to_string(),
            digest: Some(contract.digest()),
            effect: contract.effect(),
            labels: contract.labels().to_vec(),
            scopes: contract.scopes().to_vec(),
            members: of_input(contract.input_document().root(), depth),
        }
    }

    /// What is asked about in the place of a tool that does not exist. No tool has its name.
    pub(super) fn decoy() -> Self {
        Self {
            name: String::new(),
            digest: None,
            effect: Effect::Read,
            labels: Vec::new(),
            scopes: Vec::new(),
            members: Vec::new(),
        }
    }

    pub(super) fn digest_into(&self, builder: &mut DigestBuilder) {
        builder.field("tool", &self.name).field("effect", self.effect.as_str());
        for label in &self.labels {
            builder.field("label", label);
        }
        for scope in &self.scopes {
            builder.field("scope", scope);
        }
    }
}

/// All tools in the order of the catalogue.
pub(super) fn known(catalogue: &Catalogue, depth: usize) -> Vec<KnownTool> {
    catalogue.tools().map(|tool| KnownTool::of(tool.contract(), depth)).collect()
}
