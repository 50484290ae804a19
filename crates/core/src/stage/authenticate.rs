//! Step 1: who calls.
//!
//! It must never look at the tool or its arguments.

use std::sync::Arc;

use crate::call::Call;
use crate::limits::Limits;
use crate::port::Authenticate;
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// Evidence: the principal of this request is known.
#[derive(Debug)]
#[must_use]
pub struct Authenticated {
    principal: Arc<Principal>,
}

impl Authenticated {
    pub(crate) fn principal(&self) -> &Arc<Principal> {
        &self.principal
    }
}

/// Finds the principal of the request.
pub async fn authenticate(
    limits: &Limits,
    port: &dyn Authenticate,
    call: &Call<'_>,
) -> Result<Authenticated, Refusal> {
    let principal =
        port.authenticate(call.credentials).within(limits.port_timeout).await.map_err(|_elapsed| {
            Refusal::new(Code::IdentityUnavailable, "who calls could not be found out in time")
        })??;
    Ok(Authenticated { principal })
}
