//! Step 6: whether somebody has approved what policy wants approved.
//!
//! An approval is bound to the caller, the definition, the arguments and the policy that were reviewed. It is used
//! up here, before anything is reserved or dispatched, and never given back; a refusal uses it up too. Where the
//! caller may approve and its client can be asked, it is asked in the call; otherwise the call waits for people.

use callgate_protocol::json::push_string;

use super::authorize::Authorized;
use super::reserve::claim;
use super::round::{Carried, Ticket};
use super::settle::settle_asked;
use super::validate::{Validated, invalid_state, state_binding};
use crate::call::Call;
use crate::contract::digest::{Digest, DigestBuilder};
use crate::entry::Entry;
use crate::handle::{after, full};
use crate::invocation::{Capability, InputRequest};
use crate::keeping::{Keeping, owner};
use crate::outcome::{Questions, Settled};
use crate::port::{
    ApprovalBounds, ApprovalRow, ApprovalState, Approver, Claim, Claimed, Ledger, Timestamp, Used,
};
use crate::receipt::CallId;
use crate::refusal::{Code, Refusal};
use crate::snapshot::Snapshot;

mod text;

/// The key of the question, and of its answer.
pub const APPROVAL_KEY: &str = "dev.callgate/approval";

/// Evidence: the call is permitted, and approved where it had to be.
#[derive(Debug)]
#[must_use]
pub struct Approved<'r> {
    authorized: Authorized<'r>,
    /// The approval that was used, where one was needed.
    approval: Option<CallId>,
    /// The effect is committed already: the call may get the stored result, and nothing may run.
    replay_only: bool,
}

impl<'r> Approved<'r> {
    pub(in crate::stage) fn validated(&self) -> &Validated<'r> {
        self.authorized.validated()
    }

    pub(in crate::stage) fn is_replay_only(&self) -> bool {
        self.replay_only
    }

    /// What the next round must carry, so that it needs no second approval.
    pub(in crate::stage) fn ticket(&self, call: CallId, policy: Digest) -> Option<Ticket> {
        self.approval.map(|approval| Ticket { asked_by: call, approval, policy })
    }
}

/// Where the step leads.
#[derive(Debug)]
#[must_use]
pub enum Ruling<'r> {
    /// The call goes on.
    GoesOn(Approved<'r>),
    /// The caller is asked; this is the answer to the call. Boxed, because most calls go on.
    Asked(Box<Settled>),
}

/// Uses up an approval, if one is needed, or asks for one.
///
/// A repeated call whose effect is committed needs none, because nothing will run.
pub async fn approve<'r>(
    snapshot: &Snapshot,
    keeping: Keeping<'_>,
    ledger: &dyn Ledger,
    authorized: Authorized<'r>,
    call: &Call<'_>,
    entry: &mut Entry<'_>,
) -> Result<Ruling<'r>, Refusal> {
    let validated = authorized.validated();
    let needed = authorized.approver();
    let carried = validated.carried();
    // Whoever was asked is listened to, also where nobody has to be asked any more.
    if needed.is_none() && !matches!(carried, Some(Carried::Question(_))) {
        return Ok(Ruling::GoesOn(Approved { authorized, approval: None, replay_only: false }));
    }
    if let Some(claim) = claim(validated, entry)
        && settled(keeping, ledger, claim).await?
    {
        return Ok(Ruling::GoesOn(Approved { authorized, approval: None, replay_only: true }));
    }
    // Before anything is used up, and before anybody is bothered: a call that cannot be recorded will not run. The
    // next step asks again.
    let contract = validated.resolved().contract();
    entry.audit().ready(contract)?;
    ledger.ready(contract)?;
    let asking = Asking { snapshot, keeping, validated };
    let approval = match carried {
        Some(Carried::Question(ticket)) => {
            if ticket.policy != snapshot.policy_revision || needed == Some(Approver::SecondPerson) {
                return Err(invalid_state());
            }
            match answer(call)? {
                Some(answer) => asking.answered(*ticket, answer, entry).await?,
                None => return asking.ask(entry).await.map(|asked| Ruling::Asked(Box::new(asked))),
            }
        }
        Some(Carried::Approved(ticket, _)) => {
            if ticket.policy != snapshot.policy_revision {
                return Err(invalid_state());
            }
            asking.use_up(ticket.asked_by, ApprovalState::Burned).await?;
            entry.approved(format!("approval {}, given in an earlier round", ticket.approval));
            ticket.approval
        }
        // A state of a round that nobody had to approve opens no way around an approval.
        Some(Carried::Plain(_)) => return Err(invalid_state()),
        None if asking.may_ask(needed, call) => {
            return asking.ask(entry).await.map(|asked| Ruling::Asked(Box::new(asked)));
        }
        None => asking.wait_for_people(needed, entry).await?,
    };
    Ok(Ruling::GoesOn(Approved { authorized, approval: Some(approval), replay_only: false }))
}

