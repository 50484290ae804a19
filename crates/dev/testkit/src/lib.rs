//! Fakes, vectors and fault injection for the tests of Callgate.
//!
//! It must never be a dependency of anything that ships. [`wire`] judges what a server sends by the
//! schemas that the specification publishes, [`vectors`] gives their texts and examples, [`issuer`] is
//! an authorization server that can be told to misbehave, [`stores`] and
//! [`approvals`] are the properties that all stores have.

pub mod approvals;
pub mod issuer;
pub mod service;
pub mod stores;
pub mod traffic;
pub mod vectors;
pub mod wire;
