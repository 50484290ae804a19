//! Who calls.
//!
//! A principal comes from an [`Authenticate`](crate::port::Authenticate) implementation and never
//! from the arguments of a call. Policies, sources and tools read it.

use std::fmt;

use crate::port::Timestamp;

/// The identity in whose name a call is made.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Principal {
    /// The stable name of the person or program.
    pub subject: Box<str>,
    /// The tenant whose data the principal may see; nothing where there are no tenants.
    pub tenant: Option<Box<str>>,
    /// Groups or roles, as the identity provider named them.
    pub groups: Vec<Box<str>>,
    /// Scopes granted to the credential of this call, with those that they imply.
    pub scopes: Vec<Box<str>>,
    /// What the credential was issued for, where the issuer says so.
    pub purpose: Option<Box<str>>,
    /// The program that acts for the subject: the client id at the issuer.
    pub client: Option<Box<str>>,
    /// When the credential ends; nothing where it does not.
    pub expires: Option<Timestamp>,
}

impl Principal {
    /// A principal without tenant, groups and scopes.
    #[must_use]
    pub fn new(subject: impl Into<Box<str>>) -> Self {
        Self {
            subject: subject.into(),
            tenant: None,
            groups: Vec::new(),
            scopes: Vec::new(),
            purpose: None,
            client: None,
            expires: None,
        }
    }

    /// The same principal in a tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<Box<str>>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The same principal in these groups.
    #[must_use]
    pub fn with_groups<G: Into<Box<str>>>(mut self, groups: impl IntoIterator<Item = G>) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }

    /// The same principal with these scopes.
    #[must_use]
    pub fn with_scopes<S: Into<Box<str>>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The same principal for a purpose.
    #[must_use]
    pub fn with_purpose(mut self, purpose: impl Into<Box<str>>) -> Self {
        self.purpose = Some(purpose.into());
        self
    }

    /// The same principal, for whom this program acts.
    #[must_use]
    pub fn with_client(mut self, client: impl Into<Box<str>>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// The same principal, whose credential ends then.
    #[must_use]
    pub fn with_expiry(mut self, expires: Timestamp) -> Self {
        self.expires = Some(expires);
        self
    }

    /// Whether the credential has a scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|granted| **granted == *scope)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal").field("subject", &self.subject).field("tenant", &self.tenant).finish()
    }
}
