//! The Cedar schema of a catalogue: what policies may speak of.
//!
//! Cedar gives a context its type by the action, so each tool has an action of its own, `call:NAME`,
//! in the group `call`. The schema is one text, so that editors and other tools of Cedar read the same
//! that the loader judges by. The loader and the command line are the callers.

use std::fmt::Write as _;

use callgate_core::snapshot::Catalogue;

use super::limits::PolicyLimits;
use super::offers::{Family, KnownOffers};
use super::tools::{KnownTool, known};
use super::types::{quoted, write_record};

/// The group of all actions that are calls.
pub(super) const CALL: &str = "call";
/// The action of seeing a tool in the list.
pub(super) const LIST: &str = "list";

/// The action of reading a resource.
pub(super) const READ: &str = "read";
/// The action of rendering a prompt.
pub(super) const GET: &str = "get";

/// The effects, by the names that tools have them by.
pub(super) const EFFECTS: [&str; 6] = ["read", "external_read", "preview", "append", "update", "destructive"];

/// The name of the action of calling a tool. No tool has a colon in its name.
pub(super) fn call_of(tool: &str) -> String {
    format!("{CALL}:{tool}")
}

/// The schema of a catalogue as text.
#[must_use]
pub fn schema(catalogue: &Catalogue, limits: &PolicyLimits) -> String {
    of_catalogue(&known(catalogue, limits.type_depth), &KnownOffers::of(catalogue))
}

pub(super) fn of_catalogue(tools: &[KnownTool], offers: &KnownOffers) -> String {
    let effects = EFFECTS.map(quoted).join(", ");
    let families: Vec<_> = Family::ALL.into_iter().filter(|family| offers.has(*family)).collect();
    let listed: String = families.iter().map(|family| format!(", {}", family.entity())).collect();
    let seen = if families.is_empty() { "a tool in the list" } else { "something in a list" };
    let may = if families.is_empty() { "call" } else { "call, read or get" };
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

// To see {seen}. What a principal may not see it can never {may}.
action {LIST} appliesTo {{
  principal: [Principal],
  resource: [Tool{listed}],
  context: {{ tenant?: String, purpose?: String, time: datetime }},
}};

// To call any tool: `action in Action::\"{CALL}\"`. One tool: `action == Action::\"{CALL}:NAME\"`.
action {CALL};
"
    );
    families.iter().for_each(|family| write_family(*family, offers, &mut out));
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
    // Whether it was approved by another person than the caller.
    second_person: Bool,
    tenant?: String,
    purpose?: String,
    time: datetime,
  },
};\n",
        );
    }
    out
}

/// The entities and the action of resources or of prompts.
fn write_family(family: Family, offers: &KnownOffers, out: &mut String) {
    let (entity, action, inputs) = (family.entity(), family.action(), family.inputs());
    let (who, own, choice) = match family {
        Family::Resources => (
            "What is read: `resource`, one URI or all that follow a template. Its server is its parent.",
            "// The URI, or the text of the template.\n  uri: String,\n  template: Bool,",
            "The variables of the template, as far as they are chosen.",
        ),
        Family::Prompts => (
            "What is rendered: `resource`, here a prompt. Its server is its parent.",
            "name: String,",
            "The arguments, as far as they are chosen.",
        ),
    };
    let record: Vec<_> =
        offers.inputs(family).into_iter().map(|input| format!("{}?: String", quoted(input))).collect();
    let record = record.join(", ");
    // Writing into a string cannot fail.
    let _ = write!(
        out,
        "
// {who}
entity {entity} in [Server] {{
  {own}
  server: Server,
  labels: Set<String>,
  // Scopes that every caller must have, whatever policies say.
  scopes: Set<String>,
}};

action {action} appliesTo {{
  principal: [Principal],
  resource: [{entity}],
  context: {{
    // {choice}
    {inputs}: {{{record}}},
    tenant?: String,
    purpose?: String,
    time: datetime,
  }},
}};
"
    );
}
