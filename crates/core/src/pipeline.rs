//! The gate itself: one straight line that every tool call takes, whoever wrote the tool.
//!
//! Each step consumes the evidence of the step before and leaves its own, so a step that is left out,
//! forged or used twice does not compile. [`Pipeline`] is the only caller of the steps. There
//! are no hooks: whatever must happen to a call is a line here.

use std::fmt;
use std::sync::Arc;

use crate::call::Call;
use crate::entry::Entry;
use crate::keeping::{Keeping, Stores};
use crate::outcome::Settled;
use crate::port::{Audit, Clock, Entropy, Ledger, Transport};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;
use crate::stage::admit::{Admission, Places, admit};
use crate::stage::approve::{Ruling, approve};
use crate::stage::authenticate::authenticate;
use crate::stage::authorize::authorize;
use crate::stage::check::check;
use crate::stage::deliver::deliver;
use crate::stage::execute::execute;
use crate::stage::reserve::reserve;
use crate::stage::resolve::resolve;
use crate::stage::settle::settle;
use crate::stage::validate::validate;
use crate::usage::Usage;

/// What outlives a snapshot: the stores, the clock, and what is in use by whom.
pub struct Pipeline {
    admission: Admission,
    ledger: Arc<dyn Ledger>,
    audit: Arc<dyn Audit>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    stores: Stores,
}

impl Pipeline {
    /// A pipeline over its ports. How much it admits is said by the snapshot of each call.
    #[must_use]
    pub fn new(
        ledger: Arc<dyn Ledger>,
        audit: Arc<dyn Audit>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let stores = Stores::in_memory();
        Self { admission: Admission::new(), ledger, audit, clock, entropy, stores }
    }

    /// The same pipeline with other stores of what outlives a call.
    #[must_use]
    pub fn with_stores(mut self, stores: Stores) -> Self {
        self.stores = stores;
        self
    }

    /// Takes one call through the gate.
    ///
    /// Cancel safe up to the execute step. Dropped while the tool runs, the tool is stopped and the call
    /// is recorded as cancelled; its effect is then unknown unless it has none.
    ///
    /// # Errors
    /// A refusal of a step before anything was executed. What goes wrong later is part of the outcome,
    /// because it has a receipt.
    pub async fn call(&self, snapshot: &Snapshot, call: &Call<'_>) -> Result<Settled, Refusal> {
        let mut entry = Entry::open(&*self.audit, snapshot, call, &*self.clock);
        match self.steps(snapshot, call, &mut entry).await {
            Ok(settled) => Ok(settled),
            Err(refusal) => Err(entry.refuse(snapshot, refusal).await),
        }
    }

    /// The line itself. The entry is told what each step has found out.
    async fn steps(
        &self,
        snapshot: &Snapshot,
        call: &Call<'_>,
        entry: &mut Entry<'_>,
    ) -> Result<Settled, Refusal> {
        let (limits, clock, entropy) = (&*snapshot.limits, &*self.clock, &*self.entropy);
        let keeping = self.keeping(snapshot);
        entry.identify(entropy)?;
        let authenticated = authenticate(limits, &*snapshot.authenticate, call).await?;
        entry.authenticated(authenticated.principal());
        let admitted = admit(&self.admission, limits, authenticated)?;
        let resolved = resolve(snapshot, admitted, call)?;
        entry.resolved(resolved.tool());
        let validated = validate(snapshot, resolved, call, clock)?;
        entry.validated(&validated);
        let authorized = authorize(snapshot, &self.admission, validated, entry).await?;
        let approved = match approve(snapshot, keeping, &*self.ledger, authorized, call, entry).await? {
            Ruling::GoesOn(approved) => approved,
            Ruling::Asked(asked) => return Ok(*asked),
        };
        let reserved = reserve(snapshot, &*self.ledger, approved, entry).await?;
        let executed = execute(keeping, reserved, call, entry).await;
        let checked = check(snapshot, executed, entry.id(), clock, entropy);
        let checked = deliver(keeping, checked).await;
        Ok(settle(snapshot, checked, entry).await)
    }

    /// Takes the places of a request that is no call of a tool, but whose handler runs for this principal all the
    /// same. It counts towards the same limits as a call.
    ///
    /// # Errors
    /// The refusal of a process, principal or tenant that has used up what it may.
    pub fn admit(&self, snapshot: &Snapshot, principal: &Principal) -> Result<Places, Refusal> {
        self.admission.places(&snapshot.limits, principal)
    }

    /// The ledger, for those who make a catalogue and ask whether its effects can be recorded.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// What outlives a call, as a request under this snapshot reaches it.
    #[must_use]
    pub fn keeping<'k>(&'k self, snapshot: &'k Snapshot) -> Keeping<'k> {
        Keeping::new(&self.stores, &snapshot.limits, &*self.clock, &*self.entropy)
    }

    /// Opens the record of a read of a resource or a rendering of a prompt. `method` is that of the protocol,
    /// `name` what is asked for, as it was sent.
    ///
    /// # Errors
    /// The request cannot be given an id.
    pub fn usage<'r>(
        &'r self,
        snapshot: &'r Snapshot,
        method: &'static str,
        name: &str,
        transport: Transport,
    ) -> Result<Usage<'r>, Refusal> {
        Usage::open(&*self.audit, snapshot, (method, name, transport), &*self.clock, &*self.entropy)
    }

    /// The clock, for those who seal and open beside the pipeline.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The random source, for those who seal beside the pipeline.
    #[must_use]
    pub fn entropy(&self) -> &Arc<dyn Entropy> {
        &self.entropy
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipeline")
    }
}
