//! The answers to the gate.
//!
//! A call needs both actions permitted: what a principal may not list it may never call. The pipeline
//! and the lists call it.

use callgate_core::contract::Contract;
use callgate_core::port::{Answer, Decision, Policy, Question, VisibleSet};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use callgate_core::snapshot::Catalogue;

use super::engine::{CedarPolicy, Judged, Verdict};
use super::entities::Caller;

impl CedarPolicy {
    fn sees(&self, at: usize, judged: &Judged, principal: &Principal, caller: &Caller) -> bool {
        match &caller.visible {
            Some(visible) => visible.contains(at),
            None => self.list(judged, principal, caller, None).permitted,
        }
    }

    fn decision(&self, question: &Question<'_>) -> Decision {
        let denied = |error: String| Decision::Deny { policies: Vec::new(), errors: vec![error] };
        let Some((at, judged)) = self.find(question.contract) else {
            return denied("the policies were not judged with this tool".to_owned());
        };
        let principal = question.principal;
        let caller = match self.caller(principal) {
            Ok(caller) => caller,
            Err(error) => return denied(error),
        };
        if !self.sees(at, judged, principal, &caller) {
            return denied("what may not be listed may not be called".to_owned());
        }
        let ask = |approved| self.call(judged, principal, &caller, question.arguments, approved, None);
        let Verdict { permitted, policies, errors } = ask(question.approved);
        if permitted {
            return Decision::Permit { policies };
        }
        if errors.is_empty() && !question.approved && judged.call.mentions.approved {
            let once_approved = ask(true);
            if once_approved.permitted {
                return Decision::NeedsApproval { policies: once_approved.policies };
            }
        }
        Decision::Deny { policies, errors }
    }
}

impl Policy for CedarPolicy {
    fn is_visible(&self, principal: &Principal, contract: &Contract) -> bool {
        let Some((at, judged)) = self.find(contract) else { return false };
        self.caller(principal).is_ok_and(|caller| self.sees(at, judged, principal, &caller))
    }

    fn look_for_nothing(&self, principal: &Principal) {
        if let Ok(caller) = self.caller(principal) {
            // No tool has a place beyond the catalogue.
            self.sees(self.tools.len(), &self.decoy, principal, &caller);
        }
    }

    fn visible(&self, principal: &Principal, catalogue: &Catalogue) -> VisibleSet {
        let same = catalogue.tools().len() == self.tools.len()
            && catalogue
                .tools()
                .zip(&self.tools)
                .all(|(tool, judged)| judged.tool.digest == Some(tool.contract().digest()));
        match self.caller(principal) {
            Ok(caller) if same => caller.visible.clone().unwrap_or_else(|| self.seen(principal, &caller)),
            // Another catalogue than the one that the policies were judged with: each tool on its own.
            _ => VisibleSet::of(catalogue.tools().map(|tool| self.is_visible(principal, tool.contract()))),
        }
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
}
