//! What outlives a call and how it is reached: the stores, with the clock, the random source and the bounds
//! of the call at hand.
//!
//! It holds no state of its own. The pipeline makes one for each call, servers one for each reading of an
//! artifact.

use std::fmt;
use std::sync::Arc;

use crate::artifact::Artifacts;
use crate::contract::digest::{Digest, DigestBuilder};
use crate::handle::Handles;
use crate::limits::Limits;
use crate::memory::{MemoryApprovals, MemoryArtifacts, MemoryHandles};
use crate::port::{Answer, Approvals, ArtifactStore, Clock, Entropy, HandleStore};
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// The stores of what outlives a call.
#[derive(Clone)]
#[non_exhaustive]
pub struct Stores {
    /// Handles, and what may be used once.
    pub handles: Arc<dyn HandleStore>,
    /// Results that are read by their address.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Approvals of single calls.
    pub approvals: Arc<dyn Approvals>,
}

impl Stores {
    /// These stores, and approvals in the memory of this process.
    #[must_use]
    pub fn new(handles: Arc<dyn HandleStore>, artifacts: Arc<dyn ArtifactStore>) -> Self {
        Self { handles, artifacts, approvals: Arc::new(MemoryApprovals::new()) }
    }

    /// The same with other approvals.
    #[must_use]
    pub fn with_approvals(mut self, approvals: Arc<dyn Approvals>) -> Self {
        self.approvals = approvals;
        self
    }

    /// Stores in the memory of this process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(Arc::new(MemoryHandles::new()), Arc::new(MemoryArtifacts::new()))
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stores")
    }
}

/// The stores as one request reaches them.
#[derive(Clone, Copy)]
pub struct Keeping<'c> {
    pub(crate) stores: &'c Stores,
    pub(crate) limits: &'c Limits,
    pub(crate) clock: &'c dyn Clock,
    pub(crate) entropy: &'c dyn Entropy,
}

impl<'c> Keeping<'c> {
    /// The stores, reached within these bounds.
    #[must_use]
    pub fn new(
        stores: &'c Stores,
        limits: &'c Limits,
        clock: &'c dyn Clock,
        entropy: &'c dyn Entropy,
    ) -> Self {
        Self { stores, limits, clock, entropy }
    }

    /// The handles of a principal, for one tool or method.
    #[must_use]
    pub fn handles(self, principal: &'c Principal, tool: &'c str) -> Handles<'c> {
        Handles::new(self, principal, tool)
    }

    /// The artifacts that a principal may read and make.
    #[must_use]
    pub fn artifacts(self, principal: &'c Principal) -> Artifacts<'c> {
        Artifacts::new(self, principal)
    }

    /// Waits for a store as long as for any other port.
    pub(crate) async fn wait<T: Unpin + Send>(
        &self,
        answer: Answer<'_, Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        answer
            .within(self.limits.port_timeout)
            .await
            .map_err(|_elapsed| Refusal::new(Code::GateUnavailable, "the store did not answer in time"))?
    }
}

impl fmt::Debug for Keeping<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeping")
    }
}

/// Who owns what is kept: a principal in its tenant, by a digest that names neither.
pub(crate) fn owner(principal: &Principal) -> Digest {
    let mut builder = DigestBuilder::new("callgate/owner/1");
    builder.field("principal", &principal.subject);
    if let Some(tenant) = &principal.tenant {
        builder.field("tenant", tenant);
    }
    builder.finish()
}
