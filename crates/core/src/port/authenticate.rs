//! Who calls: from the credentials of one request to a principal.
//!
//! An implementation must decide from this request alone, never from an earlier one.

use std::sync::Arc;

use super::Answer;
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// How the request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// The standard streams of this process.
    Stdio,
    /// HTTP from an address of this machine.
    Loopback,
    /// HTTP from any other address.
    Remote,
}

/// What a request brings to prove who sent it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Credentials<'r> {
    /// How the request came in.
    pub transport: Transport,
    /// The value of the `Authorization` header, if there was exactly one.
    pub authorization: Option<&'r str>,
}

impl<'r> Credentials<'r> {
    /// Credentials of a transport, with the `Authorization` header if there was one.
    #[must_use]
    pub fn new(transport: Transport, authorization: Option<&'r str>) -> Self {
        Self { transport, authorization }
    }
}

/// Finds the principal of a request.
///
/// Cancel safe: dropping the answer leaves nothing behind.
pub trait Authenticate: Send + Sync {
    /// The principal, or a refusal with [`Code::Unauthenticated`].
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>>;
}

/// The configured principal of the process, for stdio and loopback only (`[auth.local]`).
#[derive(Debug)]
pub struct LocalIdentity {
    principal: Arc<Principal>,
}

impl LocalIdentity {
    /// Every local request is made in the name of `principal`.
    #[must_use]
    pub fn new(principal: Principal) -> Self {
        Self { principal: Arc::new(principal) }
    }
}

impl Authenticate for LocalIdentity {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>> {
        Answer::now(match credentials.transport {
            Transport::Stdio | Transport::Loopback => Ok(Arc::clone(&self.principal)),
            Transport::Remote => {
                Err(Refusal::new(Code::Unauthenticated, "this server accepts local callers only"))
            }
        })
    }
}
