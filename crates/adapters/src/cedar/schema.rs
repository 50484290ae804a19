//! The Cedar schema of a catalogue: what policies may speak of.
//!
//! Cedar gives a context its type by the action, so each tool has an action of its own, `call:NAME`,
//! in the group `call`. The schema is one text, so that editors and other tools of Cedar read the same
//! that the loader judges by. The loader and the command line are the callers.

use std::fmt::Write as _;

use callgate_core::snapshot::Catalogue;

use super::limits::PolicyLimits;
use super::tools::{KnownTool, known};
use super::types::{quoted, write_record};

/// The group of all actions that are calls.
pub(super) const CALL: &str = "call";
/// The action of seeing a tool in the list.
pub(super) const LIST: &str = "list";

/// The effects, by the names that tools have them by.
pub(super) const EFFECTS: [&str; 6] = ["read", "external_read", "preview", "append", "update", "destructive"];

/// The name of the action of calling a tool. No tool has a colon in its name.
pub(super) fn call_of(tool: &str) -> String {
    format!("{CALL}:{tool}")
}

/// The schema of a catalogue as text.
#[must_use]
pub fn schema(catalogue: &Catalogue, limits: &PolicyLimits) -> String {
    of_tools(&known(catalogue, limits.type_depth))
}

pub(super) fn of_tools(tools: &[KnownTool]) -> String {
    let effects = EFFECTS.map(quoted).join(", ");
    let mut out = format!(
        "// Who calls: `principal`. Its groups and its tenant are its parents.
entity Group;
entity Tenant;
entity Principal in [Group, Tenant] {{
  subject: String,
  tenant?: Tenant,
  scopes: Set<String>,
  client?: String,
}};

// What is called: `resource`. Its server is its parent.
entity Server;
entity Effect enum [{effects}];
entity Tool in [Server] {{
  name: String,
  server: Server,
  effect: Effect,
  // Whether a call changes something: the effect is append, update or destructive.
  changes: Bool,
  labels: Set<String>,
  // Scopes that every caller of the tool must have, whatever policies say.
  scopes: Set<String>,
}};

// To see a tool in the list. What a principal may not see it can never call.
action {LIST} appliesTo {{
  principal: [Principal],
  resource: [Tool],
  context: {{ tenant?: String, purpose?: String, time: datetime }},
}};

// To call any tool: `action in Action::\"{CALL}\"`. One tool: `action == Action::\"{CALL}:NAME\"`.
action {CALL};
"
    );
    for tool in tools {
        let _ = write!(
            out,
            "\naction {} in [{CALL}] appliesTo {{
  principal: [Principal],
  resource: [Tool],
  context: {{
    arguments: ",
            quoted(&call_of(&tool.name)),
        );
        write_record(&tool.members, &mut out);
        out.push_str(
            ",
    // Names of arguments that are there and that Cedar cannot hold exactly.
    inexpressible: Set<String>,
    approved: Bool,
    tenant?: String,
    purpose?: String,
    time: datetime,
  },
};\n",
        );
    }
    out
}
