//! Sources on real SQLite files and on a real PostgreSQL server, tokens of a server on a real socket.
//!
//! What both stores must do alike is in `shared.rs` and runs on both. `CALLGATE_TEST_POSTGRES` is the
//! URL of a superuser of a private server; `cargo xtask test` starts one and sets it.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step fails the test")]

mod approvals;
mod audit;
mod keeping;
mod ledger;
mod oauth;
mod postgres;
mod shared;
mod sqlite;
mod store;
mod writes;
