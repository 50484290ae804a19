//! Approvals of a configuration: how they are asked for, and deciding them from the command line.
//!
//! It must never decide on behalf of somebody who may not: who may is read from the file each time, and a file with
//! errors lets nobody. The gate and the command line are the callers.

use std::path::Path;
use std::time::Duration;

use callgate_adapters::store::approvals::StoreApprovals;
use callgate_core::handle::after;
use callgate_core::limits::Limits as GateLimits;
use callgate_core::port::{ApprovalRow, ApprovalVerdict, Approvals as _, Clock as _, Ruled, SystemClock};
use callgate_core::receipt::CallId;
use callgate_core::refusal::Refusal;
use callgate_core::snapshot::ApprovalRules;

use crate::config::{Config, Limits, Report, Severity, parse, read_text};
use crate::store::Place;

/// Approvals that are listed at most.
const LISTED: usize = 10_000;

/// How the gate asks for approvals.
pub(crate) fn rules(config: &Config) -> ApprovalRules {
    let mut rules = ApprovalRules::default();
    let Some(table) = &config.approval else { return rules };
    rules.in_call = table.in_call.as_ref().is_none_or(|written| **written);
    rules.by_people = table.by_people.as_ref().is_none_or(|written| **written);
    rules
}

/// Puts the bounds on approvals into those of the gate.
pub(crate) fn limits(config: &Config, gate: &mut GateLimits) {
    let Some(table) = &config.approval else { return };
    let number = |written: u64| usize::try_from(written).unwrap_or(usize::MAX);
    if let Some(seconds) = &table.lifetime_s {
        gate.approval_lifetime = Duration::from_secs(**seconds);
    }
    if let Some(pending) = &table.pending {
        gate.approvals = number(**pending);
    }
    if let Some(pending) = &table.principal_pending {
        gate.approvals_of_principal = number(**pending);
    }
}

/// The approvals of a configuration, for people who decide them.
#[derive(Debug)]
pub struct Approving {
    approvals: StoreApprovals,
    approvers: Option<Vec<String>>,
    lifetime: Duration,
}

impl Approving {
    /// Opens the approvals of a configuration. It blocks, and must not be used inside a runtime.
    ///
    /// # Errors
    /// Everything that is wrong with the file, and a store that cannot be used.
    pub fn open(path: &Path) -> Result<Self, Report> {
        let place = Place::of(path)?;
        let limits = Limits::default();
        // It was read just now; who cannot read it any more has no list of approvers.
        let text = read_text(path, limits.file_bytes).unwrap_or_default();
        let (config, findings) = parse(&path.display().to_string(), &text, &limits);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Report::new(findings));
        }
        let mut gate = GateLimits::default();
        self::limits(&config, &mut gate);
        let approvers = config.approval.and_then(|table| table.approvers);
        let approvers = approvers.map(|names| names.iter().map(ToString::to_string).collect());
        Ok(Self {
            approvals: StoreApprovals::new(place.open()?),
            approvers,
            lifetime: gate.approval_lifetime,
        })
    }

    /// Whether that person may decide.
    #[must_use]
    pub fn may_decide(&self, by: &str) -> bool {
        self.approvers.as_ref().is_none_or(|names| names.iter().any(|name| name == by))
    }

    /// The approvals that wait, or whose decision stands, the oldest first; and those that were used lately.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn list(&self) -> Result<Vec<ApprovalRow>, Refusal> {
        self.approvals.list(LISTED, SystemClock.now()).await
    }

    /// One approval.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn get(&self, id: CallId) -> Result<Option<ApprovalRow>, Refusal> {
        self.approvals.get(id, SystemClock.now()).await
    }

    /// Permits or refuses the call that waits. The caller has asked [`Approving::may_decide`].
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn decide(
        &self,
        id: CallId,
        granted: bool,
        by: &str,
        reason: Option<String>,
    ) -> Result<Ruled, Refusal> {
        let now = SystemClock.now();
        let verdict = match granted {
            true => ApprovalVerdict::grant(by, after(now, self.lifetime)),
            false => ApprovalVerdict::deny(by),
        };
        self.approvals.rule(id, verdict.with_reason(reason), now).await
    }
}
