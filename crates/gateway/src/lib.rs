//! Tools defined by a configuration file: `callgate.toml`, SQL tools over SQLite and PostgreSQL,
//! requests to services over HTTP, search and reading in directories of source code, and hot reload.
//!
//! The file is read in whole or not at all; nothing in it may be trusted by the model, and nothing that
//! the model sends may change what a query is. The command line and Rust authors who want the whole
//! gate are the callers.

pub mod config;

pub mod approval;
mod build;
mod callers;
mod check;
mod cursor;
mod files;
mod gate;
mod http_tool;
mod load;
mod policy;
mod reload;
mod repository_tool;
mod review;
mod sql_tool;
mod sql_write;
pub mod store;
pub mod trail;

pub use check::check;
pub use gate::{Gate, ServeError};
pub use reload::{ReloadError, Reloader, WatchError, Watching};
pub use review::{PolicyReview, PolicyTest, PolicyTests, policy_schema};

#[doc(hidden)]
pub mod fuzzing;
