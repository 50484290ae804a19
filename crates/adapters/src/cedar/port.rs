//! The answers to the gate.
//!
//! A call needs both actions permitted: what a principal may not list it may never call. The pipeline
//! and the lists call it.

use std::sync::Arc;

use callgate_core::contract::Contract;
use callgate_core::offer::{Offer, OfferKind};
use callgate_core::port::{Answer, Approver, Decision, Policy, Question, UseQuestion, VisibleSet};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use callgate_core::snapshot::Catalogue;
use callgate_protocol::json::Document;

use super::engine::{Asked, CedarPolicy, Concerned, Judged, Verdict};
use super::entities::Caller;

impl CedarPolicy {
    /// Whether a tool may be seen. `place` is its place in the catalogue.
    pub(super) fn sees(&self, place: usize, caller: &Caller, asked: Asked<'_>) -> bool {
        self.visible_at(asked.principal, caller, asked.at).contains(place)
    }

    /// What is decided of a call of the tool at a place of the catalogue.
    pub(super) fn decided(
        &self,
        place: usize,
        judged: &Judged,
        caller: &Caller,
        asked: Asked<'_>,
    ) -> Decision {
        if !self.sees(place, caller, asked) {
            return denied("what may not be listed may not be called");
        }
        decided_by(asked, &judged.call, |asked| self.verdict(place, judged, caller, asked))
    }

    /// What these policies decide of a call of a tool, whether it may be seen or not.
    pub(super) fn verdict_of_call(
        &self,
        concerned: &Concerned,
        judged: &Judged,
        caller: &Caller,
        asked: Asked<'_>,
    ) -> Decision {
        decided_by(asked, concerned, |asked| self.call(concerned, judged, caller, asked))
    }

    /// What all policies say of a call. Those that look at the caller and the tool alone are asked once for each caller.
    fn verdict(&self, place: usize, judged: &Judged, caller: &Caller, asked: Asked<'_>) -> Verdict {
        let call = |concerned| self.call(concerned, judged, caller, asked);
        let approved = (asked.approved, asked.second_person);
        let settled = || caller.call(place, approved, || call(&judged.call_settled));
        if judged.call_open.rules.is_empty() {
            return settled();
        }
        let joined = if judged.call_settled.rules.is_empty() {
            None
        } else {
            settled().joined(call(&judged.call_open))
        };
        // What fails is rare, and all policies together say best what it was.
        joined.unwrap_or_else(|| call(&judged.call))
    }

    fn decision(&self, question: &Question<'_>) -> Decision {
        let Some((place, judged)) = self.find(question.contract) else {
            return denied("the policies were not judged with this tool");
        };
        let Question { principal, arguments, approved, .. } = *question;
        match self.caller(principal) {
            Ok(caller) => {
                let asked = Asked { principal, arguments, approved, second_person: false, at: None };
                self.decided(place, judged, &caller, asked)
            }
            Err(error) => denied(error),
        }
    }
}

/// What follows from the answers about a call as it is, and as if it were approved.
fn decided_by<'q>(asked: Asked<'q>, concerned: &Concerned, ask: impl Fn(Asked<'q>) -> Verdict) -> Decision {
    let Verdict { permitted, policies, errors } = ask(asked);
    if permitted {
        return Decision::Permit { policies };
    }
    let mentions = &concerned.mentions;
    // The caller first: a second person is bothered only where the caller cannot approve.
    let ways = [(Approver::Caller, mentions.approved), (Approver::SecondPerson, mentions.second_person)];
    let may_be_approved = errors.is_empty() && !asked.approved;
    for (approver, _) in ways.into_iter().filter(|(_, is_mentioned)| may_be_approved && *is_mentioned) {
        let second_person = approver == Approver::SecondPerson;
        let once_approved = ask(Asked { approved: true, second_person, ..asked });
        if once_approved.permitted {
            return Decision::NeedsApproval { approver, policies: once_approved.policies };
        }
    }
    Decision::Deny { policies, errors }
}

fn denied(error: impl Into<String>) -> Decision {
    Decision::Deny { policies: Vec::new(), errors: vec![error.into()] }
}

/// The question whether a tool may be seen now.
fn now(principal: &Principal) -> Asked<'_> {
    Asked {
        principal,
        arguments: Document::empty_object().root(),
        approved: false,
        second_person: false,
        at: None,
    }
}

impl Policy for CedarPolicy {
    fn is_visible(&self, principal: &Principal, contract: &Contract) -> bool {
        let Some((at, _)) = self.find(contract) else { return false };
        self.caller(principal).is_ok_and(|caller| self.sees(at, &caller, now(principal)))
    }

    fn look_for_nothing(&self, principal: &Principal) {
        if let Ok(caller) = self.caller(principal) {
            // No tool has a place beyond the catalogue.
            self.sees(self.tools.len(), &caller, now(principal));
        }
    }

    fn visible(&self, principal: &Principal, catalogue: &Catalogue) -> VisibleSet {
        let same = catalogue.tools().len() == self.tools.len()
            && catalogue
                .tools()
                .zip(&self.tools)
                .all(|(tool, judged)| judged.tool.digest == Some(tool.contract().digest()));
        match self.caller(principal) {
            Ok(caller) if same => self.visible_at(principal, &caller, None),
            // Another catalogue than the one that the policies were judged with: each tool on its own.
            _ => VisibleSet::of(catalogue.tools().map(|tool| self.is_visible(principal, tool.contract()))),
        }
    }

    fn is_offered(&self, principal: &Principal, offer: &Offer) -> bool {
        self.offers_to(principal, offer)
    }

    fn offered(&self, principal: &Principal, offers: &[Arc<Offer>]) -> VisibleSet {
        self.offers_all_to(principal, offers)
    }

    fn look_for_no_offer(&self, principal: &Principal, kind: OfferKind) {
        self.look_for_no_offer_of(principal, kind);
    }

    fn is_same_for_all(&self) -> bool {
        self.same_for_all
    }

    fn is_steady(&self) -> bool {
        self.steady
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        Answer::now(Ok(self.decision(&question)))
    }

    fn decide_use<'a>(&'a self, question: UseQuestion<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        Answer::now(Ok(self.decided_use(&question)))
    }
}
