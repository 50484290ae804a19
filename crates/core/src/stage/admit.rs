//! Step 2: whether there is room for one more call, in the process and for its principal and tenant.
//!
//! It must never queue: a caller who has to wait is told so, and when to come back. It knows nothing of the
//! tool, so that a hidden tool and one that does not exist cost a caller the same. What a tool may be used is
//! counted here too, but asked for by the step `authorize`, when the call is permitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::authenticate::Authenticated;
use crate::contract::Contract;
use crate::limits::Limits;
use crate::principal::Principal;
use crate::rate::{Allowance, Key, Keys, Place, Rate, Slot};
use crate::refusal::{Code, Refusal};

/// What is in use, by whom. It outlives every snapshot: a changed limit counts from the next call on, and
/// what was used before still counts.
#[derive(Debug)]
pub struct Admission {
    in_flight: Arc<AtomicUsize>,
    principals: Keys,
    tenants: Keys,
    tools: Keys,
    callers_of_tools: Keys,
}

impl Admission {
    pub(crate) fn new() -> Self {
        Self {
            in_flight: Arc::new(AtomicUsize::new(0)),
            principals: Keys::new(),
            tenants: Keys::new(),
            tools: Keys::new(),
            callers_of_tools: Keys::new(),
        }
    }

    /// Takes the places of a request of a principal.
    pub(crate) fn places(&self, limits: &Limits, principal: &Principal) -> Result<Places, Refusal> {
        let before = self.in_flight.fetch_add(1, Ordering::Acquire);
        // From here on the place is given back, whatever happens.
        let process = ProcessPlace(Arc::clone(&self.in_flight));
        if before >= limits.calls_in_flight {
            return Err(Refusal::new(Code::Busy, "too many calls are in flight"));
        }
        let own = take(&self.principals, &limits.principal, limits, PRINCIPAL, |keys| {
            keys.key((&principal.subject, &principal.tenant))
        })?;
        let shared = match &principal.tenant {
            Some(tenant) => take(&self.tenants, &limits.tenant, limits, TENANT, |keys| keys.key(tenant)),
            None => Ok(Taken::default()),
        };
        let (own, shared) = own.with(shared)?;
        Ok(Places { _process: process, _principal: own, _tenant: shared })
    }

    /// Takes the places of a permitted call at its tool.
    pub(in crate::stage) fn tool(
        &self,
        limits: &Limits,
        contract: &Contract,
        principal: &Principal,
    ) -> Result<ToolPlaces, Refusal> {
        let name = contract.name.as_str();
        // First that of the caller: who has used up his own share does not use up that of all.
        let caller =
            take(&self.callers_of_tools, &contract.allowance_of_caller, limits, CALLER_OF_TOOL, |keys| {
                keys.key((name, &principal.subject, &principal.tenant))
            })?;
        let tool = take(&self.tools, &contract.allowance, limits, TOOL, |keys| keys.key(name));
        let (caller, tool) = caller.with(tool)?;
        Ok(ToolPlaces { _caller: caller, _tool: tool })
    }
}

/// The places of a call at its tool, as far as it has any.
#[derive(Debug)]
pub struct ToolPlaces {
    _caller: Option<Place>,
    _tool: Option<Place>,
}

/// Evidence: this call holds its places, and its rates allow it.
#[derive(Debug)]
#[must_use]
pub struct Admitted {
    authenticated: Authenticated,
    _places: Places,
}

/// The places of one request in the process and of its principal and tenant, given back when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Places {
    _process: ProcessPlace,
    _principal: Option<Place>,
    _tenant: Option<Place>,
}

impl Admitted {
    pub(in crate::stage) fn principal(&self) -> &Arc<Principal> {
        self.authenticated.principal()
    }
}

/// A place in the process, given back when the call ends in any way.
#[derive(Debug)]
struct ProcessPlace(Arc<AtomicUsize>);

impl Drop for ProcessPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Takes the places of the call.
pub fn admit(
    admission: &Admission,
    limits: &Limits,
    authenticated: Authenticated,
) -> Result<Admitted, Refusal> {
    let places = admission.places(limits, authenticated.principal())?;
    Ok(Admitted { authenticated, _places: places })
}

/// What a refusal says of whose allowance is used up: the places, and the rate.
type Whose = (&'static str, &'static str);

const PRINCIPAL: Whose =
    ("too many calls of this caller are in flight", "this caller has made as many calls as it may for now");
const TENANT: Whose =
    ("too many calls of this tenant are in flight", "this tenant has made as many calls as it may for now");
const TOOL: Whose =
    ("too many calls of this tool are in flight", "this tool was called as often as it may be for now");
const CALLER_OF_TOOL: Whose = (
    "too many calls of this tool by this caller are in flight",
    "this caller has called this tool as often as it may for now",
);

/// What a call has used up of one allowance.
#[derive(Default)]
struct Taken {
    place: Option<Place>,
    spent: Option<(Arc<Slot>, Rate)>,
}

impl Taken {
    /// The places of this allowance and of a wider one. If the wider one refuses, what was spent of this one is
    /// given back: the call is not made, and its caller need not wait for himself too.
    fn with(self, wider: Result<Self, Refusal>) -> Result<(Option<Place>, Option<Place>), Refusal> {
        match wider {
            Ok(wider) => Ok((self.place, wider.place)),
            Err(refusal) => {
                if let Some((slot, rate)) = self.spent {
                    slot.give_back(rate);
                }
                Err(refusal)
            }
        }
    }
}

/// Uses up what the call needs of one allowance.
fn take(
    keys: &Keys,
    allowance: &Allowance,
    limits: &Limits,
    (no_place, no_rate): Whose,
    key: impl FnOnce(&Keys) -> Key,
) -> Result<Taken, Refusal> {
    if allowance.is_unbounded() {
        return Ok(Taken::default());
    }
    let now = keys.now();
    let Some(slot) = keys.slot(key(keys), now, limits.keys) else {
        return Err(Refusal::new(Code::Busy, "too many callers are served at one time")
            .with_detail("the table of keys is full"));
    };
    let place = match allowance.concurrency {
        None => None,
        Some(places) => Some(slot.enter(places).ok_or_else(|| Refusal::new(Code::Busy, no_place))?),
    };
    if let Some(rate) = allowance.rate {
        slot.take(rate, now)
            .map_err(|wait| Refusal::new(Code::RateLimited, no_rate).with_retry_after(shown(wait)))?;
    }
    let spent = allowance.rate.map(|rate| (slot, rate));
    Ok(Taken { place, spent })
}

/// The wait in whole milliseconds, rounded up, so that whoever waits as told does not come too early.
fn shown(wait: Duration) -> Duration {
    Duration::from_millis(u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
