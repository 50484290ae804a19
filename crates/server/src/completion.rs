//! Completion of arguments while a person types them.
//!
//! Source: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>. A
//! prompt or a resource template carries a completer for each argument that it completes.

use std::collections::BTreeMap;

use crate::handler::Act;

/// What is completed: the start of a value and the arguments that are already chosen.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Completing {
    /// What was typed so far; may be empty.
    pub value: String,
    /// The other arguments, by name.
    pub arguments: BTreeMap<String, String>,
}

/// A handler that gives all values which fit, the best first.
pub(crate) type Completer = Box<dyn Act<Completing, Vec<String>>>;
