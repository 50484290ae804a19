//! Who calls: from the credentials of one request to a principal.
//!
//! An implementation must decide from this request alone, never from an earlier one.

use std::fmt;
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

impl Transport {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Loopback => "loopback",
            Self::Remote => "remote",
        }
    }
}

/// The `Authorization` of a request, as the transport found it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorization<'r> {
    /// It was not sent.
    Absent,
    /// The value of the one that was sent.
    One(&'r str),
    /// It was sent more than once, or is no text: two credentials prove nothing about either.
    Malformed,
}

impl<'r> From<Option<&'r str>> for Authorization<'r> {
    fn from(value: Option<&'r str>) -> Self {
        value.map_or(Self::Absent, Self::One)
    }
}

impl fmt::Debug for Authorization<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "Absent",
            Self::One(_) => "One(not shown)",
            Self::Malformed => "Malformed",
        })
    }
}

/// What a request brings to prove who sent it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Credentials<'r> {
    /// How the request came in.
    pub transport: Transport,
    /// The `Authorization` header.
    pub authorization: Authorization<'r>,
}

impl<'r> Credentials<'r> {
    /// Credentials of a transport, with the `Authorization` header if there was one.
    #[must_use]
    pub fn new(transport: Transport, authorization: impl Into<Authorization<'r>>) -> Self {
        Self { transport, authorization: authorization.into() }
    }
}

/// Finds the principal of a request.
///
/// Cancel safe: dropping the answer leaves nothing behind.
pub trait Authenticate: Send + Sync {
    /// The principal, or a refusal: [`Code::Unauthenticated`] without a credential, [`Code::InvalidToken`],
    /// [`Code::MalformedCredential`], or [`Code::IdentityUnavailable`] when it cannot be found out now.
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>>;
}

impl<T: Authenticate + ?Sized> Authenticate for Arc<T> {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>> {
        (**self).authenticate(credentials)
    }
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
