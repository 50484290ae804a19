//! Step 3: which contract is meant.
//!
//! A tool that the principal may not see and a tool that does not exist give the same answer. Here, and not
//! where the caller becomes known, the scopes that all must have are asked for: only now can a caller who
//! lacks one be told those of the tool as well.

use std::sync::Arc;

use super::admit::Admitted;
use crate::call::Call;
use crate::contract::Contract;
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};
use crate::snapshot::{Snapshot, Tool};

/// Evidence: the tool exists and this principal may know it.
#[derive(Debug)]
#[must_use]
pub struct Resolved {
    admitted: Admitted,
    tool: Arc<Tool>,
}

impl Resolved {
    pub(in crate::stage) fn principal(&self) -> &Arc<Principal> {
        self.admitted.principal()
    }

    pub(crate) fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    pub(crate) fn contract(&self) -> &Contract {
        &self.tool.contract
    }
}

/// Finds the tool by its exact name, unless the call could not be read.
pub fn resolve(snapshot: &Snapshot, admitted: Admitted, call: &Call<'_>) -> Result<Resolved, Refusal> {
    if let Some((code, public)) = call.refused {
        return Err(Refusal::new(code, public.to_owned()));
    }
    let Some(tool) = snapshot.catalogue.find(call.name) else {
        // What is hidden and what is absent must not differ in time either.
        snapshot.policy.look_for_nothing(admitted.principal());
        snapshot.check_required_scopes(admitted.principal(), &[])?;
        return Err(unknown("no tool has this name"));
    };
    if !snapshot.policy.is_visible(admitted.principal(), &tool.contract) {
        snapshot.check_required_scopes(admitted.principal(), &[])?;
        return Err(unknown("the policy hides this tool from the principal"));
    }
    snapshot.check_required_scopes(admitted.principal(), tool.contract.scopes())?;
    Ok(Resolved { admitted, tool: Arc::clone(tool) })
}

/// The one answer of this step; only the trail tells what the reason was.
fn unknown(reason: &str) -> Refusal {
    Refusal::new(Code::UnknownTool, "unknown tool").with_detail(reason)
}
