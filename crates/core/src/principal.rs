//! Who calls.
//!
//! A principal comes from an [`Authenticate`](crate::port::Authenticate) implementation and never
//! from the arguments of a call. Policies, sources and tools read it.

use std::fmt;

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
    /// Scopes granted to the credential of this call.
    pub scopes: Vec<Box<str>>,
}

impl Principal {
    /// A principal without tenant, groups and scopes.
    #[must_use]
    pub fn new(subject: impl Into<Box<str>>) -> Self {
        Self { subject: subject.into(), tenant: None, groups: Vec::new(), scopes: Vec::new() }
    }

    /// The same principal in a tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<Box<str>>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal").field("subject", &self.subject).field("tenant", &self.tenant).finish()
    }
}
