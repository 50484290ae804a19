//! Step 1: who calls.
//!
//! It must never look at the tool or its arguments.

use std::sync::Arc;

use crate::call::Call;
use crate::port::Authenticate;
use crate::principal::Principal;
use crate::refusal::Refusal;

/// Evidence: the principal of this request is known.
#[derive(Debug)]
#[must_use]
pub struct Authenticated {
    principal: Arc<Principal>,
}

impl Authenticated {
    pub(in crate::stage) fn principal(&self) -> &Arc<Principal> {
        &self.principal
    }
}

/// Finds the principal of the request.
pub async fn authenticate(port: &dyn Authenticate, call: &Call<'_>) -> Result<Authenticated, Refusal> {
    let principal = port.authenticate(call.credentials).await?;
    Ok(Authenticated { principal })
}
