//! What is offered besides tools, as far as policy has to know it: resources, resource templates and prompts.
//!
//! It must never hold what a handler reads or renders. The builder of a server makes offers, catalogues hold
//! them beside the tools, policies decide on them.

use crate::contract::digest::DigestBuilder;

/// What kind of thing is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OfferKind {
    /// A resource with a fixed URI.
    Resource,
    /// Resources whose URIs follow a template.
    Template,
    /// A prompt.
    Prompt,
}

impl OfferKind {
    /// Every kind, in the order in which catalogues hold them.
    pub const ALL: [Self; 3] = [Self::Resource, Self::Template, Self::Prompt];

    /// What people call it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Template => "resource template",
            Self::Prompt => "prompt",
        }
    }
}

/// A resource, a resource template or a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    kind: OfferKind,
    name: Box<str>,
    labels: Vec<String>,
    scopes: Vec<String>,
    inputs: Vec<String>,
}

impl Offer {
    /// An offer by its name: the URI of a resource, the text of a template, the name of a prompt.
    #[must_use]
    pub fn new(kind: OfferKind, name: impl Into<Box<str>>) -> Self {
        Self { kind, name: name.into(), labels: Vec::new(), scopes: Vec::new(), inputs: Vec::new() }
    }

    /// The same offer with labels that policies may refer to.
    #[must_use]
    pub fn with_labels(mut self, labels: Vec<String>) -> Self {
        self.labels = labels;
        self
    }

    /// The same offer, whose users need these scopes.
    #[must_use]
    pub fn with_scopes(mut self, scopes: Vec<String>) -> Self {
        self.scopes = scopes;
        self
    }

    /// The same offer with the names of what its user chooses: the variables of a template, the arguments of a
    /// prompt.
    #[must_use]
    pub fn with_inputs(mut self, inputs: Vec<String>) -> Self {
        self.inputs = inputs;
        self
    }

    /// What kind of thing it is.
    #[must_use]
    pub fn kind(&self) -> OfferKind {
        self.kind
    }

    /// The URI of a resource, the text of a template, the name of a prompt.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operator's labels; never shown to a client.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Scopes that the credential of its user must have.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The variables of a template, the arguments of a prompt.
    #[must_use]
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// Adds everything that a policy can tell apart to a digest.
    pub fn digest_into(&self, builder: &mut DigestBuilder) {
        builder.field("offer", self.kind.as_str()).field("name", &self.name);
        let lists = [("label", &self.labels), ("scope", &self.scopes), ("input", &self.inputs)];
        for (name, values) in lists {
            values.iter().for_each(|value| {
                builder.field(name, value);
            });
        }
    }
}
