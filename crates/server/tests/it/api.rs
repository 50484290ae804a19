//! The Rust API and the methods behind it, called through the tower service without a socket. Everything
//! that the server sends here is judged by the schema of its revision.

mod asking;
mod building;
mod caller;
mod calls;
mod lists;
mod reading;
mod refusals;
mod subscriptions;