async fn settled(keeping: Keeping<'_>, ledger: &dyn Ledger, claim: Claim<'_>) -> Result<bool, Refusal> {
    ledger
        .is_settled(claim)
        .within(keeping.limits.port_timeout)
        .await
        .map_err(|_elapsed| Refusal::new(Code::GateUnavailable, "the ledger did not answer in time"))?
}

/// What a caller who was asked has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Accept,
    Decline,
    Cancel,
}

fn answer(call: &Call<'_>) -> Result<Option<Answer>, Refusal> {
    let Some(given) = call.input_responses.and_then(|responses| responses.get(APPROVAL_KEY)) else {
        return Ok(None);
    };
    let action = given.get("action");
    for (name, answer) in
        [("accept", Answer::Accept), ("decline", Answer::Decline), ("cancel", Answer::Cancel)]
    {
        if action.is_some_and(|action| action.is_str(name)) {
            return Ok(Some(answer));
        }
    }
    Err(Refusal::new(
        Code::InvalidInputResponse,
        "the answer to the approval is no accept, decline or cancel",
    ))
}

/// The call for which an approval is looked for.
struct Asking<'a, 'r> {
    snapshot: &'a Snapshot,
    keeping: Keeping<'a>,
    validated: &'a Validated<'r>,
}

impl Asking<'_, '_> {
    /// Whether the caller itself is asked, in this call.
    fn may_ask(&self, needed: Option<Approver>, call: &Call<'_>) -> bool {
        needed == Some(Approver::Caller)
            && self.snapshot.approvals.in_call
            && call.declared.contains(Capability::ElicitationForm)
            && self.text().len() <= self.keeping.limits.approval_question_bytes
    }

    fn text(&self) -> String {
        text::text(&self.snapshot.server, self.validated.resolved().contract(), self.validated.arguments())
    }

    /// Asks the caller. Nothing has been kept: all there is of the question is in the sealed state.
    async fn ask(&self, entry: &mut Entry<'_>) -> Result<Settled, Refusal> {
        let (limits, resolved) = (self.keeping.limits, self.validated.resolved());
        let id = entry.id();
        let policy = self.snapshot.policy_revision;
        let carried = Carried::Question(Ticket { asked_by: id, approval: id, policy });
        let binding = state_binding(resolved.principal(), resolved.contract(), self.validated.input());
        let (clock, entropy) = (self.keeping.clock, self.keeping.entropy);
        let lifetime = limits.state_lifetime;
        let state = self.snapshot.keys.seal(&binding, &carried.encode(), lifetime, clock, entropy);
        let state = state.map_err(|error| {
            Refusal::new(Code::Internal, "the question could not be sealed").with_detail(error)
        })?;
        let mut params = String::from("{\"mode\":\"form\",\"message\":");
        push_string(&mut params, &self.text());
        params.push_str(",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}");
        let request = InputRequest::new("elicitation/create", params, Capability::ElicitationForm);
        entry.note(format!("approval {id} asked of the caller"));
        let questions = Questions { requests: vec![(APPROVAL_KEY.to_owned(), request)], state: Some(state) };
        Ok(settle_asked(self.snapshot, self.validated, questions, entry).await)
    }

    /// Takes the answer of a caller who was asked. Each question is answered once, whatever the answer is.
    async fn answered(
        &self,
        ticket: Ticket,
        answer: Answer,
        entry: &mut Entry<'_>,
    ) -> Result<CallId, Refusal> {
        let id = ticket.approval;
        match answer {
            Answer::Accept => {
                self.use_up(ticket.asked_by, ApprovalState::Burned).await?;
                entry.approved(format!("approval {id}, given by the caller"));
                Ok(id)
            }
            Answer::Decline => {
                self.use_up(ticket.asked_by, ApprovalState::Denied).await?;
                entry.note(format!("approval {id}, declined by the caller"));
                Err(Refusal::new(Code::ApprovalDenied, "the user declined this call; nothing was done"))
            }
            Answer::Cancel => {
                self.use_up(ticket.asked_by, ApprovalState::Denied).await?;
                entry.note(format!("approval {id}, dismissed by the caller"));
                let message = "the user dismissed the question whether to make this call; nothing was done";
                Err(Refusal::new(Code::ApprovalDenied, message))
            }
        }
    }

