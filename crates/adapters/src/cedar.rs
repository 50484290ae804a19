//! Policies in Cedar: deny by default, judged against a schema of the catalogue before they are in force.
//!
//! A policy that does not fit the schema is never loaded, an error while one is evaluated is a denial,
//! and what Cedar cannot hold exactly is never rounded. What a principal may list and what it may call
//! are decided here by the same rules. The gateway builds a policy for each snapshot; the gate asks it.
//!
//! Reading order: `texts` finds the policies, `schema` and `types` say what they may speak of, `load`
//! judges them, `engine` evaluates, `port` answers the gate.

mod arguments;
mod engine;
mod entities;
mod explain;
mod fault;
mod limits;
mod load;
mod mentions;
mod offers;
mod port;
mod schema;
mod texts;
mod tools;
mod types;

pub use engine::CedarPolicy;
pub use explain::{Changed, ExplainedPolicy, Explanation, PolicyCase, PolicyChange, PolicyState};
pub use fault::{PolicyFault, PolicySeverity};
pub use limits::PolicyLimits;
pub use load::{Loaded, load};
pub use schema::schema;
pub use texts::{PolicyText, check_syntax};

#[cfg(test)]
mod tests;
