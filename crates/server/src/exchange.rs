//! One run of a handler that is no tool: a prompt, a resource or a completion.
//!
//! It keeps the rules of the gate for questions: none that the client did not declare with this very
//! request, and no more than the limit. The endpoint makes it; handlers see it through their context.

use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use callgate_core::invocation::{Asked, CapabilitySet, InputRequest};
use callgate_core::keeping::Keeping;
use callgate_core::port::{Peer, PeerError};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::Value;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What a handler knows of the request that it answers.
pub(crate) struct Exchange<'c> {
    pub(crate) keeping: Keeping<'c>,
    pub(crate) method: &'static str,
    pub(crate) principal: &'c Principal,
    pub(crate) peer: &'c dyn Peer,
    pub(crate) declared: CapabilitySet,
    pub(crate) responses: Option<Value<'c>>,
    pub(crate) state: Option<&'c [u8]>,
    pub(crate) deadline: Instant,
    pub(crate) questions_max: usize,
    pub(crate) noted: Mutex<Noted>,
    pub(crate) cancellation: OnceLock<DropGuard>,
}

/// What a handler noted for the next round.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(crate) questions: Vec<(String, InputRequest)>,
    pub(crate) state: Option<Vec<u8>>,
    missing: CapabilitySet,
}

impl<'c> Exchange<'c> {
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.cancellation.get_or_init(|| CancellationToken::new().drop_guard()).token().clone()
    }

    pub(crate) fn keep(&self, state: Vec<u8>) {
        self.noted().state = Some(state);
    }

    pub(crate) async fn ask(&self, key: &str, request: InputRequest) -> Result<Asked<'c>, Refusal> {
        if let Some(answer) = self.responses.and_then(|responses| responses.get(key)) {
            return Ok(Asked::Answered(answer));
        }
        if !self.declared.contains(request.needs) {
            let mut noted = self.noted();
            noted.missing = noted.missing.with(request.needs);
            let data = format!(r#"{{"requiredCapabilities":{}}}"#, noted.missing.to_json());
            let public = "the client did not declare a capability that the request needs";
            return Err(Refusal::new(Code::MissingCapability, public).with_data(data));
        }
        if let Some(answer) = self.peer.ask(&request) {
            return answer.await.map(Asked::AnsweredLater).map_err(|error| match error {
                PeerError::Gone => Refusal::new(Code::Cancelled, "the client went away before it answered"),
                PeerError::Busy => Refusal::new(Code::Busy, "the client has too many open questions"),
                _ => Refusal::new(Code::ToolFailed, "the client could not answer the question"),
            });
        }
        let mut noted = self.noted();
        if noted.questions.len() >= self.questions_max {
            return Err(Refusal::new(Code::ToolFailed, "more questions were asked than the limit allows"));
        }
        if !noted.questions.iter().any(|(known, _)| known == key) {
            noted.questions.push((key.to_owned(), request));
        }
        Ok(Asked::Noted)
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exchange")
    }
}