    /// Uses the answer of a round up. One that was used before is refused like one that was forged.
    async fn use_up(&self, round: CallId, state: ApprovalState) -> Result<(), Refusal> {
        let limits = self.keeping.limits;
        let now = self.keeping.clock.now();
        // As long as the sealed text could be sent again.
        let until = self.validated.state_use().map_or(now, |(_, expires)| expires);
        let row = self.row(round, state, now, until);
        let bounds = ApprovalBounds { of_owner: limits.spent_of_principal, total: limits.spent };
        match self.keeping.wait(self.keeping.stores.approvals.use_up(row, bounds, now)).await? {
            Used::First => Ok(()),
            Used::Again => Err(invalid_state()),
            Used::Full => Err(full("as many used approvals are remembered as the limit allows")),
        }
    }

    /// Uses up what a person has granted, or has the call wait for people.
    async fn wait_for_people(
        &self,
        needed: Option<Approver>,
        entry: &mut Entry<'_>,
    ) -> Result<CallId, Refusal> {
        let store = &self.keeping.stores.approvals;
        if !(self.snapshot.approvals.by_people && store.reaches_people()) {
            let message = match needed {
                Some(Approver::SecondPerson) => {
                    "this call needs the approval of a second person, and this server has no way to ask for it"
                }
                _ => {
                    "this call needs an approval; the client cannot be asked for it (it has to declare form \
                     elicitation), or the question is too long for it, and this server has no way to ask other people"
                }
            };
            return Err(Refusal::new(Code::ApprovalRequired, message));
        }
        let limits = self.keeping.limits;
        let text = self.text();
        if text.len() > limits.approval_text_bytes {
            let message =
                "this call needs an approval, and its arguments are too long to be shown to a person";
            return Err(Refusal::new(Code::ApprovalRequired, message));
        }
        let now = self.keeping.clock.now();
        let mut row = self.row(entry.id(), ApprovalState::Pending, now, after(now, limits.approval_lifetime));
        row.second_person = needed == Some(Approver::SecondPerson);
        row.binding = Some(self.binding(row.second_person));
        row.text = text;
        let bounds = ApprovalBounds { of_owner: limits.approvals_of_principal, total: limits.approvals };
        match self.keeping.wait(store.claim(row, bounds, now)).await? {
            Claimed::Burned(row) => {
                let by = row.by.as_deref().unwrap_or_default();
                entry.approved(format!("approval {}, given by {by}", row.id));
                Ok(row.id)
            }
            Claimed::Pending(row) => {
                entry.note(format!("approval {} is pending", row.id));
                Err(pending(&row, now))
            }
            Claimed::Denied(row) => {
                let by = row.by.as_deref().unwrap_or_default();
                entry.note(format!("approval {}, denied by {by}", row.id));
                let mut message = format!("the approval {} of this call was denied", row.id);
                if let Some(reason) = &row.reason {
                    message.push_str(": ");
                    message.push_str(reason);
                }
                Err(Refusal::new(Code::ApprovalDenied, message))
            }
            Claimed::Full => Err(full("as many approvals wait as the limit allows")),
        }
    }

    fn row(&self, id: CallId, state: ApprovalState, now: Timestamp, until: Timestamp) -> ApprovalRow {
        let resolved = self.validated.resolved();
        let principal = resolved.principal();
        let mut row = ApprovalRow::new(id, owner(principal), state, now, until);
        row.subject = principal.subject.to_string();
        row.tenant = principal.tenant.as_deref().map(str::to_owned);
        row.tool = resolved.contract().name().to_string();
        row
    }

    /// Everything that was reviewed: whoever changes any of it needs another approval. The input digest covers the
    /// principal and its tenant besides the arguments.
    fn binding(&self, second_person: bool) -> Digest {
        let resolved = self.validated.resolved();
        let principal = resolved.principal();
        let mut builder = DigestBuilder::new("callgate/approval/1");
        builder
            .field("principal", &principal.subject)
            .field("contract", &resolved.contract().digest().to_string())
            .field("input", &self.validated.input().to_string())
            .field("policy", &self.snapshot.policy_revision.to_string())
            .field("approver", if second_person { "second_person" } else { "anyone" });
        if let Some(tenant) = &principal.tenant {
            builder.field("tenant", tenant);
        }
        builder.finish()
    }
}

/// The answer to a call that waits for people.
fn pending(row: &ApprovalRow, now: Timestamp) -> Refusal {
    let seconds = row.expires.0.saturating_sub(now.0).max(0) / 1_000_000;
    let who = if row.second_person { "a second person" } else { "a person" };
    let message = format!(
        "this call waits for the approval {} of {who}; nothing was done, and it waits {} more minutes",
        row.id,
        seconds.div_euclid(60).max(1)
    );
    let data = format!(
        r#"{{"approval":"{}","secondPerson":{},"expiresInMs":{}}}"#,
        row.id,
        row.second_person,
        seconds.saturating_mul(1000)
    );
    Refusal::new(Code::ApprovalPending, message).with_data(data)
}
