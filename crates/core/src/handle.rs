//! Handles: texts that stand for something which a tool keeps, and that only their owner can use.
//!
//! A handle opens for the principal, tenant, operation and version of the resource that it was made for, until
//! it expires or is revoked. Everything that is not good has one refusal, so nobody learns whether a handle
//! exists. It must never let a handle be guessed, widened or found in the store. Executors get one of these
//! with each call; the execute step uses it for what may be used once.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::contract::digest::{Digest, DigestBuilder};
use crate::keeping::{Keeping, owner};
use crate::port::{HandleKind, HandleRow, Put, RowBounds, Timestamp};
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// What every handle starts with, so that people and scanners recognize one.
const PREFIX: &str = "cgh_";
/// Random bytes of a handle.
const RANDOM: usize = 32;
/// The longest text that is looked up.
const TEXT_MAX: usize = 64;

/// What a handle is good for, besides the principal and tenant that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct HandleScope {
    operation: Option<String>,
    version: Option<String>,
}

impl HandleScope {
    /// The tool that runs, and no other.
    pub const fn tool() -> Self {
        Self { operation: None, version: None }
    }

    /// An operation that several tools of this server share, by a name that they agree on.
    pub fn operation(name: impl Into<String>) -> Self {
        Self { operation: Some(name.into()), version: None }
    }

    /// The same at one version of the resource: when it has another one, the handle is not good any more.
    pub fn at_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }
}

/// The handles of one principal and tool.
#[derive(Clone, Copy)]
pub struct Handles<'c> {
    keeping: Keeping<'c>,
    principal: &'c Principal,
    tool: &'c str,
}

impl<'c> Handles<'c> {
    pub(crate) fn new(keeping: Keeping<'c>, principal: &'c Principal, tool: &'c str) -> Self {
        Self { keeping, principal, tool }
    }

    /// Makes a handle that stands for `payload` and gives its text, which nobody can guess. It is valid for
    /// `lifetime`, at most as long as [`Limits::handle_lifetime`](crate::limits::Limits::handle_lifetime).
    ///
    /// Cancel safe: dropped before it has ended, nobody knows the text, and the row expires.
    ///
    /// # Errors
    /// The payload is too large, a bound on handles is reached, or the store does not answer.
    pub async fn create(
        &self,
        scope: &HandleScope,
        payload: impl Into<Vec<u8>>,
        lifetime: Duration,
    ) -> Result<String, Refusal> {
        let (payload, limits) = (payload.into(), self.keeping.limits);
        if payload.len() > limits.handle_bytes {
            return Err(Refusal::new(Code::ToolFailed, "the tool wants to keep more than a handle may hold")
                .with_detail(format_args!("{} bytes, at most {}", payload.len(), limits.handle_bytes)));
        }
        let mut random = [0; RANDOM];
        self.keeping
            .entropy
            .fill(&mut random)
            .map_err(|error| Refusal::new(Code::Internal, "no handle could be made").with_detail(error))?;
        let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        let now = self.keeping.clock.now();
        let row = HandleRow {
            kind: HandleKind::Handle,
            key: key(&text),
            owner: owner(self.principal),
            scope: self.scope(scope),
            expires: after(now, lifetime.min(limits.handle_lifetime)),
            payload,
        };
        let bounds = RowBounds { of_owner: limits.handles_of_principal, total: limits.handles };
        match self.keeping.wait(self.keeping.stores.handles.put(row, bounds, now)).await? {
            Put::Kept => Ok(text),
            Put::Full => Err(full("as many handles are kept as the limit allows")),
            Put::Taken => Err(Refusal::new(Code::Internal, "no handle could be made")
                .with_detail("the random source gave the same bytes twice")),
        }
    }

    /// What a handle stands for, if it is good for this principal, tenant and scope now.
    ///
    /// # Errors
    /// One refusal for forged, expired, revoked and foreign; another when the store does not answer.
    pub async fn check(&self, text: &str, scope: &HandleScope) -> Result<Vec<u8>, Refusal> {
        if text.len() > TEXT_MAX {
            return Err(invalid());
        }
        let now = self.keeping.clock.now();
        let answer = self.keeping.stores.handles.get(HandleKind::Handle, key(text), now);
        let row = self.keeping.wait(answer).await?;
        // The store gives only what is live; that it belongs here is decided here.
        let scope = self.scope(scope);
        row.filter(|row| row.scope == scope && row.expires > now).map(|row| row.payload).ok_or_else(invalid)
    }

    /// Revokes a handle of this principal, tenant and scope. From then on it is like one that never was.
    ///
    /// # Errors
    /// As [`Handles::check`]: only a handle that is good can be revoked.
    pub async fn revoke(&self, text: &str, scope: &HandleScope) -> Result<(), Refusal> {
        if text.len() > TEXT_MAX {
            return Err(invalid());
        }
        let (now, scope) = (self.keeping.clock.now(), self.scope(scope));
        let answer = self.keeping.stores.handles.remove(HandleKind::Handle, key(text), scope, now);
        if self.keeping.wait(answer).await? { Ok(()) } else { Err(invalid()) }
    }

    fn scope(&self, scope: &HandleScope) -> Digest {
        let mut builder = DigestBuilder::new("callgate/handle-scope/1");
        builder.field("principal", &self.principal.subject);
        if let Some(tenant) = &self.principal.tenant {
            builder.field("tenant", tenant);
        }
        match &scope.operation {
            None => builder.field("tool", self.tool),
            Some(operation) => builder.field("operation", operation),
        };
        if let Some(version) = &scope.version {
            builder.field("version", version);
        }
        builder.finish()
    }
}

/// Uses something up that may be used once: true for the first who asks. `until` is when it would have
/// expired anyway.
///
/// # Errors
/// The store does not answer, or takes no more; then it must count as used.
pub(crate) async fn spend(
    keeping: Keeping<'_>,
    principal: &Principal,
    what: Digest,
    until: Timestamp,
) -> Result<bool, Refusal> {
    let (now, limits) = (keeping.clock.now(), keeping.limits);
    let owner = owner(principal);
    let row = HandleRow {
        kind: HandleKind::Spent,
        key: what,
        owner,
        scope: owner,
        expires: until,
        payload: Vec::new(),
    };
    let bounds = RowBounds { of_owner: limits.spent_of_principal, total: limits.spent };
    match keeping.wait(keeping.stores.handles.put(row, bounds, now)).await? {
        Put::Kept => Ok(true),
        Put::Taken => Ok(false),
        Put::Full => Err(full("as many used states are remembered as the limit allows")),
    }
}

fn key(text: &str) -> Digest {
    let mut builder = DigestBuilder::new("callgate/handle/1");
    builder.field("text", text);
    builder.finish()
}

/// The time so much later.
#[must_use]
pub fn after(now: Timestamp, time: Duration) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
}

/// The one refusal of every handle that is not good here.
fn invalid() -> Refusal {
    Refusal::new(Code::InvalidHandle, "the handle is not valid here")
}

pub(crate) fn full(public: &'static str) -> Refusal {
    Refusal::new(Code::StoreFull, public)
}

impl fmt::Debug for Handles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handles")
    }
}
