//! SQLite and PostgreSQL behind the ports of `callgate-core`, directories of source code, and services that are
//! reached over HTTP, one folder and one feature each.
//!
//! As sources all are only ever read from, unless their options say that rows are changed: no value enters the text of a statement, no path leaves its
//! root, and a caller who leaves takes the running work along. As audit trails they are only ever appended
//! to; as stores they keep what the gate must not forget. The gateway is the caller.

#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod audit;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod cell;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod effects;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod paging;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod rows;
pub mod sql;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod store;

#[cfg(feature = "cedar")]
pub mod cedar;

#[cfg(any(feature = "oauth", feature = "http"))]
mod form;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "oauth")]
pub mod oauth;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "repository")]
pub mod repository;
#[cfg(any(feature = "oauth", feature = "http"))]
pub mod secret;
#[cfg(feature = "sqlite")]
pub mod sqlite;

mod time;

pub use time::parse_rfc3339;

#[doc(hidden)]
pub mod fuzzing;
