//! The use of what is offered besides tools: whether a principal may have it, and the record of how it ended.
//!
//! One function decides, for every way to ask: what may not be listed may not be used, and what is hidden
//! is answered as what does not exist. It must never run a handler. The server asks it for reads of
//! resources, renderings of prompts, completions and watched resources.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use crate::contract::digest::{Digest, InputDigest};
use crate::offer::OfferKind;
use crate::port::{Audit, Clock, Decision, Entropy, Record, ResultKind, Timestamp, Transport, UseQuestion};
use crate::principal::Principal;
use crate::receipt::CallId;
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

/// Why something may not be used.
#[derive(Debug)]
pub enum NotPermitted {
    /// As far as this principal may know, nothing has this name. The trail has the reason.
    Unknown(&'static str),
    /// It may be known, and not used like that.
    Refused(Refusal),
}

impl From<Refusal> for NotPermitted {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Decides whether a principal may use what is offered under a name. `name` is nothing where nothing has the
/// name that was asked for; that costs as much as a hidden one. `inputs` are the variables of the template or
/// the arguments of the prompt, as far as they are chosen.
///
/// # Errors
/// Why not: hidden or absent, a scope that the credential lacks, or a denial of the policy.
pub async fn permit(
    snapshot: &Snapshot,
    principal: &Principal,
    kind: OfferKind,
    name: Option<&str>,
    inputs: &BTreeMap<String, String>,
) -> Result<(), NotPermitted> {
    let decision = decide(snapshot, principal, kind, name, inputs).await?;
    hold_to(&decision, kind)
}

/// The decision on a use of what the principal may know.
async fn decide(
    snapshot: &Snapshot,
    principal: &Principal,
    kind: OfferKind,
    name: Option<&str>,
    inputs: &BTreeMap<String, String>,
) -> Result<Decision, NotPermitted> {
    let Some(name) = name else {
        // What is hidden and what is absent must not differ in time either.
        snapshot.policy.look_for_no_offer(principal, kind);
        snapshot.check_required_scopes(principal, &[])?;
        return Err(NotPermitted::Unknown("nothing is offered under this name"));
    };
    let visible = snapshot.catalogue.offer(kind, name);
    let Some(offer) = visible.filter(|offer| snapshot.policy.is_offered(principal, offer)) else {
        snapshot.check_required_scopes(principal, &[])?;
        return Err(NotPermitted::Unknown("the policy hides this from the principal"));
    };
    snapshot.check_required_scopes(principal, offer.scopes())?;
    if !offer.scopes().iter().all(|scope| principal.has_scope(scope)) {
        let message = format!("the credential lacks a scope that this {} needs", kind.as_str());
        return Err(Refusal::new(Code::InsufficientScope, message)
            .with_scopes(offer.scopes().to_vec())
            .into());
    }
    let question = UseQuestion::new(principal, offer, inputs);
    let answer = snapshot.policy.decide_use(question).within(snapshot.limits.port_timeout).await;
    let decision = answer
        .map_err(|_elapsed| Refusal::new(Code::GateUnavailable, "the policy was not decided in time"))??;
    Ok(decision)
}

/// What follows from a decision. There is no approval of a read: what would wait for one is refused.
fn hold_to(decision: &Decision, kind: OfferKind) -> Result<(), NotPermitted> {
    if matches!(decision, Decision::Permit { .. }) {
        return Ok(());
    }
    let message = format!("the policy of this server does not permit the use of this {}", kind.as_str());
    let mut detail = match decision.policies() {
        [] => "no policy permits it".to_owned(),
        policies => format!("denied by: {}", policies.join(", ")),
    };
    for error in decision.errors() {
        detail.push_str("; ");
        detail.push_str(error);
    }
    Err(Refusal::new(Code::Forbidden, message).with_detail(detail).into())
}

/// The record of one read or rendering. One that is dropped before its end is recorded as cancelled.
#[must_use]
pub struct Usage<'r> {
    audit: &'r dyn Audit,
    snapshot: &'r Snapshot,
    id: CallId,
    method: &'static str,
    /// What was asked for: as the server declares it once the principal may know it, until then as it was sent.
    name: String,
    transport: Transport,
    started: Timestamp,
    since: Instant,
    principal: Option<Arc<Principal>>,
    input: Option<InputDigest>,
    decision: Option<Decision>,
    /// Why the principal was told that there is no such thing.
    hidden: Option<&'static str>,
    has_begun: bool,
    pending: bool,
}

impl<'r> Usage<'r> {
    /// Opens the record. `name` is what was asked for, as it was sent.
    pub(crate) fn open(
        audit: &'r dyn Audit,
        snapshot: &'r Snapshot,
        (method, name, transport): (&'static str, &str, Transport),
        clock: &dyn Clock,
        entropy: &dyn Entropy,
    ) -> Result<Self, Refusal> {
        let started = clock.now();
        let mut random = [0; 10];
        entropy.fill(&mut random).map_err(|error| {
            Refusal::new(Code::Internal, "the request could not be given an id").with_detail(error)
        })?;
        Ok(Self {
            audit,
            snapshot,
            id: CallId::new(u64::try_from(started.0 / 1000).unwrap_or_default(), &random),
            method,
            name: name.to_owned(),
            transport,
            started,
            since: Instant::now(),
            principal: None,
            input: None,
            decision: None,
            hidden: None,
            has_begun: false,
            pending: true,
        })
    }

    /// Who asks.
    pub fn authenticated(&mut self, principal: &Arc<Principal>) {
        self.principal = Some(Arc::clone(principal));
    }

    /// What exactly is asked for.
    pub fn asked(&mut self, input: Digest) {
        self.input = Some(InputDigest(input));
    }

    /// Decides, as [`permit`] does, and notes what was decided. From a permission on the handler may run.
    ///
    /// # Errors
    /// As [`permit`].
    pub async fn permit(
        &mut self,
        principal: &Principal,
        kind: OfferKind,
        name: Option<&str>,
        inputs: &BTreeMap<String, String>,
    ) -> Result<(), NotPermitted> {
        let decided = decide(self.snapshot, principal, kind, name, inputs).await;
        if let (Some(name), Ok(_) | Err(NotPermitted::Refused(_))) = (name, &decided) {
            // Of a template the variables are in the digest of the request only.
            name.clone_into(&mut self.name);
        }
        if let Err(NotPermitted::Unknown(reason)) = &decided {
            self.hidden = Some(reason);
        }
        let decision = decided?;
        let held = hold_to(&decision, kind);
        self.has_begun = held.is_ok();
        self.decision = Some(decision);
        held
    }

    /// Notes that what follows is the use of something that its owner alone can name. It is recorded under `name`.
    pub fn begins(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.has_begun = true;
    }

    /// Writes the record of the end. `failure` is why there is no result.
    ///
    /// # Errors
    /// The trail did not take the record; then no result may leave.
    pub async fn end(
        mut self,
        complete: ResultKind,
        failure: Option<(Code, Option<&str>)>,
    ) -> Result<(), Refusal> {
        self.pending = false;
        let result = match failure {
            None => complete,
            Some(_) if self.has_begun => ResultKind::Failed,
            Some(_) => ResultKind::Refused,
        };
        let requested = self.requested();
        let answer = self.audit.record(&self.record(&requested, result, failure));
        answer.within(self.snapshot.limits.port_timeout).await.unwrap_or_else(|_elapsed| {
            Err(Refusal::new(Code::GateUnavailable, "the audit trail did not answer in time"))
        })
    }

    /// The name in the record: the method, and what was asked for behind it. No tool has a slash in its name.
    fn requested(&self) -> String {
        format!("{} {}", self.method, self.name)
    }

    fn record<'a>(
        &'a self,
        requested: &'a str,
        result: ResultKind,
        failure: Option<(Code, Option<&'a str>)>,
    ) -> Record<'a> {
        let mut record = Record::new(self.id, self.started, requested, result);
        record.transport = self.transport;
        record.principal = self.principal.as_deref();
        record.input = self.input;
        record.decision = self.decision.as_ref();
        record.policy = self.snapshot.policy_revision;
        record.code = failure.map(|(code, _)| code);
        record.detail = failure.and_then(|(_, detail)| detail.or(self.hidden));
        record.latency = self.since.elapsed();
        record
    }
}

impl Drop for Usage<'_> {
    fn drop(&mut self) {
        if self.pending {
            // The record is handed over by the call alone; nobody is left to wait for the answer.
            let failure = Some((Code::Cancelled, None));
            drop(self.audit.record(&self.record(&self.requested(), ResultKind::Cancelled, failure)));
        }
    }
}

impl fmt::Debug for Usage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Usage({})", self.id)
    }
}
