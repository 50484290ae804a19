//! The gate over real files, real stores and real sockets.
//!
//! Tests of PostgreSQL need `CALLGATE_TEST_POSTGRES`, which `cargo xtask test` sets.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step fails the test")]

mod artifacts;
mod audit;
mod auth;
mod calls;
mod http_tools;
mod killed;
mod limits;
mod load_errors;
mod masking;
mod native;
mod pages;
mod policies;
mod reload;
mod repository;
mod seals;
mod served;
mod store;
mod tenants;
mod writes;
